package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/messages"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// complete answers a request for a model in one of the APIs.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, api endpoint.API) {
	t, refused := s.admit(w, r, api)
	switch {
	case refused != nil:
		api.Fail(w, refused)
		return
	case t == nil:
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
	t, refused := s.admit(w, r, api)
	switch {
	case refused != nil:
		api.Fail(w, refused)
		return
	case t == nil:
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

// A task is a request that was let in. It must be ended.
type task struct {
	providers.Task
	ctx    context.Context
	cancel context.CancelFunc
	body   []byte // of the request
	known  *entry // of the answer that it continues; nil means none
	req    *endpoint.Request
	caller bridge.Caller
	chosen providers.Candidate
	visit  *visit
	loop   *providers.Loop
	view   *clientView
}

func (t *task) end() {
	if t.loop != nil {
		t.loop.Close()
	}
	t.cancel()
	t.visit.leave()
}

// admit makes the task of a request, nil if another node has answered it.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, api endpoint.API) (_ *task, refused *endpoint.Error) {
	caller := s.opts.Caller(r)
	visit, err := s.admission.arrive(caller.Principal.Name)
	if err != nil {
		return nil, busy(err)
	}
	t := &task{caller: caller, visit: visit}
	t.ctx, t.cancel = context.WithCancel(r.Context())
	defer func() {
		if refused != nil || t.req == nil {
			t.end()
		}
	}()
	if t.req, refused = s.read(w, r, t, api); t.req == nil {
		return nil, refused
	}
	var settings providers.Settings
	if t.chosen, settings, err = s.opts.Model(t.req.Model); err != nil {
		return nil, unknownModel(err)
	}
	if err := t.req.Override(&settings, t.chosen.API()); err != nil {
		return nil, endpoint.Invalid(err)
	}
	if err = t.open(s.opts.Toolbox); err != nil {
		return nil, notOpen(err)
	}
	messages, view, err := s.rounds.conversation(ownerOf(&caller), t.req.Previous, t.known, signedBy(t.req, t.chosen.Provider))
	if err != nil {
		return nil, endpoint.Invalid(err)
	}
	if messages, err = arrange(messages); err != nil {
		return nil, endpoint.Invalid(err)
	}
	selection, err := selectionOf(r.Header, t.req)
	if err = cmp.Or(err, checkNamed(selection), checkNamed(t.req.Only)); err != nil {
		return nil, endpoint.Invalid(err)
	}
	if s.opts.Broken != nil && !view.broken {
		answered, refused := s.elsewhere(w, r, s.opts.Broken(view.name()), t.body)
		if answered || refused != nil {
			t.req = nil
			return nil, refused
		}
	}
	t.view, t.body = view, nil
	loop := s.opts.Loop
	if loop.Fallbacks, err = s.fallbacks(t); err != nil {
		return nil, endpoint.Invalid(err)
	}
	t.Task = providers.Task{
		Provider: t.chosen.Provider, Name: t.chosen.Name, NoTools: t.chosen.NoTools, Options: loop, Only: t.req.Only, Select: selection, Must: t.req.Must,
		Request: providers.Request{
			Model: t.chosen.Model, System: cmp.Or(t.req.System, s.opts.System), Messages: messages,
			Tools: t.req.Tools, Choice: t.req.Choice, Settings: settings,
		},
	}
	if n, limits := t.req.MaxCalls, &t.Options.Limits; n > 0 && (limits.Calls == 0 || n < limits.Calls) {
		limits.Calls = n
	}
	return t, nil
}

// unknownModel returns the error of a request for a model that there is not.
func unknownModel(err error) *endpoint.Error {
	return &endpoint.Error{Status: http.StatusNotFound, Code: "model_not_found", Message: err.Error()}
}

// maxFallbacks bounds the fallbacks of a request.
const maxFallbacks = 10

// fallbacks returns the models that go on where that of a request fails: those that the request names, or
// those of the options.
func (s *Server) fallbacks(t *task) (all []providers.Fallback, err error) {
	switch {
	case len(t.req.Fallbacks) > maxFallbacks:
		return nil, fmt.Errorf("models: expected at most %d", maxFallbacks)
	case t.req.Fallbacks == nil && s.opts.Fallbacks != nil:
		all = s.opts.Fallbacks(t.chosen)
	}
	for i, id := range t.req.Fallbacks {
		if id == "" {
			return nil, fmt.Errorf("models[%d]: expected one of /v1/models", i)
		}
		c, settings, err := s.opts.Model(id)
		if err != nil {
			return nil, fmt.Errorf("models[%d]: %w", i, err)
		}
		all = append(all, providers.Fallback{Candidate: c, Settings: settings})
	}
	for i := range all {
		if err := t.req.Override(&all[i].Settings, all[i].API()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// maxNamed bounds the tools that a request names, and its patterns: each is looked for in all tools that there are.
const maxNamed = 1000

// checkNamed returns the error of a request that names too many tools.
func checkNamed(all []providers.Selection) error {
	n := 0
	for _, s := range all {
		if n += max(1, len(s.Match)+len(s.Except)); n > maxNamed {
			return fmt.Errorf("%s: expected at most %d names of tools in a request", s.From, maxNamed)
		}
	}
	return nil
}

// ToolsHeader is the header of a request with globs of the bridge's tools that its model is offered, separated by
// commas.
const ToolsHeader = "X-Mcpbridge-Tools"

// selectionOf returns the tools of the bridge that a request selects.
func selectionOf(h http.Header, req *endpoint.Request) ([]providers.Selection, error) {
	globs := strings.FieldsFunc(strings.Join(h.Values(ToolsHeader), ","), func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case len(globs) == 0:
		return req.Select, nil
	case req.Select != nil:
		return nil, fmt.Errorf("%s: the request itself selects servers: leave one of both out", ToolsHeader)
	}
	return []providers.Selection{{Match: globs, From: ToolsHeader}}, nil
}

// ownerOf returns whose something is: what one caller leaves here, others with its principal and profile
// find again.
func ownerOf(caller *bridge.Caller) string { return caller.Principal.Name + "\x00" + caller.Profile }

// signedBy returns the messages of a request for a provider. What only the provider that has signed it
// can read is left out for another, and with it a message that says nothing else.
func signedBy(req *endpoint.Request, p providers.Provider) []providers.Message {
	same := p.Format() == req.Format
	kept := make([]providers.Message, 0, len(req.Messages))
	for _, m := range req.Messages {
		switch {
		case m.Raw != nil && same:
			m.Raw.Provider = p.Name()
		case m.Raw != nil && len(m.Parts) == 0:
			continue
		default:
			m.Raw = nil
		}
		kept = append(kept, m)
	}
	return kept
}

// open opens the tools for the caller, unless they are open.
func (t *task) open(toolbox *providers.Toolbox) (err error) {
	if t.loop == nil {
		t.loop, err = toolbox.Open(t.ctx, &t.caller)
	}
	return err
}

// tools returns the name that models have for a tool of a server; one that is gone has that of the default prefix.
func (t *task) tools(toolbox *providers.Toolbox) func(server, name string) string {
	names := sync.OnceValue(func() map[[2]string]string {
		if t.open(toolbox) != nil {
			return nil
		}
		return t.loop.Names(t.ctx)
	})
	return func(server, name string) string {
		return cmp.Or(names()[[2]string{server, name}], server+"__"+name)
	}
}

// read reads the request of a task. Without an error it is nil if another node has answered it.
func (s *Server) read(w http.ResponseWriter, r *http.Request, t *task, api endpoint.API) (*endpoint.Request, *endpoint.Error) {
	body, refused := s.body(w, r, t.visit)
	if refused != nil {
		return nil, refused
	}
	t.body = body
	if _, keeps := api.(responses.API); keeps {
		previous := responses.Continued(body)
		if answered, refused := s.elsewhere(w, r, previous, body); answered || refused != nil {
			return nil, refused
		}
		if t.known, refused = s.rounds.answer(t.ctx, t.visit, ownerOf(&t.caller), previous); refused != nil {
			return nil, refused
		}
	}
	size, crowded := int64(len(body)), false // with the items that the request refers to, perhaps again and again
	item := func(id string) json.RawMessage {
		item := s.rounds.item(ownerOf(&t.caller), id)
		if item == nil && t.known != nil {
			item = t.known.items[id]
		}
		size += int64(len(item))
		if crowded = crowded || size > s.opts.MaxBody || !t.visit.grow(int64(len(item))); crowded {
			return nil
		}
		return item
	}
	req, err := api.Read(body, item, t.tools(s.opts.Toolbox))
	if err == nil {
		req.Fallbacks, err = endpoint.ReadFallbacks(body)
	}
	switch {
	case crowded && size <= s.opts.MaxBody:
		return nil, busy(errCrowded)
	case crowded:
		return nil, &endpoint.Error{
			Status:  http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("the request and the items that it refers to are longer than %d bytes", s.opts.MaxBody),
		}
	case err != nil:
		return nil, endpoint.Invalid(err)
	}
	if answered, refused := s.elsewhere(w, r, lastHandedOut(req.Messages), body); answered || refused != nil {
		return nil, refused
	}
	return req, nil
}

// body reads the body of a request, and begins its completion.
func (s *Server) body(w http.ResponseWriter, r *http.Request, v *visit) ([]byte, *endpoint.Error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, &endpoint.Error{Status: http.StatusUnsupportedMediaType, Message: fmt.Sprintf("Content-Encoding %.40q is not supported: send the request as it is", coding)}
	}
	if r.ContentLength > s.opts.MaxBody {
		w.Header().Set("Connection", "close") // the rest is not awaited
		return nil, s.tooLong()
	}
	body, err := io.ReadAll(v.counted(http.MaxBytesReader(w, r.Body, s.opts.MaxBody)))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, s.tooLong()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &endpoint.Error{Status: http.StatusRequestTimeout, Message: "the request has not come in time"}
	case err == nil:
		err = v.begin()
	case !errors.Is(err, errCrowded):
		return nil, endpoint.Invalid(fmt.Errorf("the request was cut off: %w", err))
	}
	if err != nil {
		return nil, busy(err)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // it was for the body
	if err := wire.Valid(body); err != nil {
		return nil, endpoint.Invalid(fmt.Errorf("the request is %w", err))
	}
	return body, nil
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
