package mcpclient

import (
	"context"
	"maps"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// The log level and the watched resources are asked of a server once and remembered by it. The
// link remembers them as well, for all its callers, and asks each new connection.

// restore asks a new connection for what callers have asked of the previous one.
func (l *link) restore(c *conn) {
	if level := l.lowestLevel(); level > 0 && c.legacy {
		c.background(func(ctx context.Context) { c.replay(ctx, wire.MethodSetLevel, "level", level.String()) })
	}
	l.rewatchAll(c)
}

// forget drops what a caller has asked for, at the server too unless another caller wants it.
func (l *link) forget(s *session) {
	l.mu.Lock()
	maps.DeleteFunc(l.creators, func(_ string, by creator) bool { return by.session == s })
	l.mu.Unlock()
	l.unwatchAll(s)
}
