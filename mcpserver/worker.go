package mcpserver

import (
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxIdleWorkers is how many workers wait for a request. The stack of one takes a few KiB.
const maxIdleWorkers = 256

// workers are goroutines that carry out the requests of connections. A new one for each request
// would spend a tenth of a small call on the growth of its stack.
type workers struct {
	mu     sync.Mutex // guards the fields below
	idle   []*worker
	closed bool
}

// worker carries out requests of connections, one after the other. Who takes it owns it until
// start or put.
type worker struct {
	pool *workers
	wake chan struct{} // holds a token when there is a request; nil before the first one

	duplex *duplex
	msg    message
	m      wire.Message // of msg
	begun  *pendingRequest

	initialized func() // makes requests that wait for this initialize go on; nil for others
}

// take returns a worker for a message of a connection.
func (p *workers) take(d *duplex, msg message) *worker {
	w := p.takeIdle()
	if w == nil {
		w = &worker{pool: p}
	}
	w.duplex, w.msg = d, msg
	return w
}

// takeIdle returns the worker that has become idle last, nil without one.
func (p *workers) takeIdle() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	w := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return w
}

// start carries out the worker's request in its goroutine.
func (w *worker) start() {
	if w.wake != nil {
		w.wake <- struct{}{}
		return
	}
	w.wake = make(chan struct{}, 1)
	go func() {
		for ok := true; ok; _, ok = <-w.wake {
			w.carryOut()
			w.put()
		}
	}()
}

// carryOut carries out the worker's request.
func (w *worker) carryOut() {
	defer w.duplex.work.Done()
	w.duplex.answer(w)
	if w.initialized != nil {
		w.initialized()
	}
}

// put makes a worker idle, or ends it.
func (w *worker) put() {
	w.duplex, w.msg, w.m, w.begun, w.initialized = nil, message{}, wire.Message{}, nil, nil
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.idle) < maxIdleWorkers {
		p.idle = append(p.idle, w)
	} else if w.wake != nil {
		close(w.wake)
	}
}

// close ends the idle workers. The others end with their requests.
func (p *workers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.idle {
		if w.wake != nil {
			close(w.wake)
		}
	}
	p.idle, p.closed = nil, true
}
