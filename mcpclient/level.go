package mcpclient

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// setLevel sets the level of the log messages that a caller wants. The server is asked for the
// lowest level of all callers; one of the modern era is told with each request.
func (l *link) setLevel(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	level := wire.ParseLogLevel(wire.Lookup(req.Params.Raw, "level"))
	s.level.Store(int32(level))
	lowest := l.lowestLevel()
	if c := l.conn.Load(); c != nil && c.legacy && (lowest == 0 || lowest == level) {
		return l.call(ctx, req, s) // which refuses an unknown level
	}
	return empty()
}

// lowestLevel returns the lowest level that callers of the link have set; 0 means none has.
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
