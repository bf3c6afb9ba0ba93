package h1

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Route is where requests go, with the headers that most of them have. All functions may be
// called from many goroutines.
type Route struct {
	pool  *Pool
	url   *url.URL
	addr  string
	post  []byte                // the head of a POST, without its length
	shape atomic.Pointer[shape] // of the latest response that had one
}

// Route returns the way to a URL with the scheme http and a host in ASCII. header has the headers
// of requests that state none.
func (p *Pool) Route(u *url.URL, header http.Header) *Route {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	r := &Route{pool: p, url: u, addr: net.JoinHostPort(u.Hostname(), port)}
	r.post = r.head(http.MethodPost, header)
	return r
}

// head returns the head of a request as net/http writes it, without the length of its body and the
// line that ends it.
func (r *Route) head(method string, header http.Header) []byte {
	var b bytes.Buffer
	req := &http.Request{Method: method, URL: r.url, Host: r.url.Host, Header: header}
	req.Write(&b) // cannot fail: net/http has sent a request to this host
	head := bytes.TrimSuffix(b.Bytes(), []byte("\r\n"))
	return bytes.Replace(head, []byte("\r\nContent-Length: 0\r\n"), []byte("\r\n"), 1)
}

// Send sends a request and returns its response. msg is its body, which Send then owns, nil for
// none; header its headers, nil for those of the route. A body that lies in several places is parts,
// which are not read any more when Send has failed or the response's Body is closed; msg is the memory
// of those that Send shall own. When ctx ends the connection is closed.
//
// The response's Header may be shared: it must not be changed. Its Body must be closed, and is not
// safe for concurrent use. An error does not tell whether the server has received the request,
// unless it is that of Dial.
func (r *Route) Send(ctx context.Context, method string, header http.Header, msg *wire.Buffer, parts ...[]byte) (*http.Response, error) {
	head := r.post
	if header != nil || method != http.MethodPost {
		if err := validate(header); err != nil {
			msg.Free()
			return nil, err
		}
		head = r.head(method, header)
	}
	x := &exchange{pool: r.pool, ctx: ctx}
	x.encode(head, msg, parts)
	for {
		var err error
		if x.conn, err = r.pool.get(ctx, r.addr); err != nil {
			x.free()
			return nil, err
		}
		x.stop = scope.AfterFunc(ctx, x.conn.abort)
		if x.write() || x.conn.since.IsZero() || !x.stop() {
			return x.receive(&r.shape)
		}
		x.conn.Close() // by the server, since get has looked at it
	}
}

// validate refuses headers that net/http refuses.
func validate(header http.Header) error {
	for key, values := range header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("invalid value of the header %s", key)
			}
		}
	}
	return nil
}

// copied is the size up to which a body is copied behind its head, to leave with it.
const copied = 16 << 10

// encode makes the bytes of the request.
func (x *exchange) encode(head []byte, msg *wire.Buffer, parts [][]byte) {
	size := 0
	if msg != nil && parts == nil {
		parts = [][]byte{msg.B}
	}
	for _, part := range parts {
		size += len(part)
	}
	x.head, x.msg = wire.NewBuffer(len(head)+64+min(size, copied)), msg
	x.head.B = append(x.head.B, head...)
	if msg != nil {
		x.head.B = append(x.head.B, "Content-Length: "...)
		x.head.B = append(strconv.AppendInt(x.head.B, int64(size), 10), "\r\n"...)
	}
	x.head.B = append(x.head.B, "\r\n"...)
	if size <= copied {
		for _, part := range parts {
			x.head.B = append(x.head.B, part...)
		}
		parts = nil
	}
	x.parts = append(net.Buffers{x.head.B}, parts...)
}
