// Package keepalive serves the plain requests of MCP clients over HTTP/1.1, one POST after the other on
// a connection that is kept alive, without what net/http does for each request. A connection goes over
// to net/http at its first request of another kind, and stays there.
package keepalive

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/nonblock"
)

// Options configure a Listener. All fields are needed.
type Options struct {
	Server *http.Server // of the other requests; its ConnContext, ErrorLog, IdleTimeout and ReadHeaderTimeout hold for all; the last three are needed

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
	conns  sync.Map // of the type *conn, all that net/http has not got
	ending atomic.Bool
}

// Listen returns a Listener for the connections of ln.
func Listen(ln net.Listener, opts Options) *Listener { return &Listener{Listener: ln, opts: opts} }

// Accept serves the connections that can close in one direction, but not those over TLS, whose requests
// say so.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		below, ok := accepted.(halfCloser)
		if _, secure := accepted.(*tls.Conn); err != nil || !ok || secure {
			return accepted, err
		}
		go l.serve(below)
	}
}

// halfCloser is a connection over TCP, or like one.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// serve answers the plain requests of a connection, and passes it to net/http at another one.
func (l *Listener) serve(below halfCloser) {
	c := &conn{halfCloser: below, stream: nonblock.Conn(below), l: l, watched: make(chan struct{}, 1)}
	c.SetReadDeadline(time.Now().Add(l.opts.Server.ReadHeaderTimeout))
	c.watch = time.AfterFunc(time.Hour, c.watchClient)
	c.watch.Stop()
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey, below.LocalAddr())
	if mark := l.opts.Server.ConnContext; mark != nil {
		ctx = mark(ctx, below)
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	l.conns.Store(c, nil)
	other := c.serve()
	c.cancel()
	c.text, c.buf, c.head = bytes.Clone(c.text), nil, header{}
	c.SetDeadline(time.Time{})
	l.conns.Delete(c)
	p := &passing{c.passed()}
	if other {
		l.opts.Server.Serve(p)
	}
	if p.conn != nil { // net/http has not got it
		c.Close()
	}
}

// passed returns the connection as net/http gets it: with all that it can do over TCP.
func (c *conn) passed() net.Conn {
	if tcp, ok := c.halfCloser.(*net.TCPConn); ok {
		return &passedTCP{tcp, c}
	}
	return c
}

type passedTCP struct {
	*net.TCPConn
	c *conn
}

func (p *passedTCP) Read(b []byte) (int, error)  { return p.c.Read(b) }
func (p *passedTCP) Write(b []byte) (int, error) { return p.c.Write(b) }

// WriteTo stands in for that of the TCPConn, which would pass over what has come.
func (p *passedTCP) WriteTo(w io.Writer) (int64, error) { return p.c.WriteTo(w) }

// passing is the listener of a connection that passes to net/http.
type passing struct{ conn net.Conn }

func (p *passing) Addr() net.Addr { return nil }
func (p *passing) Close() error   { return nil }

func (p *passing) Accept() (net.Conn, error) {
	c := p.conn
	if p.conn = nil; c == nil {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Shutdown closes the listener and the connections that net/http has not got: those without a request
// at once, and the others after their answer, or when ctx ends.
func (l *Listener) Shutdown(ctx context.Context) {
	l.ending.Store(true)
	l.Listener.Close()
	for left := true; left; time.Sleep(5 * time.Millisecond) {
		ended := ctx.Err() != nil
		left = false
		for key := range l.conns.Range {
			left = !ended
			if c := key.(*conn); ended || c.state.Load() == idle {
				c.halfCloser.Close() // first: an answer to the end of the context is not sent
				c.cancel()
			}
		}
	}
}
