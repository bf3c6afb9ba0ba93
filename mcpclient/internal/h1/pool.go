// Package h1 sends requests over plain HTTP/1.1 on connections that it keeps for the next ones. It
// does what [http.Transport] does for a request without TLS, proxy or redirect, for less: no
// goroutine stands between a caller and its connection, and an idle connection holds no buffers.
// Responses are parsed by net/http, but for those that differ from the one before in their date and
// length alone.
package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/nonblock"
)

// Supported reports whether the system can look at a connection without waiting, as a Pool must.
const Supported = nonblock.Supported

// maxIdle bounds the idle connections of a Pool. Each is little more than its socket.
const maxIdle = 1024

// A Pool holds connections. All functions may be called from many goroutines.
type Pool struct {
	Dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	IdleTime time.Duration // how long an idle connection is kept

	mu     sync.Mutex
	idle   []*conn     // in the order in which they became idle
	sweeps *time.Timer // runs sweep while there are idle connections
	closed bool
	late   sync.WaitGroup // of functions that bring connections back
}

// conn is a connection. It serves one exchange at a time.
type conn struct {
	net.Conn
	in     io.Reader        // stream, or the connection itself
	stream *nonblock.Stream // nil if the connection is not a *net.TCPConn
	addr   string
	since  time.Time // when it became idle; zero for a new one
	limit  int64     // bytes that may be read
	eof    bool      // the server has closed it
	abort  func()    // Close, for context.AfterFunc
}

var errHead = errors.New("the headers of the response are too large")

// Read implements io.Reader. It reads no more than the limit.
func (c *conn) Read(p []byte) (int, error) {
	if c.limit <= 0 {
		return 0, errHead
	}
	n, err := c.in.Read(p[:min(int64(len(p)), c.limit)])
	c.limit -= int64(n)
	c.eof = err != nil
	return n, err
}

// get returns the connection that became idle last, or a new one. An idle one on which the server
// has sent something, which answers nothing, or that it has closed is not used.
func (p *Pool) get(ctx context.Context, addr string) (*conn, error) {
	for {
		c := p.take(addr)
		switch {
		case c == nil:
			return p.dial(ctx, addr)
		case time.Since(c.since) < p.IdleTime && c.stream.Quiet():
			return c, nil
		}
		c.Close()
	}
}

// take removes the connection to addr that became idle last; nil means that there is none.
func (p *Pool) take(addr string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range slices.Backward(p.idle) {
		if c.addr == addr {
			p.idle = slices.Delete(p.idle, i, i+1)
			return c
		}
	}
	return nil
}

func (p *Pool) dial(ctx context.Context, addr string) (*conn, error) {
	nc, err := p.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, in: nc, addr: addr}
	if tcp, ok := nc.(*net.TCPConn); ok {
		c.stream = nonblock.New(tcp)
		c.in = c.stream
	}
	c.abort = func() { c.Close() }
	return c, nil
}

// put keeps a connection for the next exchange.
func (p *Pool) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.stream == nil || len(p.idle) == maxIdle {
		c.Close()
		return
	}
	c.since = time.Now().Round(0) // on the wall clock, which goes on while the machine sleeps: the other end may be gone then
	p.idle = append(p.idle, c)
	if len(p.idle) == 1 && p.sweeps == nil {
		p.sweeps = time.AfterFunc(p.IdleTime, p.sweep)
	}
}

// sweep closes the connections that have been idle for too long.
func (p *Pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := slices.IndexFunc(p.idle, func(c *conn) bool { return time.Since(c.since) < p.IdleTime })
	if old < 0 {
		old = len(p.idle)
	}
	for _, c := range p.idle[:old] {
		c.Close()
	}
	p.idle = slices.Delete(p.idle, 0, old)
	p.sweeps = nil
	if len(p.idle) > 0 && !p.closed {
		p.sweeps = time.AfterFunc(min(p.IdleTime-time.Since(p.idle[0].since), p.IdleTime), p.sweep) // the clock may be set back
	}
}

// Later runs f, which Close waits for, in the background; false means that the Pool is closed.
func (p *Pool) Later(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.late.Go(f)
	}
	return !p.closed
}

// Close closes the idle connections, and the others when they become idle.
func (p *Pool) Close() {
	defer p.late.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
	if p.sweeps != nil {
		p.sweeps.Stop()
	}
}
