package serve

import (
	"net/http"

	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
)

// stored answers a request for a response that is kept, or to forget it.
func (s *Server) stored(w http.ResponseWriter, r *http.Request, id string) {
	caller := s.opts.Caller(r)
	owner, api := ownerOf(&caller), responses.API{}
	if r.Method != http.MethodGet && r.Method != http.MethodDelete {
		w.Header().Set("Allow", "GET, DELETE")
		api.Fail(w, &endpoint.Error{Status: http.StatusMethodNotAllowed, Message: r.Method + " is not allowed for a response: expected GET or DELETE"})
		return
	}
	kept := s.rounds.item(owner, id)
	switch {
	case kept == nil || rawjson.TextAt(kept, "object") != "response":
		api.Fail(w, &endpoint.Error{Status: http.StatusNotFound, Message: "no such response is kept: one is only kept with store, and for at most " + keepFor.String()})
	case r.Method == http.MethodGet:
		endpoint.WriteJSON(w, http.StatusOK, kept)
	default:
		s.rounds.forget(owner, id)
		endpoint.WriteJSON(w, http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
	}
}
