package mcpclient

import (
	"context"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// session is one caller on a link.
type session struct {
	link   *link
	caller *bridge.Caller
	level  atomic.Int32 // the wire.LogLevel that it wants; 0: it has not said
	seen   atomic.Bool  // it has asked for a list, and is told of changes
	closed atomic.Bool
	done   chan struct{} // closed once closed is set

	watches int // resources that it wants to be told of; guarded by link.mu
}

func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l, err := s.link.list(ctx, kind)
	if !s.seen.Swap(true) && err == nil {
		return s.link.list(ctx, kind) // nobody was told of a change in between
	}
	return l, err
}

func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	return s.link.do(ctx, req, s)
}

// do carries out a request of a caller.
func (l *link) do(ctx context.Context, req *bridge.Request, owner *session) bridge.Reply {
	switch req.Method {
	case wire.MethodSubscribe:
		return l.subscribe(ctx, req, owner)
	case wire.MethodUnsubscribe:
		return l.unsubscribe(ctx, req, owner)
	case wire.MethodSetLevel:
		return l.setLevel(ctx, req, owner)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate, wire.MethodTasksList:
		return l.task(ctx, req, owner)
	case wire.NotificationRootsChanged:
		l.pass(req.Method)
		return bridge.Result([]byte("{}"), nil)
	}
	return l.call(ctx, req, owner)
}

// pass sends a notification of the caller to a server that it is the only caller of.
func (l *link) pass(method string) {
	if c := l.conn.Load(); c != nil && l.key.own {
		c.respond(wire.AppendNotification(nil, method, nil))
	}
}

func (s *session) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		close(s.done)
		if c := s.link.conn.Load(); c != nil {
			c.cancel(s)
		}
		s.link.forget(s)
		s.link.client.leave(s)
	}
	return nil
}

// changed tells a caller that has seen the lists that one of them changed.
func (s *session) changed(kind bridge.ListKind) {
	if s.seen.Load() {
		s.notify(kind.Changed(), nil)
	}
}

// notify tells the caller what belongs to none of its requests.
func (s *session) notify(method string, params []byte) {
	if s.caller.Notify != nil {
		s.caller.Notify(method, params)
	}
}
