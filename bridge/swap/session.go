package swap

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is a caller's session, whatever the inner source.
type session struct {
	source   *Source
	caller   *bridge.Caller
	memory   bridge.Memory // of a caller without one, in all generations
	current  atomic.Pointer[generation]
	listed   [bridge.ListKinds]atomic.Pointer[bridge.List] // the latest that the caller has seen; of no kind after an error
	notifier notifier
	setting  chan struct{} // holds a token while the level of the log is being set

	mu      sync.Mutex // guards the fields below
	closed  bool
	next    *generation // to which the session is moving; nil when it is not
	former  []*generation
	watched map[string]bool // URIs of the resources that the caller is subscribed to
	level   []byte          // params of the latest logging/setLevel; nil without one
}

// newGeneration returns a generation that is not open. Its end releases in.
func (s *session) newGeneration(in *inner) *generation {
	g := &generation{owner: s, inner: in, Session: failed{errPanic}}
	g.current.Context = context.Background()
	return g
}

// open opens a generation.
func (s *session) open(ctx context.Context, g *generation) error {
	below := *s.caller
	below.Memory = cmp.Or(s.caller.Memory, &s.memory)
	below.Notify = func(method string, params []byte) { s.notify(g, method, params) }
	opened, err := g.inner.Open(ctx, &below)
	if err != nil {
		g.Session = failed{err}
		return err
	}
	g.Session = opened
	return nil
}

// enter begins a request in the current generation, whose leave ends it.
func (s *session) enter() *generation {
	for {
		if g := s.current.Load(); g.enter() {
			return g
		}
	}
}

// List implements bridge.Session. A list that is replaced while it is read is read again.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	for {
		g := s.enter()
		l, err := g.list(ctx, kind)
		g.leave()
		s.saw(kind, l) // before the look at current, which a move sets before it compares
		if s.current.Load() == g || ctx.Err() != nil {
			return l, err
		}
	}
}

// saw records the list that the caller has got, nil with an error alone.
func (s *session) saw(kind bridge.ListKind, l *bridge.List) {
	if l == nil {
		l = &bridge.List{Kind: bridge.ListKinds} // of no kind, equal to no list
	}
	s.listed[kind].Store(l)
}

// list is List that ends when the generation is no longer the current one.
func (g *generation) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer g.current.AfterFunc(cancel)()
	return g.Session.List(ctx, kind)
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	g := s.enter()
	defer g.leave()
	switch req.Method {
	case wire.MethodSubscribe, wire.MethodUnsubscribe, wire.MethodSetLevel:
		return s.doRemembered(ctx, g, req)
	}
	return g.Session.Do(ctx, req)
}

// Close implements bridge.Session.
func (s *session) Close() error {
	s.source.mu.Lock()
	delete(s.source.sessions, s)
	s.source.mu.Unlock()
	s.mu.Lock()
	s.closed = true
	open := append([]*generation{s.current.Load()}, s.former...)
	if s.next != nil {
		open = append(open, s.next)
	}
	s.mu.Unlock()
	for _, g := range open {
		g.end()
	}
	return nil
}

// move moves the session to the current inner source.
func (s *session) move(ctx context.Context) {
	old := s.current.Load()
	g := s.openNext(ctx)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		g.end()
		return
	}
	s.next = g
	s.notifier.begin(g)
	repeated := s.repeat(g)
	s.mu.Unlock()

	after := s.read(ctx, g)
	select {
	case <-repeated:
	case <-ctx.Done():
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return // Close has ended it
	}
	s.next, s.former = nil, append(s.former, old)
	s.current.Store(g)
	s.mu.Unlock()
	s.notifier.end(s.changes(after), s.pass)
	if !old.retire() {
		s.release(old)
	}
}

// openNext opens a generation of the current inner source. If that fails, so does what it is asked.
func (s *session) openNext(ctx context.Context) *generation {
	g := s.newGeneration(s.source.use())
	s.contain(func() {
		if err := s.open(ctx, g); err != nil {
			s.source.log.Warn("a session could not be opened again after a change", "reason", err)
		}
	})
	return g
}

// contain runs f, which calls the inner source. A panic ends there, as it would end the program.
func (s *session) contain(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.source.log.Error("the source has panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}

// forget removes a generation that has ended.
func (s *session) forget(g *generation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.former = slices.DeleteFunc(s.former, func(other *generation) bool { return other == g })
}

// lists are those of a new generation, as far as they were read.
type lists [bridge.ListKinds]struct {
	list *bridge.List
	err  error
}

// read returns the lists of a new generation that the caller has seen of a former one. The tools are read
// in any case, since calls are routed by that list.
func (s *session) read(ctx context.Context, next *generation) (after lists) {
	for kind := range bridge.ListKinds {
		if s.listed[kind].Load() != nil || kind == bridge.Tools {
			s.contain(func() { after[kind].list, after[kind].err = next.Session.List(ctx, kind) })
		}
	}
	return after
}

// changes returns the notifications of the lists that the caller has seen, also since they were read, and
// that differ, or may.
func (s *session) changes(after lists) (methods []string) {
	for kind, now := range after {
		before := s.listed[kind].Load()
		same := before == nil && !s.caller.Modern // a modern client may have listed in another session
		if now.list != nil || kind == int(bridge.Tools) {
			same = same || now.list.Equal(before)
		}
		if now.err != nil && before != nil && before.Kind == bridge.ListKinds {
			same = true // an error before, and now
		}
		if method := bridge.ListKind(kind).Changed(); !same && !slices.Contains(methods, method) {
			methods = append(methods, method)
		}
	}
	return methods
}

// failed is the session of an inner source that could not be opened.
type failed struct{ err error }

var errPanic = errors.New("the source has panicked")

// List implements bridge.Session.
func (f failed) List(context.Context, bridge.ListKind) (*bridge.List, error) {
	return nil, toolformat.AsError(f.err)
}

// Do implements bridge.Session.
func (f failed) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Failed(toolformat.AsError(f.err))
}

// Close implements bridge.Session.
func (f failed) Close() error { return nil }
