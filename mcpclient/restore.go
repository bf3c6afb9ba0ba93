package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// The log level and the watched resources are asked of a server once and remembered by it. The
// link remembers them as well, for all its callers, and asks each new connection.

// restore asks a new connection for what callers have asked of the previous one.
func (l *link) restore(c *conn) {
	if level := l.lowestLevel(); level > 0 && c.legacy {
		c.start(func() { c.replay(&c.life, wire.MethodSetLevel, "level", level.String()) })
	}
	l.rewatchAll(c)
}

// forget drops what a caller has asked for, at the server too unless another caller wants it.
func (l *link) forget(s *session) {
	l.mu.Lock()
	if !s.caller.Modern && !l.hasOther(s) {
		l.forgetTasks(s.creator())
	}
	l.mu.Unlock()
	l.unwatchAll(s)
}

// hasOther reports whether the caller of a session has another one on the link. l.mu is held.
func (l *link) hasOther(s *session) bool {
	for other := range l.sessions {
		if other != s && other.caller.ID == s.caller.ID {
			return true
		}
	}
	return false
}

// storeLevel stores the level that a caller has set. It reports whether the caller has set it in another
// session on the link before.
func (l *link) storeLevel(s *session, level wire.LogLevel) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.level.Store(int32(level))
	for other := range l.sessions {
		before = before || other != s && other.caller.ID == s.caller.ID && level > 0 && other.level.Load() == int32(level)
	}
	return before
}

// setLevel sets the level of the log messages that a caller wants. The server is asked for the
// lowest level of all callers; one of the modern era is told with each request.
func (l *link) setLevel(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	level := wire.ParseLogLevel(wire.Lookup(req.Params.Raw, "level"))
	if l.storeLevel(s, level) {
		return empty()
	}
	lowest := l.lowestLevel()
	if c := l.conn.Load(); c != nil && c.legacy && (lowest == 0 || lowest == level) {
		return l.call(ctx, req, s) // which refuses an unknown level
	}
	return empty()
}

// lowestLevel returns the lowest level that callers of the link have set; 0 means no level.
func (l *link) lowestLevel() wire.LogLevel {
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
