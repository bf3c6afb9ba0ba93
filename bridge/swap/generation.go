package swap

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
)

// generation is a session of an inner source.
type generation struct {
	bridge.Session
	owner *session
	inner *inner

	requests atomic.Int64 // that are in flight, less retired once there may be no more
	current  scope.Scope  // ends when another generation becomes the current one
	ending   sync.Once
}

// retired makes the count of requests negative.
const retired = math.MaxInt64 / 2

// enter begins a request, and reports false if the generation takes no more of them.
func (g *generation) enter() bool {
	if g.requests.Add(1) > 0 {
		return true
	}
	g.leave()
	return false
}

// leave ends a request. The last one of a former generation closes it.
func (g *generation) leave() {
	if g.requests.Add(-1) == -retired {
		g.end()
	}
}

// retire lets the requests in flight end, and takes no more of them. It reports whether none was left.
func (g *generation) retire() bool {
	g.current.Cancel(nil)
	if g.requests.Add(-retired) != -retired {
		return false
	}
	g.end()
	return true
}

// end closes the generation, with the requests in flight.
func (g *generation) end() {
	g.ending.Do(func() {
		g.current.Cancel(nil)
		g.Session.Close()
		g.owner.forget(g)
		g.owner.source.release(g.inner)
	})
}
