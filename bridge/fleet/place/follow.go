package place

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
)

// followPause is how long after its end a follower is called again.
const followPause = 250 * time.Millisecond

// Dial makes a connection to another node. An error means that nothing was sent.
type Dial func(context.Context) (net.Conn, error)

// SetFollower has f called for each other node, and again when it returns, while that node is there. Its context ends
// with Close, which waits for it. With nil, f is not called again.
func (s *Places) SetFollower(f func(context.Context, Dial)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow = f
	s.followAll()
}

// followAll follows the nodes that are not followed yet. Places.mu is held.
func (s *Places) followAll() {
	if s.engine == nil || s.follow == nil || s.ctx.Err() != nil {
		return
	}
	for _, n := range s.engine.Nodes() {
		if to := (run{n.ID, n.Epoch}); n.ID != s.name && !s.followed[to] {
			s.followed[to] = true
			s.work.Go(func() { s.followOne(to) })
		}
	}
}

// followOne follows a node until it is not there any more: one that NATS alone has lost, until it is lost here, too.
func (s *Places) followOne(to run) {
	dial := func(ctx context.Context) (net.Conn, error) { return fleet.Dial(ctx, s.node, to.Node, to.Epoch) }
	for f := s.followerOf(to); f != nil; f = s.followerOf(to) {
		f(s.ctx, dial)
		select {
		case <-time.After(followPause):
		case <-s.ctx.Done():
		}
	}
}

// followerOf returns the follower of a node, nil if that is not to be followed any more.
func (s *Places) followerOf(to run) func(context.Context, Dial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := slices.ContainsFunc(s.engine.Nodes(), func(n engine.Node) bool { return to == run{n.ID, n.Epoch} })
	if s.follow == nil || !there || s.ctx.Err() != nil {
		delete(s.followed, to)
		return nil
	}
	return s.follow
}
