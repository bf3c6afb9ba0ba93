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
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// What a connection does.
const (
	idle     int32 = iota // it waits for a request
	handling              // it has one, which is being answered
	watching              // and its handler the whole body: watchClient is to run
)

// tick is how long a request takes until its client is watched, and by how much the limits of time may be
// exceeded: a deadline for each read and write, which net/http sets, would cost a small request more than
// the rest of its bookkeeping.
const tick = 500 * time.Millisecond

// conn is a connection whose plain requests are served. A net/http server that gets it goes on where
// that has ended.
type conn struct {
	halfCloser
	stream net.Conn // of halfCloser, by which all is read, and written but for several parts at once
	l      *Listener
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	buf  []byte // holds text
	text []byte // what has come, and has not been read
	head header // of the last request
	left int64  // how much of the body is unread
	date []byte // the header Date of now

	now                time.Time // when something was written last; zero before the first answer
	readable, writable time.Time // when the deadlines of reading and writing were set; zero for another deadline

	state   atomic.Int32
	watch   *time.Timer   // runs watchClient
	watched chan struct{} // gets a token from watchClient
}

// headerBytes bounds the header of a plain request, in bytes. There is room for a token of 2 KiB.
const headerBytes = 3 << 10

// serve answers requests until there is one for net/http, which it reports, or the connection has to close.
func (c *conn) serve() (other bool) {
	defer func() {
		c.endWatch() // a handler that panics has left it
		if v := recover(); v != nil && v != http.ErrAbortHandler {
			c.l.opts.Server.ErrorLog.Printf("http: panic serving %v: %v\n%s", c.RemoteAddr(), v, debug.Stack())
		}
	}()
	for again := !c.l.ending.Load(); again && c.await(); again = c.answer() {
		if !c.match() && !c.parse() {
			return c.now.IsZero() || c.skipEmpty()
		}
	}
	return false
}

// skipEmpty skips empty lines as net/http does after a POST, and reports whether something follows.
func (c *conn) skipEmpty() bool {
	c.SetReadDeadline(time.Now().Add(c.l.opts.Server.IdleTimeout))
	start := make([]byte, 4)
	_, err := io.ReadFull(c, start)
	c.text = append(bytes.TrimLeft(start, "\r\n"), c.text...)
	return err == nil
}

// await waits for a request, and reports whether there is one. When that takes long after an answer, it
// gives back the memory that reading requests takes.
func (c *conn) await() bool {
	c.state.Store(idle)
	if c.now.Sub(c.readable) > tick {
		c.readable = c.now
		c.SetReadDeadline(c.now.Add(c.l.opts.RestTime + tick))
	}
	if len(c.text) == 0 && errors.Is(c.fill(), os.ErrDeadlineExceeded) && !c.now.IsZero() {
		c.buf, c.text, c.head = make([]byte, 1), nil, header{}
		c.SetReadDeadline(time.Now().Add(c.l.opts.Server.IdleTimeout))
		if c.fill() == nil {
			c.fill()
		}
	}
	c.state.Store(handling)
	return len(c.text) > 0
}

// fill reads what comes next, behind what has come.
func (c *conn) fill() error {
	if len(c.text) == len(c.buf) {
		c.buf = make([]byte, headerBytes)
	}
	size := copy(c.buf, c.text)
	n, err := c.stream.Read(c.buf[size:])
	c.text = c.buf[:size+n]
	return err
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (n int, err error) {
	if len(c.text) == 0 {
		return c.stream.Read(p)
	}
	n = copy(p, c.text)
	c.text = c.text[n:]
	return n, nil
}

// Write implements io.Writer.
func (c *conn) Write(p []byte) (int, error) { return c.stream.Write(p) }

// WriteTo implements io.WriterTo.
func (c *conn) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{c}) }

// header is the header of a request. Most that follow it on a connection are the same but for the digits
// of Content-Length, and need no more than a comparison.
type header struct {
	before, after []byte // the text around the digits; nil without a request
	request       *http.Request
	handler       http.Handler
}

// match reads the header of a request if it is the same, and reports whether it is.
func (c *conn) match() bool {
	rest, same := bytes.CutPrefix(c.text, c.head.before)
	digits, _, _ := bytes.Cut(rest, []byte("\r"))
	rest, whole := bytes.CutPrefix(rest[len(digits):], c.head.after)
	n, err := strconv.ParseUint(string(digits), 10, 48)
	if same = same && whole && err == nil && c.head.handler != nil; same {
		c.text, c.left = rest, int64(n)
	}
	return same
}

// letters are those of the names of fields that every implementation understands alike.
const letters = ".-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// times is how often a request has the fields that say where it ends, or ask for more than an answer.
var times = map[string]int{"content-length": 1, "expect": 0, "host": 1, "pragma": 0, "te": 0, "trailer": 0, "transfer-encoding": 0, "upgrade": 0}

// parse reads another header, and reports whether it can. It leaves to net/http whatever
// another implementation may understand otherwise, and all that is no POST to /mcp or /mcp/p/NAME.
func (c *conn) parse() bool {
	text, _, _ := bytes.Cut(c.text, []byte("\r\n\r\n"))
	text = append(bytes.Clone(text), "\r\n\r\n"...)
	r, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(text), len(text)))
	line, fields, _ := bytes.Cut(text[:len(text)-4], []byte("\r\n"))
	name, profile := bytes.CutPrefix(line, []byte("POST /mcp/p/"))
	name, whole := bytes.CutSuffix(name, []byte(" HTTP/1.1"))
	plain := string(line) == "POST /mcp HTTP/1.1" || profile && whole && len(name) > 0 && len(bytes.Trim(name, letters[1:])) == 0
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		plain = plain && len(name) > 0 && len(bytes.Trim(name, letters)) == 0 &&
			!bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	}
	lower := bytes.ToLower(text)
	for name, n := range times {
		plain = plain && bytes.Count(lower, []byte("\n"+name+":")) == n
	}
	if err != nil || !plain || strings.Trim(r.Host, letters+":[]") != "" ||
		bytes.Count(lower, []byte("\nconnection:")) != bytes.Count(lower, []byte("\nconnection: keep-alive\r")) {
		return false
	}
	_, value, _ := bytes.Cut(lower, []byte("\ncontent-length:"))
	digits := len(text) - len(bytes.TrimLeft(value, " "))
	r.RemoteAddr = c.RemoteAddr().String()
	r = r.WithContext(c.ctx)
	c.head = header{text[:digits], bytes.TrimLeft(text[digits:], "0123456789"), r, c.l.opts.Prepare(r)}
	return c.match()
}

// maxSkipped is how much of a body that its handler has not read is awaited, and skipped for the next
// request.
const maxSkipped = 256 << 10

// answer lets the handler answer a request whose header has been read, and reports whether there may be
// another request.
func (c *conn) answer() (again bool) {
	r, w := c.head.request, newResponse(c)
	r.ContentLength, r.Body = c.left, bodyReader{c}
	if c.left > int64(len(c.text)) {
		c.readable = time.Time{}
		c.SetReadDeadline(time.Now().Add(c.l.opts.BodyTimeout))
	}
	c.head.handler.ServeHTTP(w, r)
	if c.left <= maxSkipped {
		io.Copy(io.Discard, bodyReader{c})
	}
	c.endWatch()
	again = w.end() && c.ctx.Err() == nil
	if w.out.Cap() <= 2*maxHeld {
		responses.Put(w)
	}
	if c.left > 0 && c.CloseWrite() == nil { // Close would make the client's system drop the answer
		c.SetReadDeadline(time.Now().Add(tick))
		io.Copy(io.Discard, c.halfCloser)
	}
	return again
}

// watchClient ends the context when the client leaves.
func (c *conn) watchClient() {
	c.SetReadDeadline(time.Time{})
	if c.state.Load() == watching && len(c.text) == 0 { // else endWatch has set its deadline, or will not wait
		if err := c.fill(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.cancel()
		}
	}
	c.watched <- struct{}{}
}

// endWatch ends watchClient.
func (c *conn) endWatch() {
	if c.state.Swap(handling) == watching && !c.watch.Stop() {
		c.SetReadDeadline(time.Now())
		<-c.watched
		c.readable = time.Time{}
	}
}

// bodyReader is the body of a connection's request.
type bodyReader struct{ c *conn }

func (b bodyReader) Read(p []byte) (n int, err error) {
	if b.c.left > 0 { // else the connection may be watched
		n, err = b.c.Read(p[:min(int64(len(p)), b.c.left)])
	}
	if b.c.left -= int64(n); b.c.left == 0 {
		if b.c.state.CompareAndSwap(handling, watching) {
			b.c.watch.Reset(tick)
		}
		return n, io.EOF
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b bodyReader) Close() error { return nil }
