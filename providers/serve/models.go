package serve

import (
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// model is an entry of /v1/models, with the members of both OpenAI's and Anthropic's.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`

	Type        string `json:"type"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

func newModel(id string) model {
	owner, _, _ := strings.Cut(id, "/")
	return model{ID: id, Object: "model", OwnedBy: owner, Type: "model", DisplayName: id, CreatedAt: "1970-01-01T00:00:00Z"}
}

// models answers a request for the list of models, or for the one with an id.
func (s *Server) models(w http.ResponseWriter, id string) {
	if id != "" {
		if _, _, err := s.opts.Model(id); err != nil {
			fail(w, http.StatusNotFound, "model_not_found", err.Error())
			return
		}
		endpoint.WriteJSON(w, http.StatusOK, newModel(id))
		return
	}
	list := struct {
		Object  string  `json:"object"`
		Data    []model `json:"data"`
		FirstID string  `json:"first_id,omitempty"`
		LastID  string  `json:"last_id,omitempty"`
		HasMore bool    `json:"has_more"`
	}{Object: "list", Data: []model{}}
	for _, id := range s.opts.Models() {
		list.Data = append(list.Data, newModel(id))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = list.Data[0].ID, list.Data[n-1].ID
	}
	endpoint.WriteJSON(w, http.StatusOK, &list)
}
