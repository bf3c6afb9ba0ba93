package mcpclient

import (
	"context"
	"log/slog"
	"maps"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// What a caller asks for once and a server remembers, the level of its log and the
// resources it is told of (watch.go), is kept: a shared link asks its server once for
// all callers, and a new connection is asked again.

// setLevel notes the level that a caller wants; the server is asked for the lowest of
// all.
func (l *link) setLevel(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	level := wire.ParseLogLevel(wire.Lookup(req.Params.Raw, "level"))
	s.level.Store(int32(level))
	lowest := l.lowest()
	if c := l.conn.Load(); c == nil || !c.legacy {
		return bridge.Result([]byte("{}"), nil) // a new connection will be told, or each request will say
	}
	if lowest == 0 || lowest == level { // an unknown one is for the server to refuse
		return l.call(ctx, req, s)
	}
	return bridge.Result([]byte("{}"), nil)
}

// lowest is the lowest level that a caller of the link wants; 0 when none has said.
func (l *link) lowest() wire.LogLevel {
	l.mu.Lock()
	defer l.mu.Unlock()
	low := int32(0)
	for s := range l.sessions {
		if level := s.level.Load(); level > 0 && (low == 0 || level < low) {
			low = level
		}
	}
	return wire.LogLevel(low)
}

// wants reports whether a caller wants a log message: one that has named no level gets
// what the server sends.
func (s *session) wants(message []byte) bool { return wire.LogLevel(s.level.Load()).Admits(message) }

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
