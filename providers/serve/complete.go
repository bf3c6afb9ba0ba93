package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// complete answers a request for a model in one of the APIs.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, api endpoint.API) {
	caller := s.opts.Caller(r)
	visit, err := s.admission.enter(caller.Principal.Name)
	if err != nil {
		api.Fail(w, busy(err))
		return
	}
	defer visit.leave()
	req, refused := s.read(w, r, visit, api)
	if refused != nil {
		api.Fail(w, refused)
		return
	}
	chosen, settings, err := s.opts.Model(req.Model)
	if err != nil {
		api.Fail(w, &endpoint.Error{Status: http.StatusNotFound, Code: "model_not_found", Message: err.Error()})
		return
	}
	if err := req.Override(&settings, chosen.Provider); err != nil {
		api.Fail(w, endpoint.Invalid(err))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	loop, err := s.opts.Toolbox.Open(ctx, &caller)
	if err != nil {
		api.Fail(w, notOpen(err))
		return
	}
	defer loop.Close()
	messages, view := s.rounds.expand(ownerOf(&caller), req.Messages)
	out := endpoint.Begin(w, req, cancel)
	defer out.Close()
	run, err := loop.Run(ctx, providers.Task{
		Provider: chosen.Provider, NoTools: chosen.NoTools, Options: s.opts.Loop, Emit: out.Event, Only: req.Only,
		Request: providers.Request{
			Model: chosen.Model, System: cmp.Or(req.System, s.opts.System), Messages: messages,
			Tools: req.Tools, Choice: req.Choice, Settings: settings,
		},
	})
	switch {
	case err == nil:
		out.Finish(run, view.handOut(run, req.Tools, chosen.Provider.Format(), req.CallPrefix))
	case ctx.Err() == nil: // the client has not disconnected
		failure, own := failureOf(err)
		if !own {
			s.opts.Log.Warn("a request for a model failed", "provider", cmp.Or(chosen.Name, chosen.Provider.Name()),
				"model", chosen.Model, "principal", caller.Principal.Name, "error", err)
		}
		out.Fail(failure)
	}
}

// ownerOf returns whose something is: what one caller leaves here, others with its principal and profile
// find again.
func ownerOf(caller *bridge.Caller) string { return caller.Principal.Name + "\x00" + caller.Profile }

// read reads a request.
func (s *Server) read(w http.ResponseWriter, r *http.Request, v *visit, api endpoint.API) (*endpoint.Request, *endpoint.Error) {
	body, err := io.ReadAll(v.counted(http.MaxBytesReader(w, r.Body, s.opts.MaxBody)))
	switch {
	case errors.Is(err, errCrowded):
		return nil, busy(err)
	case err != nil:
		return nil, &endpoint.Error{
			Status:  http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the request is longer than %d bytes, or was cut off", s.opts.MaxBody),
		}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it was for the body
	req, err := api.Read(body)
	if err != nil {
		return nil, endpoint.Invalid(err)
	}
	return req, nil
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

// failureOf returns the error of a run for the client. own reports whether the client made it.
func failureOf(err error) (e *endpoint.Error, own bool) {
	var api *providers.APIError
	var wrong *toolformat.Error
	if errors.As(err, &wrong) && (wrong.Code == toolformat.Invalid || wrong.Code == toolformat.NotFound) {
		return endpoint.Invalid(err), true
	}
	e = &endpoint.Error{Status: http.StatusBadGateway, Code: providers.ErrorCode(err), Message: err.Error()}
	if !errors.As(err, &api) {
		return e, false
	}
	switch api.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		e.Status = http.StatusBadRequest
	case http.StatusNotFound: // a retry is pointless, and clients retry a 502
		e.Status = api.Status
	case http.StatusTooManyRequests:
		e.Status, e.After = api.Status, api.After
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		e.Status = http.StatusServiceUnavailable
	}
	return e, false
}
