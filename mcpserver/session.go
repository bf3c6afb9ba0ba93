package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is one client: what it is called, what it said it can do, its view of the
// source, and its requests under way.
type session struct {
	server   *Server
	id       string
	who      identity
	standing bridge.Back // takes what belongs to no request
	asking   asking
	views    views // of the modern era, on a connection that carries both ways

	ctx     context.Context
	cancel  context.CancelCauseFunc
	used    atomic.Int64 // when it was last used, Unix ns
	readers atomic.Int64 // event streams that are being read
	opened  atomic.Pointer[opened]
	journal *journal // streams of an HTTP session; nil for others
	sse     *duplex  // the session as one of the legacy SSE transport; nil for others

	mu      sync.Mutex                         // guards what follows
	under   map[string]context.CancelCauseFunc // requests under way by their raw id
	pending chan struct{}                      // closed when the initialize that is under way has ended; nil: none is
	ended   bool
}

// opened is what initialize settles.
type opened struct {
	revision string
	source   bridge.Session
}

// errCancelled is the reason of a request that its client cancelled.
var errCancelled = errors.New("cancelled by the client")

// errEnded is the reason of a request that ends with its session.
var errEnded = errors.New("the session has ended")

func (s *Server) newSession(who identity, standing bridge.Back) *session {
	one := &session{server: s, id: newID(), who: who, standing: standing, under: map[string]context.CancelCauseFunc{}, views: views{server: s}}
	one.ctx, one.cancel = context.WithCancelCause(s.ctx)
	one.touch()
	return one
}

func (s *session) touch() { s.used.Store(time.Now().UnixNano()) }

// end cancels what is under way and closes the session's view of the source.
func (s *session) end() {
	s.mu.Lock()
	was := s.ended
	s.ended = true
	s.mu.Unlock()
	if was {
		return
	}
	why := errEnded
	s.cancel(why)
	if s.journal != nil {
		s.journal.end(why)
	}
	if o := s.opened.Load(); o != nil {
		o.source.Close()
	}
	s.views.close()
}

// respond carries out a request. back takes what belongs to it.
func (s *session) respond(ctx context.Context, m *wire.Message, back bridge.Back) response {
	return s.carry(s.begin(ctx, m), m, back)
}

// underWay is a request that a cancellation finds, until carry has carried it out.
type underWay struct {
	id     string
	ctx    context.Context
	cancel context.CancelCauseFunc
	err    *toolformat.Error // why it is refused
}

func (s *session) begin(ctx context.Context, m *wire.Message) underWay {
	s.touch()
	u := underWay{id: string(m.ID)}
	u.ctx, u.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		u.err = toolformat.Errorf(toolformat.Unavailable, "the session has ended")
	case s.under[u.id] != nil:
		u.err = toolformat.Errorf(toolformat.Invalid, "a request with id %.40s is under way already", u.id)
	case len(s.under) >= s.server.opts.CallsPerSession:
		u.err = toolformat.Errorf(toolformat.Unavailable, "too many requests under way: %d (limits.callsPerSession in the config)", len(s.under))
	default:
		s.under[u.id] = u.cancel
	}
	return u
}

func (s *session) carry(u underWay, m *wire.Message, back bridge.Back) response {
	defer u.cancel(nil)
	if u.err != nil {
		return response{id: m.ID, reply: bridge.Failed(u.err)}
	}
	defer s.finish(u.id)
	r := response{id: m.ID, reply: s.dispatch(u.ctx, m, back)}
	if e := r.reply.Err; e != nil && e.Raw == nil {
		r.mute = e.Code == toolformat.Canceled && u.ctx.Err() != nil
		if e.Cause != nil && !r.mute {
			s.server.log.Warn("request failed", "method", m.Method, "error", e.Message, "cause", e.Cause)
		}
	}
	return r
}

func (s *session) finish(id string) {
	s.mu.Lock()
	delete(s.under, id)
	s.mu.Unlock()
}

// dispatch answers the protocol's own methods and hands the rest to the source.
func (s *session) dispatch(ctx context.Context, m *wire.Message, back bridge.Back) bridge.Reply {
	if isModern(m) {
		return s.server.modern(ctx, &s.views, s.who, m, back, nil)
	}
	switch m.Method {
	case wire.MethodPing:
		return bridge.Result([]byte("{}"), nil)
	case wire.MethodInitialize:
		return s.initialize(ctx, m)
	}
	o := s.awaitOpened(ctx)
	kind, lists := bridge.ListKindOf(m.Method)
	route, routed := bridge.Routes(m.Method)
	switch {
	case m.Method == wire.MethodDiscover, !lists && !routed && !bridge.Relayed(m.Method):
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %.80s", m.Method))
	case o == nil:
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "%s before initialize: send initialize first", m.Method))
	case lists:
		return s.list(ctx, o, kind, m)
	}
	req := &bridge.Request{Method: m.Method, Params: &m.Params, Back: back}
	if routed {
		var ok bool
		if req.Target, ok = m.Params.Text(route.Key); !ok {
			return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.%s is missing or not a string", m.Method, route.Key))
		}
	}
	return forLegacy(o.source.Do(ctx, req))
}

// opening says that initialize is under way: what follows it needs what it settles, and
// waits until done is called.
func (s *session) opening() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending != nil {
		return func() {} // another one is
	}
	pending := make(chan struct{})
	s.pending = pending
	return func() {
		s.mu.Lock()
		s.pending = nil
		s.mu.Unlock()
		close(pending)
	}
}

// awaitOpened is what initialize has settled; nil when there was none, or it failed.
func (s *session) awaitOpened(ctx context.Context) *opened {
	if o := s.opened.Load(); o != nil {
		return o
	}
	s.mu.Lock()
	pending := s.pending
	s.mu.Unlock()
	if pending == nil {
		return nil
	}
	select {
	case <-pending:
	case <-ctx.Done():
	}
	return s.opened.Load()
}

// list answers a list method with the page that its cursor names.
func (s *session) list(ctx context.Context, o *opened, kind bridge.ListKind, m *wire.Message) bridge.Reply {
	l, err := o.source.List(ctx, kind)
	if err != nil {
		return bridge.Failed(toolformat.AsError(err))
	}
	return page(l.Derive(legacyKey{}, legacyItem), m)
}

func page(l *bridge.List, m *wire.Message) bridge.Reply {
	cursor, ok := m.Params.Text(wire.Cursor)
	if raw := m.Params.Get(wire.Cursor); raw != nil && !ok {
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "%s: params.cursor is not a string", m.Method))
	}
	page, err := l.Page(cursor)
	if err != nil {
		return bridge.Failed(err)
	}
	return bridge.Result(page, nil)
}

// maxCapabilities bounds what a client says that it can do, in bytes: it is kept for as
// long as the client is one.
const maxCapabilities = 64 << 10

const longCapabilities = "%s: the client's capabilities are longer than %d bytes"

// initialize opens the source for the client and says who answers.
func (s *session) initialize(ctx context.Context, m *wire.Message) bridge.Reply {
	asked, ok := wire.Text(wire.Lookup(m.Params.Raw, "protocolVersion"))
	switch {
	case s.opened.Load() != nil:
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "this session is initialized already"))
	case !ok:
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "initialize: params.protocolVersion is missing or not a string"))
	}
	capabilities := wire.Lookup(m.Params.Raw, "capabilities")
	if len(capabilities) > maxCapabilities {
		return invalid(longCapabilities, m.Method, maxCapabilities)
	}
	caller := &bridge.Caller{
		ID:           s.id,
		Principal:    s.who.principal,
		HiddenValue:  s.who.value,
		Capabilities: bytes.Clone(capabilities),
		Notify:       s.standing.Notify,
		Ask:          s.standing.Ask,
	}
	source, err := s.server.source.Open(ctx, caller)
	if err != nil {
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "the bridge is shutting down").Because(err))
	}
	reply := source.Do(ctx, &bridge.Request{Method: wire.MethodDiscover})
	if reply.Err != nil { // the client may try again
		source.Close()
		return reply
	}
	defer reply.Free()
	o := &opened{revision: wire.Negotiate(asked), source: source}
	s.mu.Lock()
	ok = !s.ended && s.opened.CompareAndSwap(nil, o)
	s.mu.Unlock()
	if !ok {
		source.Close()
		return bridge.Failed(toolformat.Errorf(toolformat.Invalid, "this session is initialized already, or has ended"))
	}
	result := append([]byte(nil), `{"protocolVersion":`...)
	result = wire.AppendString(result, o.revision)
	for _, key := range []string{"capabilities", "serverInfo", "instructions"} {
		if v := wire.Lookup(reply.Result, key); v != nil {
			result = append(append(append(append(result, `,"`...), key...), `":`...), v...)
		}
	}
	return bridge.Result(append(result, '}'), nil)
}

// notified takes a notification of the client.
func (s *session) notified(m *wire.Message) {
	s.touch()
	if m.Method == wire.NotificationRootsChanged {
		if o := s.opened.Load(); o != nil {
			o.source.Do(s.ctx, &bridge.Request{Method: m.Method})
		}
		return
	}
	if m.Method != wire.NotificationCancelled {
		return
	}
	s.cancelRequest(string(m.Params.Get(wire.RequestID)), errCancelled)
}

// cancelRequest cancels a request under way, by its raw id.
func (s *session) cancelRequest(id string, why error) {
	s.mu.Lock()
	cancel := s.under[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel(why)
	}
}

// revision is the protocol revision that was negotiated; "" before initialize.
func (s *session) revision() string {
	if o := s.opened.Load(); o != nil {
		return o.revision
	}
	return ""
}
