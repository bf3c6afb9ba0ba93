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
	// send sends a message, which it then owns. It returns when the message is on its way; over
	// HTTP, when its response has been received. It does not wait after ctx has ended. k is the
	// call whose request the message is, nil for any other message; k.sent is set before the
	// first byte leaves.
	send(ctx context.Context, msg *wire.Buffer, k *call) error
	// established tells the carrier that the handshake is done.
	established(revision string)
	// close ends the connection and returns when nothing of it is left.
	close()
}

// receiver takes what a carrier receives, in order.
type receiver interface {
	// receive takes a message. from is the call on whose own stream it came, nil if the carrier
	// has one stream for all calls.
	receive(msg *wire.Buffer, from *call)
	// lose reports that the connection is lost.
	lose(reason error)
}

// errClosed ends a connection on purpose.
var errClosed = errors.New("the connection has been closed")

// errSessionGone means that the server no longer knows the session, so that a request sent in it
// has certainly not run.
var errSessionGone = errors.New("the server has ended the session")

// tooLong is the error of a call whose response is too long.
func tooLong(cfg *Config) *toolformat.Error {
	return cfg.errorf(toolformat.Unavailable, "the answer is larger than %d bytes (limits.messageBytes in the config)", cfg.MessageBytes)
}

// dialer makes a carrier.
type dialer func(ctx context.Context, cfg *Config, r receiver) (carrier, error)

// dialers returns the dialers to try, in order.
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
