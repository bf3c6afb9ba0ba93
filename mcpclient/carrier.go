package mcpclient

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A carrier moves whole messages to and from one server.
type carrier interface {
	// send carries one message, which it takes over, and returns when the message is
	// on its way; over HTTP, when its answer has been received. It never waits beyond
	// ctx. k is the call that the message is the request of, nil for any other
	// message; its sent is set before the first byte leaves.
	send(ctx context.Context, msg *wire.Buffer, k *call) error
	// established tells the carrier that the handshake is done.
	established(revision string)
	// close ends the connection and returns when nothing of it is left.
	close()
}

// receiver takes what a carrier receives, in order. from is the call on whose own
// stream the message came, nil when the carrier has one stream for all.
type receiver interface {
	receive(msg *wire.Buffer, from *call)
	lose(err error) // the connection is lost
}

// errClosed is the reason of a connection that was ended on purpose.
var errClosed = errors.New("the connection has been closed")

// errSessionGone says that the server does not know the session any more, so that what
// was sent surely did not run.
var errSessionGone = errors.New("the server has ended the session")

// tooLong is the error for the caller of a request whose answer is too large.
func tooLong(cfg *Config) *toolformat.Error {
	return toolformat.Errorf(toolformat.Unavailable, "%s: the answer is larger than %d bytes (limits.messageBytes in the config)", cfg.Name, cfg.MessageBytes)
}

// dialer makes a carrier.
type dialer func(ctx context.Context, cfg *Config, r receiver) (carrier, error)

// dialers are the carriers to try, in order.
func (cfg *Config) dialers() []dialer {
	switch {
	case len(cfg.Command) > 0:
		return []dialer{dialStdio}
	case cfg.Transport == WebSocket || strings.HasPrefix(cfg.URL, "ws:") || strings.HasPrefix(cfg.URL, "wss:"):
		return []dialer{dialWS}
	case cfg.Transport == SSE:
		return []dialer{dialSSE}
	case cfg.Transport == HTTP:
		return []dialer{dialHTTP}
	}
	return []dialer{dialHTTP, dialSSE}
}
