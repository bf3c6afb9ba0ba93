package keepalive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// What a connection does.
const (
	idle     uint64 = iota // it waits for a request
	body                   // its handler has not read the whole body yet
	handling               // its handler has
	writing                // it writes a part of the answer

	doing   = 3 // the bits of the above in conn.state
	watched = 4 // watchClient has begun, and endWatch is to end it
	step    = 8 // is added with each change, so that sweep sees that there was one
)

// conn is a connection that serves plain requests until it has passed to net/http.
type conn struct {
	*net.TCPConn
	l      *Listener
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	in     *bufio.Reader // nil when it is empty and net/http reads
	head   header        // of the last request
	passed bool          // net/http has the connection
	left   int64         // how much of the body is unread

	state atomic.Uint64 // what it does
	seen  uint64        // the state that sweep saw last
	since time.Time     // when it saw that state first
	watch chan struct{} // closed when watchClient has ended
}

// Read implements net.Conn for net/http: it serves plain requests before it returns anything.
func (c *conn) Read(p []byte) (int, error) {
	if !c.passed {
		c.SetReadDeadline(time.Time{}) // net/http expects a request from now on
		if err := c.serve(); err != nil {
			return 0, err
		}
		c.passed = true
		c.l.forget(c)
		c.SetReadDeadline(time.Now().Add(c.l.opts.HeadTimeout))
	}
	if c.in != nil && c.in.Buffered() > 0 {
		return c.in.Read(p)
	}
	c.in = nil
	return c.TCPConn.Read(p)
}

// WriteTo stands in for that of TCPConn, which would pass over Read.
func (c *conn) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{c}) }

func (c *conn) Close() error {
	c.cancel()
	c.l.forget(c)
	return c.TCPConn.Close()
}

// serve answers requests until there is one for net/http, or the connection has to close for the
// reason that it returns.
func (c *conn) serve() error {
	for {
		if _, err := c.in.Peek(1); c.in.Buffered() == 0 {
			return err
		}
		text, _ := c.in.Peek(c.in.Buffered())
		size, length := c.head.match(text)
		if size == 0 {
			size, length = c.parse(text)
		}
		if size == 0 && c.head.request == nil {
			return nil
		} else if size == 0 { // net/http skips empty lines after a POST
			start, err := c.in.Peek(4)
			c.in.Discard(len(start) - len(bytes.TrimLeft(start, "\r\n")))
			return err
		}
		if c.in.Discard(size); !c.answer(length) {
			return io.EOF
		}
	}
}

// maxSkipped is how much of a body that its handler has not read is awaited, and skipped for the next
// request.
const maxSkipped = 256 << 10

// answer lets the handler answer a request whose header has been read, and reports whether there may be
// another request.
func (c *conn) answer(length int64) (again bool) {
	r, w := c.head.request, newResponse(c)
	c.left, r.ContentLength, r.Body = length, length, bodyReader{c}
	c.enter(body)
	c.head.handler.ServeHTTP(w, r)
	if c.left <= maxSkipped {
		io.Copy(io.Discard, bodyReader{c})
	}
	c.endWatch()
	again = w.end() && c.ctx.Err() == nil
	responses.Put(w)
	if c.left > 0 && c.CloseWrite() == nil { // Close would make the client's system drop the answer
		c.SetReadDeadline(time.Now().Add(tick))
		io.Copy(io.Discard, c.TCPConn)
	}
	c.enter(idle)
	return again
}

// enter changes what the connection does, and returns what it did before.
func (c *conn) enter(next uint64) (before uint64) {
	before = c.state.Load() & doing
	c.state.Add(step + next - before)
	if before == idle {
		c.l.wake()
	}
	return before
}

// check enforces the limits of time, and returns when it wants to be called again. The listener's mu is
// held.
func (c *conn) check(now time.Time) time.Duration {
	state, o := c.state.Load(), &c.l.opts
	if state != c.seen {
		c.seen, c.since = state, now
		return tick
	}
	since := now.Sub(c.since)
	switch is := state & doing; {
	case is == idle && since < o.IdleTimeout:
		return max(tick, o.IdleTimeout-since)
	case is == idle, is == writing && since >= o.WriteTimeout:
		c.TCPConn.Close()
	case state&watched == 0 && (is == handling || is == body && since >= o.BodyTimeout):
		c.watch = make(chan struct{}) // before endWatch can see that it is needed
		if c.seen = state | watched; c.state.CompareAndSwap(state, c.seen) {
			go c.watchClient(is)
		}
	}
	return tick
}

// watchClient ends the body that takes too long or, after a body, the context when the client leaves.
func (c *conn) watchClient(is uint64) {
	defer close(c.watch)
	if is == body {
		c.SetReadDeadline(time.Now()) // the handler explains it to the client
	} else if _, err := c.in.Peek(1); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.cancel()
	}
}

// endWatch ends watchClient and what that has done.
func (c *conn) endWatch() {
	c.enter(writing)
	if c.state.Load()&watched != 0 {
		c.SetReadDeadline(time.Now())
		<-c.watch
		c.SetReadDeadline(time.Time{})
		c.state.And(^uint64(watched))
	}
}

// bodyReader is the body of a connection's request.
type bodyReader struct{ c *conn }

func (b bodyReader) Read(p []byte) (n int, err error) {
	if b.c.left > 0 { // else the connection may be watched
		n, err = b.c.in.Read(p[:min(int64(len(p)), b.c.left)])
	}
	if b.c.left -= int64(n); b.c.left == 0 {
		b.c.enter(handling)
		return n, io.EOF
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b bodyReader) Close() error { return nil }
