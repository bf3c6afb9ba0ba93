package mcpclient

import (
	"context"
	"log/slog"
	"maps"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// forget drops what a caller asked for, and tells the server what nobody wants any
// more.
func (l *link) forget(s *session) {
	l.mu.Lock()
	maps.DeleteFunc(l.tasks, func(_ string, by creator) bool { return by.session == s })
	l.mu.Unlock()
	l.unwatchAll(s)
}

// restore asks a new connection for what callers had asked the last one for.
func (l *link) restore(c *conn) {
	if level := l.lowest(); level > 0 && c.legacy {
		c.background(func(ctx context.Context) { c.quietly(ctx, wire.MethodSetLevel, "level", level.String()) })
	}
	l.rewatchAll(c)
}

// quietly sends a request of one string parameter for nobody's sake; it reports whether
// the server has done it.
func (c *conn) quietly(ctx context.Context, method, key, value string) bool {
	params := wire.SetMember([]byte("{}"), key, wire.AppendString(nil, value))
	reply, err := c.request(ctx, method, params)
	if err != nil {
		c.flood.Log(slog.LevelWarn, "a request could not be repeated on the new connection", "method", method, key, value, "reason", err)
		return false
	}
	reply.Free()
	return true
}
