package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// balancer gives each request to the next node, whichever the client has had before. It goes on to another
// one only if it has reached none: a request that was sent may have been carried out, and is never sent again.
type balancer struct {
	nodes []*url.URL
	last  atomic.Uint64
}

// newBalancer returns a proxy to nodes that answer at some addresses, HOST:PORT.
func newBalancer(addresses []string) http.Handler {
	b := new(balancer)
	for _, address := range addresses {
		b.nodes = append(b.nodes, &url.URL{Scheme: "http", Host: address})
	}
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(b.nodes[0]); r.SetXForwarded() }, // RoundTrip chooses
		Transport:     b,
		FlushInterval: -1, // events are sent on at once
	}
}

// RoundTrip implements http.RoundTripper.
func (b *balancer) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	body := io.Reader(r.Body)
	if r.ContentLength > 0 {
		// The transport looks for the end when it has sent all, and by then the first byte of the answer may have
		// closed the body.
		body = io.LimitReader(body, r.ContentLength)
	}
	if r.Body != nil {
		r.Body = io.NopCloser(body) // for the next node, if this one is not reached
	}
	for range b.nodes {
		r.URL.Host = b.nodes[b.last.Add(1)%uint64(len(b.nodes))].Host
		resp, err = http.DefaultTransport.RoundTrip(r)
		if failed := (*net.OpError)(nil); !errors.As(err, &failed) || failed.Op != "dial" {
			break
		}
	}
	return resp, err
}
