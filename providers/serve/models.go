package serve

import (
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers/serve/internal/completions"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/messages"
)

// openAIModel is an entry of the list of models in OpenAI's form.
type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// anthropicModel is an entry of the list of models in Anthropic's form.
type anthropicModel struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

// isAnthropic reports whether the client of a request is one of Anthropic's API, which must send its version.
func isAnthropic(r *http.Request) bool { return r.Header.Get("Anthropic-Version") != "" }

// lister returns the API in whose form a request is answered that is for no API of its own, such as one for models.
func lister(r *http.Request) endpoint.API {
	if isAnthropic(r) {
		return messages.API{}
	}
	return completions.API{}
}

// models answers a request for the list of models, or for the one with an id.
func (s *Server) models(w http.ResponseWriter, r *http.Request, id string) {
	if refused := s.refused(r.Context(), s.opts.Caller(r)); refused != nil {
		lister(r).Fail(w, refused)
		return
	}
	entry := func(id string) any {
		if isAnthropic(r) {
			return anthropicModel{Type: "model", ID: id, DisplayName: id, CreatedAt: "1970-01-01T00:00:00Z"}
		}
		owner, _, _ := strings.Cut(id, "/")
		return openAIModel{ID: id, Object: "model", OwnedBy: owner}
	}
	if id != "" {
		if _, _, err := s.opts.Model(id); err != nil {
			lister(r).Fail(w, unknownModel(err))
			return
		}
		endpoint.WriteJSON(w, http.StatusOK, entry(id))
		return
	}
	ids := s.opts.Models(r.Context())
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = entry(id)
	}
	list := map[string]any{"object": "list", "data": all}
	if isAnthropic(r) { // all are on the first page
		list = map[string]any{"data": all, "has_more": false, "first_id": nil, "last_id": nil}
		if n := len(ids); n > 0 {
			list["first_id"], list["last_id"] = ids[0], ids[n-1]
		}
	}
	endpoint.WriteJSON(w, http.StatusOK, list)
}
