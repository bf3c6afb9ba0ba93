package serve

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/completions"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// embed passes a request for embeddings to the provider of its model. Only the model's name is changed.
func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	api := completions.API{}
	t, err := s.begin(r)
	if err != nil {
		api.Fail(w, busy(err))
		return
	}
	defer t.end()
	var answer json.RawMessage
	refused := s.refused(t.ctx, t.caller)
	if refused == nil {
		answer, refused = s.embeddings(w, r, t)
	}
	switch {
	case refused == nil:
		endpoint.WriteJSON(w, http.StatusOK, answer)
	case t.ctx.Err() == nil: // the client has not disconnected
		api.Fail(w, refused)
	}
}

// embeddings returns the provider's answer to a request for embeddings.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request, t *task) (json.RawMessage, *endpoint.Error) {
	body, refused := s.body(w, r, t.visit)
	if refused != nil {
		return nil, refused
	}
	if !rawjson.IsObject(body) {
		return nil, endpoint.Invalid(fmt.Errorf("expected a JSON object"))
	}
	id := rawjson.TextAt(body, "model")
	if id == "" {
		return nil, endpoint.Invalid(fmt.Errorf("model: expected one of /v1/models"))
	}
	var err error
	if t.chosen, _, err = s.opts.Model(id); err != nil {
		return nil, unknownModel(err)
	}
	provider := t.chosen.API()
	embedder, ok := provider.(providers.Embedder)
	if !ok {
		return nil, endpoint.Invalid(fmt.Errorf("model: the API of %s has no embeddings here: choose a model of an openai or ollama provider", provider.Name()))
	}
	answer, err := embedder.Embed(t.ctx, wire.SetMember(body, "model", wire.AppendString(nil, t.chosen.Model)))
	if err != nil {
		return nil, s.failureOf(t, err)
	}
	return answer, nil
}
