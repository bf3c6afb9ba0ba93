package profile

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// look finds out, in a goroutine, whether a change of a list below is one for the caller.
type look struct {
	again bool // the list has changed since
	done  chan struct{}
}

// lookTime bounds how long a look waits for a list, and a request for a look.
const lookTime = 5 * time.Second

// notify receives the notifications of below for the caller, and passes on those about what the profile
// has.
func (s *session) notify(method string, params []byte) {
	if kind, ok := changed(method); ok && s.profile.narrows(kind) {
		s.outdated[kind].Store(true)
		s.changes[kind].Add(1)
		s.look(kind)
		return
	}
	if method == wire.NotificationResourceUpdated && s.profile.narrows(bridge.Resources) {
		if uri, _ := wire.Text(wire.Lookup(params, "uri")); !s.profile.Resources.AdmitURI(uri) {
			return
		}
	}
	s.pass(method, params)
}

func (s *session) pass(method string, params []byte) {
	if s.caller.Notify != nil {
		s.caller.Notify(method, params)
	}
}

// changed returns the kind whose list has changed according to a notification. Templates have no
// notification of their own: they change with resources.
func changed(method string) (kind bridge.ListKind, ok bool) {
	for kind := range bridge.ListKinds {
		if kind.Changed() == method {
			return kind, true
		}
	}
	return 0, false
}

// look begins to look at a list, or lets the look under way do so again.
func (s *session) look(kind bridge.ListKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case s.looks[kind] != nil:
		s.looks[kind].again = true
	default:
		s.looks[kind] = &look{done: make(chan struct{})}
		s.looking.Add(1)
		s.work.Go(func() { s.lookAt(kind) })
	}
}

// lookAt tells the caller of a list that differs from the one that it has.
func (s *session) lookAt(kind bridge.ListKind) {
	select {
	case <-s.opened:
	case <-s.ctx.Done():
	}
	for {
		if s.differs(kind) {
			s.pass(kind.Changed(), nil)
		}
		s.mu.Lock()
		own := s.looks[kind]
		again := own.again && !s.closed
		if own.again = false; !again {
			s.looks[kind] = nil
			s.looking.Add(-1)
			close(own.done)
		}
		s.mu.Unlock()
		if !again {
			return
		}
	}
}

// differs reports whether a list differs from the one that the caller has, as far as is known. A caller of
// the legacy era that has not listed has none; one of the modern era may have listed in another session.
// The list of resources stands for that of templates, too.
func (s *session) differs(kind bridge.ListKind) (yes bool) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("the source has panicked", "panic", p, "stack", string(debug.Stack()))
			yes = true
		}
	}()
	kinds := []bridge.ListKind{kind}
	if kind == bridge.Resources {
		kinds = append(kinds, bridge.Templates)
	}
	ctx, cancel := context.WithTimeout(s.ctx, lookTime)
	defer cancel()
	listed := false
	for _, kind := range kinds {
		before := s.told[kind].Load()
		if before == nil || s.ctx.Err() != nil {
			continue
		}
		listed = true
		if after, _ := s.list(ctx, kind); !after.Equal(before) {
			return s.ctx.Err() == nil
		}
	}
	return !listed && s.caller.Modern
}

// awaitLooks waits for the looks under way: what a request has changed reaches the caller before the
// request's result.
func (s *session) awaitLooks(ctx context.Context) {
	if s.looking.Load() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s.mu.Lock()
	looks := s.looks
	s.mu.Unlock()
	for _, l := range looks {
		if l == nil {
			continue
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}
