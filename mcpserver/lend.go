package mcpserver

import (
	"context"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What a client on a connection sends to lend its tools to the bridge, in either era. The bridge then
// sends it tools/call, to which the rules of MCP for a server apply.
const (
	methodLend          = "mcpbridge/lend"
	notificationFocused = "notifications/mcpbridge/focused"
)

// A Lender is a client that lends tools. Its methods may be called by many goroutines at once.
type Lender interface {
	// Lend answers a request whose params have the tools that the client lends from now on.
	Lend(ctx context.Context, params *wire.Params) bridge.Reply

	// Notify takes a notification of the client: of the progress of a call, or that its user looks at it.
	Notify(method string, params *wire.Params)

	// Leave ends the loan, before the calls that wait for the client end. It is called once.
	Leave()
}

// lend answers the request of a client that lends tools.
func (s *session) lend(ctx context.Context, m *wire.Message) bridge.Reply {
	join := s.server.opts().Lend
	if join == nil {
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, `this bridge takes no tools of its clients ("lending": true in its config allows it)`))
	}
	size := len(m.Params.Raw)
	if !s.account.hold(size) {
		return bridge.Failed(s.account.exhausted("bytes in flight", heldBytes))
	}
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		s.account.free(size)
		return bridge.Failed(unavailable("%v", s.ended))
	}
	if s.lender == nil {
		client := s.sender.caller()
		client.ID, client.Ask = s.id, s.back.Ask
		s.lender = join(&client)
	}
	lender, before := s.lender, s.lent
	s.lent = size
	s.mu.Unlock()
	s.account.free(before)
	s.tellHosts(ctx, peerNote{Changed: true})
	reply := lender.Lend(ctx, &m.Params)
	if isModern(m) {
		return complete(reply)
	}
	return reply
}

// tellLender passes on a notification of a client that lends tools.
func (s *session) tellLender(m *wire.Message) {
	s.mu.Lock()
	lender := s.lender
	s.mu.Unlock()
	if lender != nil {
		lender.Notify(m.Method, &m.Params)
	}
}
