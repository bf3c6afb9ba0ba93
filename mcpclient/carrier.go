package mcpclient

import (
	"context"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

// dialer makes a carrier.
type dialer func(ctx context.Context, cfg *Config, r receiver) (carrier, error)

// call is a request to the server that waits for its reply.
type call struct {
	id             int64
	owner          *session // whose request it is; nil means the bridge's own
	method, target string
	modern         bool              // a request of the modern era
	headers        map[string]string // that repeat arguments, over HTTP
	acked          func([]byte)      // takes what a listen is granted; only a listen has it, and no timeout
	back           bridge.Back
	token          []byte          // raw progress token of the caller; nil if it gave none
	timer          bridge.Timer    // held while the conn has questions
	ctx            context.Context // ends with the call
	end            context.CancelCauseFunc
	sent           atomic.Bool       // its first byte has left
	queued         bool              // the carrier has taken it
	reply          chan bridge.Reply // has room for one
}

// setSent notes that the first byte may have left; k may be nil.
func (k *call) setSent() {
	if k != nil {
		k.sent.Store(true)
	}
}
