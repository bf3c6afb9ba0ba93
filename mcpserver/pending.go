package mcpserver

import (
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// pendingRequest is a request that a cancellation finds until carryOut has answered it, and the
// context under which it runs. It ends with the request, with its session, or when its client
// cancels it.
type pendingRequest struct {
	scope.Scope // in the context of the session
	id          string
	refused     *toolformat.Error
}
