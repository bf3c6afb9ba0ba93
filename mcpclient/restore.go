package mcpclient

import (
	"context"
	"log/slog"
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

// replay sends a request with one string parameter for which no caller waits. It reports whether
// the server agreed.
func (c *conn) replay(ctx context.Context, method, key, value string) bool {
	params := wire.SetMember([]byte("{}"), key, wire.AppendString(nil, value))
	reply, err := c.request(ctx, method, params)
	if err != nil {
		c.cfg.throttle.Log(slog.LevelWarn, "a request could not be repeated on the new connection", "method", method, key, value, "reason", err)
		return false
	}
	reply.Free()
	return true
}
