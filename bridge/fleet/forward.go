package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
)

// Forward lets a run of another node answer a request, as a whole or while its answer arrives. sent is false
// if that run surely has not got it, and err is a *toolformat.Error then, NotFound if that run has ended:
// nothing has been written to w, and the body not been read. Else err is why the answer was lost, or the rest of it, if
// w has got its beginning. If w cannot be written to, Forward panics with http.ErrAbortHandler, as a handler does. The end
// of the request's context cancels it. The key of a request is the id of its session, "" without one: requests of one key
// have the same headers, more or less.
func (n *Node) Forward(w http.ResponseWriter, r *http.Request, run, key string) (sent bool, err error) {
	p, failure := n.peer(r.Context(), n.owner(key, run))
	if failure != nil {
		return false, failure
	}
	x, err := p.takeFor(r, key)
	if err != nil {
		return false, n.unlinked(r.Context(), p.run, err)
	}
	stop := context.AfterFunc(r.Context(), func() { x.Close() })
	whole := false
	defer func() { // also where w panics
		if stop() && whole {
			p.put(x, key)
		} else {
			p.giveUp(x)
		}
	}()
	resp, err := x.roundTrip(r)
	if err != nil {
		return true, fmt.Errorf("node %s: the answer was lost: %w", run, err)
	}
	gone, err := copyResponse(w, resp)
	whole = err == nil && !resp.Close && x.in.Buffered() == 0
	switch {
	case gone:
		panic(http.ErrAbortHandler)
	case err != nil:
		return true, fmt.Errorf("node %s: the answer broke off: %w", run, err)
	}
	return true, nil
}

// exchange carries one request after another to another node: it is an HTTP/1.1 connection.
type exchange struct {
	net.Conn // a stream of the link, or direct
	link     *mux.Mux
	in       *bufio.Reader
	idle     time.Time // since when it waits for its next request

	out   []byte // memory of a request
	names []string
}

// oneHop are the headers of one connection, and those that appendHead writes itself.
var oneHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true,
	"Upgrade": true, "Content-Length": true, "Expect": true, "Host": true,
}

const (
	copied   = 16 << 10         // bytes that are copied at once
	takeTime = 30 * time.Second // that a client may take for them

	refusedTime = time.Second // for the answer to a request that could not be sent to its end
)

// roundTrip sends a request, and reads the head of its response.
func (x *exchange) roundTrip(r *http.Request) (*http.Response, error) {
	x.appendHead(r)
	var err error
	switch {
	case r.ContentLength < 0:
		err = x.sendChunks(r.Body)
	case r.ContentLength > 0:
		err = x.sendBody(r.Body, r.ContentLength)
	default:
		_, err = x.Write(append(x.out, "\r\n"...))
	}
	if err == nil {
		return x.readHead(r)
	}
	x.SetReadDeadline(time.Now().Add(refusedTime))
	resp, none := x.readHead(r)
	if none != nil {
		return nil, err
	}
	resp.Close = true // it was refused before all of it was sent
	return resp, nil
}

// readHead reads the head of a response.
func (x *exchange) readHead(r *http.Request) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(x.in, r)
		if err != nil || resp.StatusCode/100 != 1 { // what comes before the answer stays here
			return resp, err
		}
	}
}

// appendHead makes x.out the request line and the headers, in the same order each time.
func (x *exchange) appendHead(r *http.Request) {
	b := append(append(append(x.out[:0], r.Method...), ' '), r.URL.RequestURI()...)
	b = append(append(append(b, " HTTP/1.1\r\nHost: "...), r.Host...), "\r\n"...)
	x.names = x.names[:0]
	for name := range r.Header {
		if !oneHop[name] {
			x.names = append(x.names, name)
		}
	}
	slices.Sort(x.names)
	for _, name := range x.names {
		for _, v := range r.Header[name] {
			b = append(append(append(append(b, name...), ": "...), v...), "\r\n"...)
		}
	}
	x.out = b
}

// sendBody sends a body of a known length, with as much of it as one write may have behind the headers.
func (x *exchange) sendBody(body io.Reader, length int64) error {
	b := strconv.AppendInt(append(x.out, "Content-Length: "...), length, 10)
	b = append(b, "\r\n\r\n"...)
	first := len(b)
	b = slices.Grow(b, int(min(length, copied)))[:first+int(min(length, copied))]
	x.out = b[:0]
	if _, err := io.ReadFull(body, b[first:]); err != nil {
		return err
	}
	if _, err := x.Write(b); err != nil || length <= copied {
		return err
	}
	_, err := io.CopyN(struct{ io.Writer }{x}, body, length-copied)
	return err
}

// sendChunks sends a body of an unknown length.
func (x *exchange) sendChunks(body io.Reader) error {
	if _, err := x.Write(append(x.out, "Transfer-Encoding: chunked\r\n\r\n"...)); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(x)
	if _, err := io.Copy(chunks, body); err != nil {
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(x, "\r\n")
	return err
}

// copyResponse writes a response to a client while it arrives. gone means that the client cannot be written to.
func copyResponse(w http.ResponseWriter, resp *http.Response) (gone bool, err error) {
	defer resp.Body.Close()
	h := w.Header()
	for name, values := range resp.Header {
		if !oneHop[name] && name != "Date" {
			h[name] = values
		}
	}
	if resp.ContentLength >= 0 {
		h.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	w.WriteHeader(resp.StatusCode)
	control := http.NewResponseController(w)
	if resp.ContentLength < 0 {
		control.Flush() // a stream may begin long before its first event
	}
	b := make([]byte, min(copied, uint64(resp.ContentLength))) // of unknown length: copied
	for len(b) > 0 {
		n, err := resp.Body.Read(b)
		if n > 0 {
			control.SetWriteDeadline(time.Now().Add(takeTime))
			if _, err := w.Write(b[:n]); err != nil {
				return true, err
			}
			if resp.ContentLength < 0 {
				control.Flush()
			}
		}
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return false, nil
}
