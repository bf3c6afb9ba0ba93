package mcpclient

import (
	"context"
	"log/slog"

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

// stray takes a log message that belongs to no call: on a link of one caller it is the
// caller's, on a shared one it goes to the bridge's own log.
func (l *link) stray(method string, params []byte) {
	if l.key.own {
		l.mu.Lock()
		defer l.mu.Unlock()
		for s := range l.sessions {
			if s.wants(params) {
				s.notify(method, params)
			}
		}
		return
	}
	l.client.cfg.flood.Log(slog.LevelInfo, "log message of the server", "params", snippet(params))
}
