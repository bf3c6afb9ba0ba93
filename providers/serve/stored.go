package serve

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
	"github.com/mcpbridge/mcpbridge/toolformat"
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
	visit, err := s.admission.enter(caller.Principal.Name)
	if err != nil {
		api.Fail(w, busy(err))
		return
	}
	defer visit.leave()
	if refused := s.refused(r.Context(), caller); refused != nil {
		api.Fail(w, refused)
		return
	}
	answered, refused := s.elsewhere(w, r, id, nil)
	if answered {
		return
	}
	var kept *entry
	if refused == nil {
		kept, refused = s.rounds.answer(r.Context(), visit, owner, id)
	}
	switch {
	case refused != nil:
	case kept == nil || kept.item == nil:
		refused = &endpoint.Error{Status: http.StatusNotFound, Message: "no such response is kept: " + s.rounds.keptWhile()}
	case r.Method == http.MethodDelete:
		refused = s.rounds.forgetAll(r.Context(), kept, id)
	case !visit.grow(int64(len(kept.item))):
		refused = busy(errCrowded)
	}
	switch {
	case refused != nil:
		api.Fail(w, refused)
	case r.Method == http.MethodDelete:
		endpoint.WriteJSON(w, http.StatusOK, map[string]any{"id": id, "object": "response", "deleted": true})
	default:
		endpoint.WriteJSON(w, http.StatusOK, kept.item)
	}
}

// keptWhile says which responses are kept.
func (h *hiddenRounds) keptWhile() string {
	if h.opts.Load().Kept != nil {
		return "one is only kept with store, and for as long as the nodes of the bridge keep conversations"
	}
	return "one is only kept with store, for at most " + keepFor.String() + ", and while the bridge runs that has made it"
}

// elsewhere lets the node that has made the id of a response or a call answer a request that goes on with it, and
// reports whether it has been answered.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, id string, body []byte) (answered bool, refused *endpoint.Error) {
	_, own, _ := strings.Cut(id, "_")
	if s.opts.Elsewhere == nil || own == "" {
		return false, nil
	}
	answered, err := s.opts.Elsewhere(w, r, own, body)
	if err == nil {
		return answered, nil
	}
	s.opts.Log.Warn("the node of the conversation is lost, or cannot be reached", "error", err)
	if known := (*toolformat.Error)(nil); errors.As(err, &known) {
		return false, &endpoint.Error{Status: http.StatusServiceUnavailable, Message: known.Message, After: time.Second}
	}
	w.Header().Set("X-Should-Retry", "false") // as clients of the vendors know it
	return false, &endpoint.Error{Status: http.StatusBadGateway, Message: "the node that has the conversation was lost: it is unknown whether the request ran"}
}
