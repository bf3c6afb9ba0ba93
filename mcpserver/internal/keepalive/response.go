package keepalive

import (
	"bytes"
	"cmp"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// maxHeld is how many bytes of an answer wait for its end, to be one write with its header.
const maxHeld = 2 << 10

// response is the http.ResponseWriter of a request. One goroutine at a time may use it, but for SetWriteDeadline.
type response struct {
	c      *conn
	header http.Header
	status int
	begun  bool         // the header has been sent
	length int          // of the body; negative if it is unknown, and the body sent in chunks
	sent   int          // bytes of the body
	held   []byte       // what has been written and not sent
	out    bytes.Buffer // what is to be sent before the parts that have just been written
	soon   bool         // what is not sent by the deadline is left in out
	err    error        // of the connection

	mu     sync.Mutex // guards ending
	ending bool       // SetWriteDeadline has ended what the handler writes
}

var responses = sync.Pool{New: func() any { return &response{header: http.Header{}} }}

func newResponse(c *conn) *response {
	w := responses.Get().(*response)
	clear(w.header)
	w.out.Reset()
	*w = response{c: c, header: w.header, length: -1, held: w.held[:0], out: w.out}
	return w
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) { w.status = cmp.Or(w.status, status) }

func (w *response) Write(p []byte) (int, error) { return w.WriteParts(p) }

// WriteParts writes several parts at once.
func (w *response) WriteParts(parts ...[]byte) (size int, err error) {
	for _, p := range parts {
		size += len(p)
	}
	if w.begun || len(w.held)+size > maxHeld {
		return size, w.send(size, parts)
	}
	for _, p := range parts {
		w.held = append(w.held, p...)
	}
	return size, nil
}

// WriteSoon is WriteParts for a client that is awaited no longer than d. What has not been sent by then is
// kept, and precedes what is written later; left, which remains of d, is 0 then.
func (w *response) WriteSoon(d time.Duration, parts ...[]byte) (left time.Duration, err error) {
	began := time.Now()
	w.c.SetWriteDeadline(began.Add(d))
	w.soon, w.c.writable = true, began
	_, err = w.WriteParts(parts...)
	if w.soon, w.c.writable = false, (time.Time{}); w.out.Len() == 0 {
		left = max(0, d-time.Since(began))
	}
	return left, err
}

// SetReadDeadline sets one for the rest of the body. Without any, Options.BodyTimeout holds.
func (w *response) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	w.c.readable = time.Time{}
	return w.c.SetReadDeadline(t)
}

// SetWriteDeadline sets one that is at most a tick away, which holds as long as the handler runs. Any other does nothing, as
// Options.WriteTimeout holds; without the method an http.ResponseController would make an error for each call. Any goroutine may
// call it until the handler returns.
func (w *response) SetWriteDeadline(t time.Time) error {
	if t.IsZero() || time.Until(t) > tick {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	return w.c.SetWriteDeadline(t)
}

// extend gives what is written next its time.
func (w *response) extend(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c.writable = now; !w.ending {
		w.c.SetWriteDeadline(now.Add(w.c.l.opts.WriteTimeout + tick))
	}
}

// FlushError sends what is held.
func (w *response) FlushError() error { return w.send(0, nil) }

// send sends what is held and the parts, which have that size.
func (w *response) send(size int, parts [][]byte) error {
	c, now := w.c, time.Now()
	if now.Sub(c.writable) > tick {
		w.extend(now)
	}
	if c.now.Unix() != now.Unix() {
		c.date = now.UTC().AppendFormat(c.date[:0], "Date: "+http.TimeFormat+"\r\n")
	}
	c.now = now
	if size += len(w.held); !w.begun {
		w.begin()
	}
	if w.length < 0 && size > 0 {
		w.out.WriteString(strconv.FormatInt(int64(size), 16) + "\r\n")
		parts = append(parts[:len(parts):len(parts)], []byte("\r\n"))
	}
	w.out.Write(w.held)
	w.held, w.sent = w.held[:0], w.sent+size
	switch {
	case w.err != nil:
	case len(parts) == 0:
		_, w.err = w.out.WriteTo(c)
	default:
		all := append(net.Buffers{w.out.Bytes()}, parts...)
		_, w.err = all.WriteTo(c.halfCloser)
		left := bytes.Join(all, nil)
		w.out.Reset()
		w.out.Write(left)
	}
	if w.soon && errors.Is(w.err, os.ErrDeadlineExceeded) {
		w.err = nil
	} else if w.err != nil {
		c.cancel()
	}
	return w.err
}

// begin writes the header to w.out.
func (w *response) begin() {
	w.begun = true
	if length := w.header.Get("Content-Length"); length != "" {
		if n, err := strconv.Atoi(length); err == nil {
			w.length = n
		}
	}
	delete(w.header, "Content-Length")
	body := "Transfer-Encoding: chunked"
	if w.length >= 0 {
		body = "Content-Length: " + strconv.Itoa(w.length)
	}
	status := cmp.Or(w.status, http.StatusOK)
	w.out.WriteString("HTTP/1.1 " + strconv.Itoa(status) + " " + http.StatusText(status) + "\r\n" + body + "\r\n")
	w.out.Write(w.c.date)
	w.header.Write(&w.out)
	w.out.WriteString("\r\n")
}

// end sends the rest of the answer, and reports whether the connection can have another request.
func (w *response) end() bool {
	again := w.c.left == 0 && !w.c.l.ending.Load() && w.header.Get("Connection") != "close"
	if !again {
		w.header.Set("Connection", "close")
	}
	if !w.begun {
		w.length = len(w.held)
	} else if w.length < 0 {
		w.out.WriteString("0\r\n\r\n")
	}
	if w.ending {
		w.ending, w.c.writable = false, time.Time{}
	}
	w.send(0, nil)
	return again && w.err == nil && (w.length < 0 || w.length == w.sent)
}
