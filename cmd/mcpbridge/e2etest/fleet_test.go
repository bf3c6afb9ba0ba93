package e2etest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A source behind several nodes and a balancer that never sticks keeps the contract.
func TestFleet(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(url string) mcpclient.Config
	}{
		{"http", func(url string) mcpclient.Config { return mcpclient.Config{URL: url + "/mcp"} }},
		{"sse", func(url string) mcpclient.Config {
			return mcpclient.Config{URL: url + "/sse", Transport: mcpclient.SSE}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
				return dial(t, c.config(balance(t, nodes(t, 3, sourcetest.NewFake()))))
			})
		})
	}
}

// nodes serves a source by several nodes of a fleet and returns their URLs.
func nodes(t testing.TB, n int, source bridge.Source) (urls []string) {
	keys, err := fleet.NewKeys([]string{"a secret of thirty-two bytes at least"})
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string, epoch uint64) (string, *toolformat.Error) {
		var i int
		if _, err := fmt.Sscanf(name, "node%d", &i); err != nil || epoch != 1 {
			return "", toolformat.Errorf(toolformat.NotFound, "no node %s", name)
		}
		return urls[i], nil
	}
	listeners := make([]net.Listener, n)
	for i := range listeners {
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, "http://"+listeners[i].Addr().String())
	}
	for i, ln := range listeners {
		node := fleet.New(fleet.Options{Keys: keys, Name: fmt.Sprintf("node%d", i), Epoch: 1, Find: find})
		server := mcpserver.New(source, mcpserver.Options{Nodes: node})
		ctx, end := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, ln) }()
		t.Cleanup(func() {
			end()
			if err := <-served; err != nil {
				t.Error(err)
			}
			node.Close()
		})
	}
	return urls
}

// balance returns the URL of a proxy that gives each request to the next of several servers.
func balance(t testing.TB, urls []string) string {
	var last atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		target, _ := url.Parse(urls[last.Add(1)%int64(len(urls))])
		r.SetURL(target)
	}}
	web := httptest.NewServer(proxy)
	t.Cleanup(web.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return web.URL
}
