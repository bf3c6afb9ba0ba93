// Package keepalive serves the plain requests of MCP clients over HTTP/1.1, one POST after the other on
// a connection that is kept alive, without what net/http does for each request. A connection goes over
// to net/http at its first request of another kind, and stays there.
package keepalive

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Listener. All fields are needed.
type Options struct {
	Path string // of the requests that are served here

	// Prepare returns the handler of the requests with the header of r. They share its header, URL and
	// context, which ends with the connection; Content-Length is that of one of them.
	Prepare func(r *http.Request) http.Handler

	IdleTimeout  time.Duration // how long a connection may have no request
	HeadTimeout  time.Duration // how long the header of a request may take, or the first request
	BodyTimeout  time.Duration // how long the body of a request may take until the handler has read it
	WriteTimeout time.Duration // how long a client may take for what the handler writes at once
}

// A Listener is the listener of an http.Server, whose connections serve plain requests themselves.
type Listener struct {
	net.Listener
	opts   Options
	ending atomic.Bool
	asleep atomic.Bool // sweep does not run soon

	mu    sync.Mutex // guards the fields below
	conns map[*conn]struct{}
	timer *time.Timer // runs sweep
}

// Listen returns a Listener for the connections of ln.
func Listen(ln net.Listener, opts Options) *Listener {
	l := &Listener{Listener: ln, opts: opts, conns: map[*conn]struct{}{}}
	l.timer = time.AfterFunc(tick, l.sweep)
	return l
}

// Accept returns a connection whose Read serves requests until there is one for net/http, which it
// returns.
func (l *Listener) Accept() (net.Conn, error) {
	below, err := l.Listener.Accept()
	tcp, ok := below.(*net.TCPConn)
	if err != nil || !ok {
		return below, err
	}
	// The first request has HeadTimeout.
	c := &conn{TCPConn: tcp, l: l, in: bufio.NewReader(tcp), since: time.Now().Add(l.opts.HeadTimeout - l.opts.IdleTimeout)}
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), http.LocalAddrContextKey, c.LocalAddr()))
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	l.wake()
	return c, nil
}

// Shutdown closes the listener and the connections that net/http has not got: those without a request
// at once, and the others after their answer, or when ctx ends.
func (l *Listener) Shutdown(ctx context.Context) {
	l.ending.Store(true)
	l.Listener.Close()
	for l.closeConns(ctx.Err() != nil) > 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// closeConns closes the connections without a request, or all, and returns how many are left.
func (l *Listener) closeConns(all bool) (left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		if all || c.state.Load()&doing == idle {
			c.TCPConn.Close() // first: an answer to the end of the context is not sent
			c.cancel()
			delete(l.conns, c)
		}
	}
	return len(l.conns)
}

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// tick is how often sweep runs while there are requests.
const tick = 500 * time.Millisecond

// sweep enforces the limits of time on all connections: deadlines for each read and write, which
// net/http sets, cost a small request more than the rest of its bookkeeping.
func (l *Listener) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asleep.Store(true) // before it looks, so that a request that begins now wakes it
	now, next := time.Now(), l.opts.IdleTimeout
	for c := range l.conns {
		next = min(next, c.check(now))
	}
	if len(l.conns) > 0 {
		l.asleep.Store(next > tick)
		l.timer.Reset(next)
	}
}

// wake lets sweep run soon.
func (l *Listener) wake() {
	if l.asleep.Load() && l.asleep.CompareAndSwap(true, false) {
		l.mu.Lock()
		l.timer.Reset(tick)
		l.mu.Unlock()
	}
}
