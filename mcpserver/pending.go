package mcpserver

import (
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// pendingRequest is a request that a cancellation finds until carryOut has answered it, and the
// context under which it runs. It ends with the request, with its session, or when its client
// cancels it.
type pendingRequest struct {
	scope.Scope // in the context of the session
	id          string
	counted     resource // of the account
	refused     *toolformat.Error
	work        *requests // that count it; nil without any
	resting     bool      // it is counted in work.resting
}

// requests counts those of a connection that are pending, in the WaitGroup those that end by themselves.
type requests struct {
	sync.WaitGroup
	resting sync.WaitGroup // they last until their client or the Server ends them
}

// waitAll waits until all requests have ended.
func (r *requests) waitAll() {
	r.Wait() // first: those that it counts may yet come to rest
	r.resting.Wait()
}

// rest is for a request that does nothing more by itself: a client on stdio that has closed its end does not wait for
// its answer.
func (p *pendingRequest) rest() {
	if p.work != nil && !p.resting {
		p.resting = true
		p.work.resting.Add(1)
		p.work.Done()
	}
}

// done ends the count of the request.
func (p *pendingRequest) done() {
	if p.resting {
		p.work.resting.Done()
	} else {
		p.work.Done()
	}
}
