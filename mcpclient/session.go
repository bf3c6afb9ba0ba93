package mcpclient

import (
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// session is a caller on a link. It implements bridge.Session.
type session struct {
	link   *link
	caller *bridge.Caller
	level  atomic.Int32 // the wire.LogLevel that the caller has set; 0 means none
	listed atomic.Bool  // the caller has read a list, and is notified of changes
	closed atomic.Bool
	done   chan struct{} // closed after closed is set

	watches int // resources of which the caller wants updates; guarded by link.mu
}

// wants reports whether the caller wants a log message. One that has set no level gets them all.
func (s *session) wants(message []byte) bool { return wire.LogLevel(s.level.Load()).Admits(message) }

// notify sends the caller a notification that belongs to none of its requests.
func (s *session) notify(method string, params []byte) {
	if s.caller.Notify != nil {
		s.caller.Notify(method, params)
	}
}

// linkKey is what callers must have in common to share a link.
type linkKey struct {
	owner        string // "", "principal "+name or "caller "+id
	own          bool   // the link has one caller
	modern       bool   // the modern era is used if the server knows it
	capabilities string // MCP's ClientCapabilities as the server is told them
}
