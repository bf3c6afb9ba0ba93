// Package keepalive serves the plain requests of MCP clients over HTTP/1.1, one POST after the other on
// a connection that is kept alive, without what net/http does for each request. A connection goes over
// to net/http at its first request of another kind, and stays there.
package keepalive

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Listener. All fields are needed.
type Options struct {
	Server *http.Server // of the other requests; its ErrorLog, IdleTimeout and ReadHeaderTimeout hold for all, and are needed

	// Prepare returns the handler of the requests with the header of r. They share its header, URL and
	// context, which ends with the connection; Content-Length is that of one of them.
	Prepare func(r *http.Request) http.Handler

	BodyTimeout  time.Duration // how long the body of a request may take until the handler has read it
	WriteTimeout time.Duration // how long a client may take for what the handler writes at once
	RestTime     time.Duration // how long a connection waits for another request until it gives memory back
}

// A Listener is the listener of an http.Server. It serves the plain requests of its connections itself.
type Listener struct {
	net.Listener
	opts   Options
	ending atomic.Bool
	asleep atomic.Bool // sweep does not run soon
	last   atomic.Pointer[date]

	mu    sync.Mutex // guards the fields below
	conns map[*conn]struct{}
	timer *time.Timer // runs sweep
}

// date is a second as the header Date has it.
type date struct {
	second int64
	text   []byte
}

// now returns the time as the header Date has it, which is formatted once a second.
func (l *Listener) now() []byte {
	now := time.Now()
	d := l.last.Load()
	if d == nil || d.second != now.Unix() {
		d = &date{now.Unix(), now.UTC().AppendFormat(nil, http.TimeFormat)}
		l.last.Store(d)
	}
	return d.text
}

// Listen returns a Listener for the connections of ln.
func Listen(ln net.Listener, opts Options) *Listener {
	l := &Listener{Listener: ln, opts: opts, conns: map[*conn]struct{}{}}
	l.timer = time.AfterFunc(tick, l.sweep)
	return l
}

// Accept serves the connections over TCP.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		below, err := l.Listener.Accept()
		tcp, ok := below.(*net.TCPConn)
		if err != nil || !ok {
			return below, err
		}
		go l.serve(tcp)
	}
}

// headerBytes bounds the header of a plain request, in bytes: each connection keeps as much until it rests.
// There is room for a token of 2 KiB.
const headerBytes = 3 << 10

// serve answers the plain requests of a connection, and passes it to net/http at another one.
func (l *Listener) serve(tcp *net.TCPConn) {
	c := &conn{TCPConn: tcp, l: l, in: bufio.NewReaderSize(tcp, headerBytes)}
	c.since = time.Now().Add(l.opts.Server.ReadHeaderTimeout - l.opts.Server.IdleTimeout) // for the first request
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), http.LocalAddrContextKey, tcp.LocalAddr()))
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	l.wake()
	other := c.serve()
	c.cancel()
	l.mu.Lock()
	delete(l.conns, c)
	l.mu.Unlock()
	p := make(passing, 1)
	p <- passed{tcp, io.MultiReader(io.LimitReader(c.in, int64(c.in.Buffered())), tcp)}
	if close(p); other {
		l.opts.Server.Serve(p)
	}
	for c := range p { // net/http has not got it
		c.Close()
	}
}

// passing is the listener of a connection that passes to net/http.
type passing chan net.Conn

func (p passing) Addr() net.Addr { return nil }
func (p passing) Close() error   { return nil }

func (p passing) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// passed is a connection of which in has not been read.
type passed struct {
	*net.TCPConn
	in io.Reader
}

func (p passed) Read(b []byte) (int, error) { return p.in.Read(b) }

// WriteTo stands in for that of TCPConn, which would pass over in.
func (p passed) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, p.in) }

// Shutdown closes the listener and the connections that net/http has not got: those without a request
// at once, and the others after their answer, or when ctx ends.
func (l *Listener) Shutdown(ctx context.Context) {
	l.ending.Store(true)
	l.Listener.Close()
	for left := 1; left > 0; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		for c := range l.conns {
			if ctx.Err() != nil || c.state.Load()&doing == idle {
				c.TCPConn.Close() // first: an answer to the end of the context is not sent
				c.cancel()
				delete(l.conns, c)
			}
		}
		left = len(l.conns)
		l.mu.Unlock()
	}
}

// tick is how often sweep runs while there are requests.
const tick = 500 * time.Millisecond

// sweep enforces the limits of time on all connections: deadlines for each read and write, which
// net/http sets, cost a small request more than the rest of its bookkeeping.
func (l *Listener) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asleep.Store(true) // before it looks, so that a request that begins now wakes it
	now, next := time.Now(), l.opts.Server.IdleTimeout
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
