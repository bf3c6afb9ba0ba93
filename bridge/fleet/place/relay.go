package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A relay carries out the requests that other nodes make of a server which this one offers.
type relay struct {
	listener
	server *http.Server
	proxy  *httputil.ReverseProxy
	calls  gate
}

// newRelay returns a relay that ends with ctx, to be served.
func newRelay(ctx context.Context, own Way) *relay {
	r, silent := &relay{}, log.New(io.Discard, "", 0)
	r.listen(ctx)
	r.server = &http.Server{Handler: r, ErrorLog: silent}
	r.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = "http", "lent", p.In.Host
			if p.Out.ContentLength > 0 {
				p.Out.Body = &sized{io.LimitReader(p.Out.Body, p.Out.ContentLength), p.Out.Body}
			}
		},
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dial, _, err := own()
			if err != nil {
				return nil, &net.OpError{Op: "dial", Net: "lent", Err: err}
			}
			return dial(ctx)
		}},
		FlushInterval: -1, ErrorLog: silent,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if failed := (*net.OpError)(nil); errors.As(err, &failed) && failed.Op == "dial" {
				refuse(w, "the node to which it is lent cannot reach it: try again")
				return
			}
			panic(http.ErrAbortHandler) // it may have run
		},
	}
	return r
}

// sized is a body of which it is known where it ends. The transport looks for that end when it has sent all, and gives
// the connection up if it cannot: net/http closes the body of a request with the first byte of its answer, which may
// have come by then.
type sized struct {
	io.Reader
	io.Closer
}

// serve serves the connections that are handed over.
func (r *relay) serve() {
	defer context.AfterFunc(r.ctx, func() { r.server.Close() })()
	defer r.proxy.Transport.(*http.Transport).CloseIdleConnections()
	r.server.Serve(r)
}

// refuse answers a call that has not reached the server.
func refuse(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":%q,"data":{"code":"unavailable","notRun":true}}}`, message)
}

// ServeHTTP implements http.Handler. It counts POSTs as calls, except for those that listen: like a GET, these last
// as long as the client is connected. Once the relay leaves, no call may begin, but answers and notifications pass,
// as a call that is under way may need them to end.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost && req.Header.Get(mcp.HeaderMethod) != wire.MethodListen {
		switch {
		case r.calls.enter():
			defer r.calls.leave()
		case isCall(req):
			refuse(w, "the node to which it is lent is about to end: try again")
			return
		}
	}
	r.proxy.ServeHTTP(w, req)
}

// maxAnswer bounds the message of a POST that may pass while the relay leaves, in bytes.
const maxAnswer = 64 << 20

// isCall reports whether the body of a POST is not an answer or a notification. It can be read again.
func isCall(req *http.Request) bool {
	body, _ := io.ReadAll(io.LimitReader(req.Body, maxAnswer)) // Split refuses a part of a message
	req.Body = io.NopCloser(bytes.NewReader(body))
	m, err := wire.Split(body)
	return err != nil || m.Kind() == wire.Request
}

// leave refuses new calls, and waits until none is under way or ctx ends.
func (r *relay) leave(ctx context.Context) {
	select {
	case <-r.calls.close():
	case <-ctx.Done():
	}
}
