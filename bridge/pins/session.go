package pins

import (
	"bytes"
	"context"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/paging"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is a caller's view of a server.
type session struct {
	bridge.Session // below
	pins           *Pins

	seen     [bridge.ListKinds]atomic.Pointer[view] // of the last list
	outdated [bridge.ListKinds]atomic.Bool          // there is another list than the last one
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if !isPinned(kind) {
		return s.Session.List(ctx, kind)
	}
	v, err := s.view(ctx, kind)
	if v == nil {
		return nil, err
	}
	return v.list, err
}

// view returns what may be seen of the current list.
func (s *session) view(ctx context.Context, kind bridge.ListKind) (*view, error) {
	s.outdated[kind].Store(false)
	l, err := s.Session.List(ctx, kind)
	if l == nil {
		s.outdated[kind].Store(true)
		return nil, err
	}
	v := s.pins.look(kind, l, err == nil)
	s.seen[kind].Store(v)
	return v, err
}

// Do implements bridge.Session.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if kind, name, ok := match.Subject(req); ok && isPinned(kind) {
		if fault := s.check(ctx, kind, name); fault != nil {
			return bridge.Failed(fault)
		}
		return s.Session.Do(ctx, req)
	}
	if kind, ok := bridge.ListKindOf(req.Method); ok && isPinned(kind) {
		return paging.Answer(ctx, s.Session, req, s.List)
	}
	if req.Method == wire.MethodDiscover {
		return s.discover(ctx, req)
	}
	return s.Session.Do(ctx, req)
}

// discover answers with the server's description of itself, with the instructions that were accepted.
func (s *session) discover(ctx context.Context, req *bridge.Request) bridge.Reply {
	reply := s.Session.Do(ctx, req)
	if reply.Err != nil {
		return reply
	}
	text, _ := wire.Text(wire.Lookup(reply.Result, instructions))
	shown := s.pins.instructions(text)
	if shown == text {
		return reply
	}
	defer reply.Free()
	return bridge.Result(wire.SetMember(bytes.Clone(reply.Result), instructions, wire.AppendString(nil, shown)), nil)
}

// check returns an error unless a tool or prompt was accepted. It reads the list only if that has changed,
// or if it does not have the name as it was accepted.
func (s *session) check(ctx context.Context, kind bridge.ListKind, name string) *toolformat.Error {
	v := s.seen[kind].Load()
	if v != nil && !s.outdated[kind].Load() && v.book == s.pins.book.Load() && v.has(name) {
		return nil
	}
	for again := false; ; again = true {
		v, err := s.view(ctx, kind)
		switch {
		case v == nil && ctx.Err() != nil:
			return toolformat.Errorf(toolformat.Canceled, "canceled")
		case v == nil && again:
			return toolformat.AsError(err)
		case v != nil && v.has(name):
			return nil
		case v != nil:
			if isNew, held := v.held[name]; held {
				return toolformat.Errorf(toolformat.Denied, "%s: whoever runs the bridge can look at it and accept it", heldBack(kind, name, isNew))
			}
			if again {
				return v.list.Unknown(name)
			}
		}
		if reply := bridge.Reach(ctx, s.Session, kind, name); reply.Err != nil {
			return reply.Err
		}
	}
}

// has reports whether a name was accepted, and is what was accepted.
func (v *view) has(name string) bool {
	if _, held := v.held[name]; held {
		return false
	}
	_, ok := v.list.Find(name)
	return ok
}
