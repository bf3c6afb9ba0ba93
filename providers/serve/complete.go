package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/messages"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// complete answers a request for a model in one of the APIs.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, api endpoint.API) {
	t := s.admit(w, r, api)
	if t == nil {
		return
	}
	defer t.end()
	out := endpoint.Begin(w, t.req, t.cancel)
	defer out.Close()
	format := t.chosen.Provider.Format() // in which the model writes calls
	t.Emit = func(e providers.Event) {
		for i := range t.Options.Fallbacks {
			if c := &t.Options.Fallbacks[i].Candidate; e.Type == providers.EventNote && e.Model == modelID(c) {
				format = c.Provider.Format()
			}
		}
		out.Event(e)
	}
	run, err := t.loop.Run(t.ctx, t.Task)
	if err != nil {
		if t.view.breakOff(run) && s.opts.Break != nil {
			s.opts.Break(t.view.name(), "run_"+s.opts.NewID())
		}
		if t.ctx.Err() == nil { // the client has not disconnected
			out.Fail(s.failureOf(t, err))
		}
		return
	}
	t.view.mend()
	calls, ids := t.view.handOut(run, t.req.Tools, format, t.req.CallPrefix)
	answer, kept := keptAnswer{Run: run, IDs: ids}, (*entry)(nil)
	out.Finish(run, calls, func(items map[string]json.RawMessage) {
		answer.Items = items
		kept = s.rounds.keepAnswer(ownerOf(&t.caller), t.req.Keep, &answer)
	})
	if kept != nil {
		s.rounds.share(t.ctx, kept, t.req.Keep, &answer)
	}
}

// count answers how many tokens a request of Messages has.
func (s *Server) count(w http.ResponseWriter, r *http.Request) {
	api := messages.API{}
	t := s.admit(w, r, api)
	if t == nil {
		return
	}
	defer t.end()
	tokens, err := t.loop.Count(t.ctx, t.Task)
	switch {
	case err == nil:
		endpoint.WriteJSON(w, http.StatusOK, map[string]int{"input_tokens": tokens})
	case t.ctx.Err() == nil:
		api.Fail(w, s.failureOf(t, err))
	}
}

// unknownModel returns the error of a request for a model that there is not.
func unknownModel(err error) *endpoint.Error {
	return &endpoint.Error{Status: http.StatusNotFound, Code: "model_not_found", Message: err.Error()}
}

// tooLong returns the error of a request that is longer than Options.MaxBody.
func (s *Server) tooLong() *endpoint.Error {
	return &endpoint.Error{
		Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the request is longer than %d bytes", s.opts.MaxBody),
	}
}

// busy returns the error of a request for which there is no room.
func busy(err error) *endpoint.Error {
	return &endpoint.Error{Status: http.StatusTooManyRequests, Message: err.Error(), After: time.Second}
}

// notOpen returns the error of a caller to whom the tools are not open.
func notOpen(err error) *endpoint.Error {
	e := &endpoint.Error{Status: http.StatusServiceUnavailable, Message: err.Error()}
	switch toolformat.AsError(err).Code {
	case toolformat.Denied:
		e.Status = http.StatusForbidden
	case toolformat.NotFound:
		e.Status = http.StatusNotFound
	}
	return e
}

// failureOf returns the error of a run for the client, and logs what is not the client's fault.
func (s *Server) failureOf(t *task, err error) *endpoint.Error {
	var api *providers.APIError
	var wrong *toolformat.Error
	if errors.As(err, &wrong) && (wrong.Code == toolformat.Invalid || wrong.Code == toolformat.NotFound) {
		return endpoint.Invalid(err)
	}
	s.opts.Log.Warn("a request for a model failed", "provider", cmp.Or(t.chosen.Name, t.chosen.Provider.Name()),
		"model", t.chosen.Model, "principal", t.caller.Principal.Name, "error", err)
	e := &endpoint.Error{Status: http.StatusBadGateway, Code: providers.ErrorCode(err), Message: err.Error()}
	if !errors.As(err, &api) {
		return e
	}
	e.Code = cmp.Or(api.Code, e.Code)
	switch api.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		e.Status = http.StatusBadRequest
	case http.StatusNotFound: // a retry is pointless, and clients retry a 502
		e.Status = api.Status
	case http.StatusTooManyRequests:
		e.Status, e.After = api.Status, api.After
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		e.Status, e.After = http.StatusServiceUnavailable, api.After
	}
	return e
}
