package mcpserver

import (
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxIdleWorkers is how many workers wait for a request. The stack of one takes a few KiB.
const maxIdleWorkers = 256

// workers are goroutines that carry out the requests of connections. A new one for each request
// would spend a tenth of a small call on the growth of its stack. The idle ones end with the last
// connection.
type workers struct {
	mu    sync.Mutex // guards the fields below, and duplex.works
	idle  []*worker
	users int // connections that have sent a message and have not been closed
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
	w := p.takeIdle(d)
	if w == nil {
		w = &worker{pool: p}
	}
	w.duplex, w.msg = d, msg
	return w
}

// takeIdle returns the worker that has become idle last, nil without one.
func (p *workers) takeIdle(d *duplex) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.works {
		d.works = true
		p.users++
	}
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
	defer w.begun.done()
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
	if p.users > 0 && len(p.idle) < maxIdleWorkers {
		p.idle = append(p.idle, w)
	} else {
		w.end()
	}
}

// end ends the goroutine of an idle worker.
func (w *worker) end() {
	if w.wake != nil {
		close(w.wake)
	}
}

// leave ends the idle workers if the connection, which has been closed, is the last. Those that are
// busy end with their requests.
func (p *workers) leave(d *duplex) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.works {
		d.works = true // a message that comes late does not count
		return
	}
	if p.users--; p.users > 0 {
		return
	}
	for _, w := range p.idle {
		w.end()
	}
	p.idle = nil
}
