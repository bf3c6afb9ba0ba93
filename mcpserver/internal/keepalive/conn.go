package keepalive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What a connection does.
const (
	idle     uint64 = iota // it waits for a request
	body                   // it has one, of which its handler has not read the whole body yet
	handling               // its handler has
	writing                // it writes a part of the answer

	doing   = 3  // the bits of the above in conn.state
	watched = 4  // watchClient has begun, and endWatch is to end it
	resting = 8  // sweep has interrupted the wait for a request, and endRest is to end that
	step    = 16 // is added with each change, so that sweep sees that there was one
)

// conn is a connection whose plain requests are served.
type conn struct {
	*net.TCPConn
	l      *Listener
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	in    *bufio.Reader // nil while it rests
	first []byte        // the byte that ended its rest, before in has read it
	head  header        // of the last request
	left  int64         // how much of the body is unread

	state  atomic.Uint64 // what it does
	seen   uint64        // the state that sweep saw last
	since  time.Time     // when it saw that state first
	rested bool          // sweep has interrupted the wait in that state
	watch  chan struct{} // closed when watchClient has ended
}

// serve answers requests until there is one for net/http, which it reports, or the connection has to close.
func (c *conn) serve() (other bool) {
	defer func() {
		c.endWatch() // a handler that panics has left it
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			c.l.opts.Server.ErrorLog.Printf("http: panic serving %v: %v\n%s", c.RemoteAddr(), v, debug.Stack())
		}
	}()
	for again := !c.l.ending.Load(); again; again = c.answer() {
		posted := c.state.Load() >= step
		if !c.await() {
			return false
		}
		text, _ := c.in.Peek(c.in.Buffered())
		size, length := c.head.match(text)
		if size == 0 {
			size, length = c.parse(text)
		}
		if size == 0 && posted { // net/http skips empty lines after a POST
			start, err := c.in.Peek(4)
			c.in.Discard(len(start) - len(bytes.TrimLeft(start, "\r\n")))
			return err == nil
		}
		if c.left = length; size == 0 {
			return true
		}
		c.in.Discard(size)
	}
	return false
}

// await waits for a request, and reports whether there is one.
func (c *conn) await() bool {
	if c.in.Peek(1); c.in.Buffered() == 0 && c.state.Load()&resting != 0 {
		c.rest()
	}
	if c.in.Buffered() == 0 {
		return false
	}
	if c.enter(body); c.state.Load()&resting != 0 {
		c.endRest()
	}
	return true
}

// readers are those of connections that rest.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headerBytes) }}

// rest waits for a request without the memory that reading one takes.
func (c *conn) rest() {
	c.endRest()
	readers.Put(c.in)
	c.in, c.head, c.first = nil, header{}, make([]byte, 1)
	if n, _ := c.TCPConn.Read(c.first); n == 0 {
		c.first = nil
	}
	c.in = readers.Get().(*bufio.Reader)
	c.in.Reset(c)
	c.in.Peek(1)
}

// endRest undoes what sweep has done to interrupt the wait.
func (c *conn) endRest() {
	c.l.mu.Lock() // sweep has done it
	defer c.l.mu.Unlock()
	c.SetReadDeadline(time.Time{})
	c.state.And(^uint64(resting))
	c.seen &^= resting
}

// Read reads the byte that ended the rest, and what has come with it.
func (c *conn) Read(p []byte) (n int, err error) {
	if c.first == nil {
		return c.TCPConn.Read(p)
	}
	n = copy(p, c.first)
	c.first = nil
	more, _ := c.TCPConn.Read(p[n:]) // the next Read has the error
	return n + more, nil
}

// header is the header of a request. Most that follow it on a connection are the same but for the digits
// of Content-Length, and need no more than a comparison.
type header struct {
	before, after []byte // the text around the digits; nil without a request
	request       *http.Request
	handler       http.Handler
}

// match returns the size of the header that text begins with, and the length of its body; a size of 0
// means that it is another header.
func (h *header) match(text []byte) (size int, length int64) {
	rest, same := bytes.CutPrefix(text, h.before)
	for same && size < min(len(rest), 15) && '0' <= rest[size] && rest[size] <= '9' {
		length = 10*length + int64(rest[size]-'0')
		size++
	}
	if size == 0 || h.before == nil || !bytes.HasPrefix(rest[size:], h.after) {
		return 0, 0
	}
	return len(h.before) + size + len(h.after), length
}

// letters are those of the names of fields that every implementation understands alike.
const letters = "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// times is how often a request has the fields that say where it ends, or ask for more than an answer.
var times = map[string]int{"content-length": 1, "expect": 0, "host": 1, "pragma": 0, "te": 0, "trailer": 0, "transfer-encoding": 0, "upgrade": 0}

// cutLine cuts the first line off a request; ok is false if it is not that of a POST to /mcp or /mcp/p/NAME.
func cutLine(text []byte) (rest []byte, ok bool) {
	rest, post := bytes.CutPrefix(text, []byte("POST /mcp"))
	if name, profile := bytes.CutPrefix(rest, []byte("/p/")); profile {
		rest = bytes.TrimLeft(name, strings.Trim(letters, "."))
		post = post && len(rest) < len(name)
	}
	rest, ok = bytes.CutPrefix(rest, []byte(" HTTP/1.1\r\n"))
	return rest, ok && post
}

// parse makes the header that text begins with c.head, and returns what match does. It leaves to net/http
// whatever another implementation may understand otherwise.
func (c *conn) parse(text []byte) (size int, length int64) {
	fields, plain := cutLine(text)
	fields, rest, _ := bytes.Cut(fields, []byte("\r\n\r\n"))
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		plain = plain && len(name) > 0 && len(bytes.Trim(name, letters)) == 0 &&
			!bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	}
	text = bytes.Clone(text[:len(text)-len(rest)])
	lower := bytes.ToLower(text)
	for name, n := range times {
		plain = plain && bytes.Count(lower, []byte("\n"+name+":")) == n
	}
	r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(text), len(text)))
	if err != nil || !plain || len(bytes.Trim([]byte(r.Host), letters+":[]")) > 0 ||
		bytes.Count(lower, []byte("\nconnection:")) != bytes.Count(lower, []byte("\nconnection: keep-alive\r")) {
		return 0, 0
	}
	_, value, _ := bytes.Cut(lower, []byte("\ncontent-length:"))
	digits := len(text) - len(bytes.TrimLeft(value, " "))
	r.RemoteAddr = c.RemoteAddr().String()
	r = r.WithContext(c.ctx)
	c.head = header{text[:digits], bytes.TrimLeft(text[digits:], "0123456789"), r, c.l.opts.Prepare(r)}
	return c.head.match(text)
}

// maxSkipped is how much of a body that its handler has not read is awaited, and skipped for the next
// request.
const maxSkipped = 256 << 10

// answer lets the handler answer a request whose header has been read, and reports whether there may be
// another request.
func (c *conn) answer() (again bool) {
	r, w := c.head.request, newResponse(c)
	r.ContentLength, r.Body = c.left, bodyReader{c}
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
	state, o, idleTime := c.state.Load(), &c.l.opts, c.l.opts.Server.IdleTimeout
	since := now.Sub(c.since)
	switch is := state & doing; {
	case state != c.seen:
		c.seen, c.since, c.rested = state, now, false
	case is == idle && since >= idleTime, is == writing && since >= o.WriteTimeout:
		c.TCPConn.Close()
	case is == idle && (c.rested || state < step): // before the first request nothing is to be gained
		return max(tick, idleTime-since)
	case is == idle && since < o.RestTime:
		return max(tick, o.RestTime-since)
	case is == idle:
		c.rested, c.seen = true, state|resting
		if c.state.CompareAndSwap(state, c.seen) {
			c.SetReadDeadline(now)
		}
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
