package h1

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxHead bounds the headers of a response, as http.Transport does.
const maxHead = 10 << 20

// LateTime bounds the wait for what is left of an exchange after its response has been read: the
// rest of the request, which a server may answer before it has read it, or the end of a stream, of
// which LateBytes may be left.
const (
	LateTime  = 50 * time.Millisecond
	LateBytes = 16 << 10
)

// readers holds buffers, which are used only while a response is received.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 8<<10) }}

// exchange is a request and its response, of which it is the body.
type exchange struct {
	pool *Pool
	ctx  context.Context
	conn *conn
	stop func() bool // ends the watch over ctx; false means that ctx has ended

	parts   net.Buffers  // of the request
	head    *wire.Buffer // the first part, with a short body; nil once the request has been written
	msg     *wire.Buffer // memory of the other parts
	failed  error        // why it could not be written
	written chan error   // gets the outcome of writing what was not written at once; nil if nothing

	in   *bufio.Reader // of conn
	resp http.Response
	body io.Reader // reads the rest of the body for net/http; nil means that it is the next left bytes
	left int64
	end  error // what Read returns when conn is no longer used
}

// write writes the request: what the system takes at once, and the rest while the response is
// awaited. It returns false if nothing can be written.
func (x *exchange) write() bool {
	parts := x.parts
	n, err := x.conn.stream.WriteNow(parts)
	if err != nil && n == 0 {
		x.failed = err
		return false
	}
	for ; len(parts) > 0 && n >= len(parts[0]); parts = parts[1:] {
		n -= len(parts[0])
	}
	if x.failed = err; err != nil || len(parts) == 0 {
		x.free()
		return true
	}
	parts[0] = parts[0][n:]
	x.written = make(chan error, 1)
	go func() {
		_, err := parts.WriteTo(x.conn.Conn)
		x.free()
		x.written <- err
	}()
	return true
}

// free frees the request.
func (x *exchange) free() {
	x.head.Free()
	x.msg.Free()
	x.head, x.msg = nil, nil
}

// receive reads the head of the response.
func (x *exchange) receive(known *atomic.Pointer[shape]) (*http.Response, error) {
	if x.written == nil && x.head != nil {
		x.free()
	}
	x.in = readers.Get().(*bufio.Reader)
	x.in.Reset(x.conn)
	x.conn.limit = maxHead
	if err := x.readHead(known); err != nil {
		switch {
		case x.ctx.Err() != nil:
			err = context.Cause(x.ctx)
		case x.failed != nil:
			err = x.failed
		}
		x.finish(err)
		return nil, err
	}
	x.conn.limit = math.MaxInt64
	if x.resp.Body = x; x.body == http.NoBody {
		x.finish(io.EOF)
	}
	return &x.resp, nil
}

func (x *exchange) readHead(known *atomic.Pointer[shape]) error {
	if _, err := x.in.Peek(1); err != nil {
		return err
	}
	if s := known.Load(); s != nil {
		b, _ := x.in.Peek(x.in.Buffered())
		if head, length := s.match(b); head > 0 {
			x.in.Discard(head)
			x.resp, x.left, x.resp.ContentLength = s.resp, length, length
			if length == 0 {
				x.body = http.NoBody
			}
			return nil
		}
	}
	for {
		b, _ := x.in.Peek(x.in.Buffered())
		limit := x.conn.limit
		resp, err := http.ReadResponse(x.in, nil)
		switch {
		case err != nil:
			return err
		case resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols:
			continue
		case resp.StatusCode < 200:
			resp.Close = true
		}
		if x.conn.limit == limit { // nothing was read, so that b is still what it was
			if s := learn(b[:len(b)-x.in.Buffered()], resp); s != nil {
				known.Store(s)
			}
		}
		x.resp, x.body = *resp, resp.Body
		return nil
	}
}

// Read implements io.Reader.
func (x *exchange) Read(p []byte) (n int, err error) {
	switch {
	case x.end != nil:
		return 0, x.end
	case x.body != nil:
		n, err = x.body.Read(p)
	default:
		n, err = x.in.Read(p[:min(int64(len(p)), x.left)])
		x.left -= int64(n)
		switch {
		case x.left == 0:
			err = io.EOF
		case err == io.EOF:
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		if err != io.EOF && x.ctx.Err() != nil {
			err = context.Cause(x.ctx)
		}
		x.finish(err)
	}
	return n, err
}

// Close implements io.Closer. The end of a stream comes after its last event, often just too late for
// who has read that: it is awaited in the background.
func (x *exchange) Close() error {
	switch {
	case x.end != nil:
	case x.body != nil && !x.resp.Close && x.written == nil && x.stop() && x.pool.Later(x.drain):
		x.end = http.ErrBodyReadAfterClose
	default:
		x.finish(http.ErrBodyReadAfterClose)
	}
	return nil
}

// drain reads the rest of a response that has been closed.
func (x *exchange) drain() {
	x.conn.SetReadDeadline(time.Now().Add(LateTime))
	_, err := io.CopyN(io.Discard, x.body, LateBytes)
	x.conn.SetReadDeadline(time.Time{})
	x.release(err == io.EOF)
}

// finish ends the exchange.
func (x *exchange) finish(end error) {
	x.end = end
	x.release(x.stop() && end == io.EOF)
}

// release ends the use of the connection, which is kept if all of the response, and nothing else,
// has been received.
func (x *exchange) release(whole bool) {
	keep := whole && !x.resp.Close && !x.conn.eof && x.in.Buffered() == 0 && x.failed == nil
	if x.written != nil {
		keep = x.awaitWritten(keep)
	}
	x.in.Reset(nil)
	readers.Put(x.in)
	x.in, x.body = nil, nil
	if keep {
		x.pool.put(x.conn)
	} else {
		x.conn.Close()
	}
}

// awaitWritten waits until the request is written. It closes the connection if that takes too
// long, or at once if it is not to be kept, and reports whether it is still of use.
func (x *exchange) awaitWritten(keep bool) bool {
	late := time.NewTimer(LateTime)
	defer late.Stop()
	if keep {
		select {
		case err := <-x.written:
			return err == nil
		case <-late.C:
		}
	}
	x.conn.Close()
	<-x.written
	return false
}
