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
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/responses"
)

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

// begin lets in a request that has yet to be read. Its task must be ended.
func (s *Server) begin(r *http.Request) (*task, error) {
	caller := s.opts.Caller(r)
	visit, err := s.admission.arrive(caller.Principal.Name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	return &task{ctx: ctx, cancel: cancel, caller: caller, visit: visit}, nil
}

// admit makes the task of a request. It is nil if the request is answered: refused here, or carried out by another node.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, api endpoint.API) *task {
	t, err := s.begin(r)
	if err != nil {
		api.Fail(w, busy(err))
		return nil
	}
	ready, refused := s.prepare(w, r, t, api)
	switch {
	case ready:
		return t
	case refused != nil:
		api.Fail(w, refused)
	}
	return nil
}

// prepare reads the request of a task, and makes of it what the loop runs. A task that is not ready has ended: its request
// is refused, or another node has answered it.
func (s *Server) prepare(w http.ResponseWriter, r *http.Request, t *task, api endpoint.API) (ready bool, refused *endpoint.Error) {
	defer func() {
		if !ready {
			t.end()
		}
	}()
	req, refused := s.read(w, r, t, api)
	if req == nil {
		return false, refused
	}
	t.req = req
	chosen, settings, err := s.opts.Model(req.Model)
	if err != nil { // which names the models that there are
		return false, cmp.Or(s.refused(t.ctx, t.caller), unknownModel(err))
	}
	if err := t.open(s.opts.Toolbox); err != nil {
		return false, notOpen(err)
	}
	t.chosen = chosen
	if err := req.Override(&settings, chosen.API()); err != nil {
		return false, endpoint.Invalid(err)
	}
	t.Task = providers.Task{
		Provider: chosen.Provider, Name: chosen.Name, NoTools: chosen.NoTools, Options: s.opts.Loop, Only: req.Only, Must: req.Must,
		Request: providers.Request{
			Model: chosen.Model, System: cmp.Or(req.System, s.opts.System), Tools: req.Tools, Choice: req.Choice, Settings: settings,
		},
	}
	if n, limits := req.MaxCalls, &t.Options.Limits; n > 0 && (limits.Calls == 0 || n < limits.Calls) {
		limits.Calls = n
	}
	if err := s.converse(t, r.Header); err != nil {
		return false, endpoint.Invalid(err)
	}
	if s.opts.Broken != nil && !t.view.broken {
		answered, refused := s.elsewhere(w, r, s.opts.Broken(t.view.name()), t.body)
		if answered || refused != nil {
			return false, refused
		}
	}
	t.body = nil
	if t.Options.Fallbacks, err = s.fallbacks(t); err != nil {
		return false, endpoint.Invalid(err)
	}
	return true, nil
}

// converse sets the messages of a task, with the hidden rounds in them, and the tools that its request selects.
func (s *Server) converse(t *task, h http.Header) error {
	messages, view, err := s.rounds.conversation(ownerOf(&t.caller), t.req.Previous, t.known, signedBy(t.req, t.chosen.Provider))
	if err != nil {
		return err
	}
	t.view = view
	if t.Request.Messages, err = arrange(messages); err != nil {
		return err
	}
	t.Select, err = selectionOf(h, t.req)
	return cmp.Or(err, checkNamed(t.Select), checkNamed(t.req.Only))
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

// refused returns the error of a caller to whom the tools are not open, such as one for whom there is no profile; nil for
// others. It is for requests that need no tools: no server is opened for them.
func (s *Server) refused(ctx context.Context, caller bridge.Caller) *endpoint.Error {
	caller.Members = func(string) bool { return false }
	loop, err := s.opts.Toolbox.Open(ctx, &caller)
	if err != nil {
		return notOpen(err)
	}
	_ = loop.Close()
	return nil
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
