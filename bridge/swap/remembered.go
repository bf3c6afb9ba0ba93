package swap

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// doRemembered carries out a request that the inner source remembers. It is recorded before, so that a
// generation which is opened meanwhile is asked the same. One that was opened before that is asked here.
func (s *session) doRemembered(ctx context.Context, g *generation, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodSetLevel {
		select {
		case s.setting <- struct{}{}:
			defer func() { <-s.setting }()
		case <-ctx.Done():
			return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
		}
	}
	undo := s.remember(req)
	reply := g.Session.Do(ctx, req)
	if reply.Err != nil {
		undo()
		return reply
	}
	for _, later := range s.generations() {
		if later != g && later.enter() {
			again := later.Session.Do(ctx, &bridge.Request{Method: req.Method, Params: req.Params, Target: req.Target})
			again.Free()
			later.leave()
		}
	}
	return reply
}

// generations returns the current generation, and that to which the session is moving.
func (s *session) generations() []*generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []*generation{s.current.Load()}
	if s.next != nil {
		all = append(all, s.next)
	}
	return all
}

// remember records what a request asks for. undo forgets it.
func (s *session) remember(req *bridge.Request) (undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, uri := s.watched[req.Target], req.Target
	switch {
	case req.Method == wire.MethodSubscribe:
		s.watched[uri] = true
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !before {
				delete(s.watched, uri)
			}
		}
	case req.Method == wire.MethodUnsubscribe:
		delete(s.watched, uri)
	case req.Params != nil:
		s.level = bytes.Clone(req.Params.Raw)
	}
	return func() {}
}

// watches reports whether the caller is subscribed to a resource.
func (s *session) watches(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[uri]
}

// repeat asks a new generation in the background for what the caller has asked for. The channel is
// closed when that has been done. s.mu is held.
func (s *session) repeat(g *generation) <-chan struct{} {
	done := make(chan struct{})
	uris := slices.Collect(maps.Keys(s.watched))
	if s.level == nil && len(uris) == 0 {
		close(done)
		return done
	}
	s.source.work.Go(func() {
		defer close(done)
		s.contain(func() {
			s.repeatLevel(g)
			for _, uri := range uris {
				s.repeatSubscription(g, uri)
			}
		})
	})
	return done
}

// repeatLevel sets the level of the log when the caller does not do so itself.
func (s *session) repeatLevel(g *generation) {
	s.setting <- struct{}{} // the request under way ends with its session, or its time
	defer func() { <-s.setting }()
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if level != nil {
		s.ask(g, wire.MethodSetLevel, "", level)
	}
}

// repeatSubscription subscribes to a resource, unless the caller has unsubscribed meanwhile.
func (s *session) repeatSubscription(g *generation, uri string) {
	if !s.watches(uri) {
		return
	}
	s.ask(g, wire.MethodSubscribe, uri, paramsOf(uri))
	if !s.watches(uri) { // it may have been carried out after that
		s.ask(g, wire.MethodUnsubscribe, uri, paramsOf(uri))
	}
}

// release ends the subscriptions of a former generation that still has requests: the caller can no longer
// end them there.
func (s *session) release(g *generation) {
	s.mu.Lock()
	uris := slices.Collect(maps.Keys(s.watched))
	s.mu.Unlock()
	if len(uris) > 0 {
		s.source.work.Go(func() {
			s.contain(func() {
				for _, uri := range uris {
					s.send(g, wire.MethodUnsubscribe, uri, paramsOf(uri))
				}
			})
		})
	}
}

// paramsOf returns the params of a subscription.
func paramsOf(uri string) []byte {
	return wire.SetMember([]byte("{}"), "uri", wire.AppendString(nil, uri))
}

// ask sends a generation a request that its caller has made before, unless it is a former one.
func (s *session) ask(g *generation, method, target string, raw []byte) {
	if !g.enter() {
		return
	}
	defer g.leave()
	if err := s.send(g, method, target, raw); err != nil {
		s.source.log.Info("what a client has asked for could not be repeated after a change", "method", method, "reason", err)
	}
}

func (s *session) send(g *generation, method, target string, raw []byte) error {
	params, err := wire.SplitParams(raw)
	if err != nil {
		return err
	}
	reply := g.Session.Do(context.Background(), &bridge.Request{Method: method, Params: &params, Target: target})
	defer reply.Free()
	if reply.Err != nil {
		return reply.Err
	}
	return nil
}
