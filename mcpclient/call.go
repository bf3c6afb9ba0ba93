package mcpclient

import (
	"context"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// call is a request to the server that waits for its reply.
type call struct {
	id             int64
	owner          *session // whose request it is; nil means the bridge's own
	method, target string
	modern         bool              // a request of the modern era
	headers        map[string]string // that repeat arguments, over HTTP
	acked          func([]byte)      // takes the acknowledgment of a listen, which has no timeout; nil for any other call
	back           bridge.Back
	token          []byte          // raw progress token of the caller; nil if it gave none
	timer          bridge.Timer    // held while the conn has questions
	ctx            context.Context // ends with the call
	end            context.CancelCauseFunc
	sent           atomic.Bool       // its first byte has left
	queued         bool              // the carrier has taken it
	reply          chan bridge.Reply // has room for one
}
