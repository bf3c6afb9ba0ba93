package place

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
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
		},
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100, IdleConnTimeout: time.Minute, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dial, _, err := own()
			if err != nil {
				return nil, err
			}
			return dial(ctx)
		}},
		FlushInterval: -1, ErrorLog: silent,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // it may have run
	}
	return r
}

// serve serves the connections that are handed over.
func (r *relay) serve() {
	defer context.AfterFunc(r.ctx, func() { r.server.Close() })()
	defer r.proxy.Transport.(*http.Transport).CloseIdleConnections()
	r.server.Serve(r)
}

// leavingReply answers a call that surely has not run.
const leavingReply = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the node to which it is lent is about to end: try again","data":{"code":"unavailable","notRun":true}}}`

// ServeHTTP implements http.Handler. A call is a POST: other requests last as long as their clients want.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		if !r.calls.enter() {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, leavingReply)
			return
		}
		defer r.calls.leave()
	}
	r.proxy.ServeHTTP(w, req)
}

// leave refuses new calls, and waits until none is under way or ctx ends.
func (r *relay) leave(ctx context.Context) {
	select {
	case <-r.calls.close():
	case <-ctx.Done():
	}
}
