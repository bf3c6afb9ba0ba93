package mcpserver

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// pendingRequest is a request that a cancellation finds until carryOut has answered it, and the
// context under which it runs. It ends with the request, with its session, or when its client
// cancels it. A context of package context costs more: it is registered in that of the session.
type pendingRequest struct {
	context.Context // of the session, for what it knows
	id              string
	refused         *toolformat.Error

	mu    sync.Mutex    // guards the fields below
	done  chan struct{} // made for the first who waits
	ended error         // why
	after []*func()     // to be called at the end
}

// Done implements context.Context.
func (p *pendingRequest) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(chan struct{})
		if p.ended != nil {
			close(p.done)
		}
	}
	return p.done
}

// Err implements context.Context.
func (p *pendingRequest) Err() error {
	if p.cause() != nil {
		return context.Canceled
	}
	return nil
}

// cause returns why the request has ended; nil while it has not.
func (p *pendingRequest) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// cancel ends the context. Only the first reason counts.
func (p *pendingRequest) cancel(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return
	}
	p.ended = reason
	if p.done != nil {
		close(p.done)
	}
	for _, f := range p.after {
		go (*f)()
	}
	p.after = nil
}

// AfterFunc does what context.AfterFunc does. Package context calls it for a context that it derives
// from this one, and would start a goroutine without it.
func (p *pendingRequest) AfterFunc(f func()) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		go f()
	} else {
		p.after = append(p.after, &f)
	}
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.Index(p.after, &f)
		if i >= 0 {
			p.after = slices.Delete(p.after, i, i+1)
		}
		return i >= 0
	}
}
