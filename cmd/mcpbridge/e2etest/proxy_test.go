package e2etest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// reverseProxy is one as they are configured: it has the bridge below a path.
type reverseProxy struct {
	name      string
	path      string
	strips    bool // the path from what it passes on
	keepsHost bool // the Host header
}

// serve starts the proxy, which passes on to the URL that is stored.
func (p *reverseProxy) serve(t *testing.T) (base string, to *atomic.Pointer[url.URL]) {
	to = &atomic.Pointer[url.URL]{}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to.Load())
		if p.strips {
			r.Out.URL.Path, r.Out.URL.RawPath = strings.TrimPrefix(r.In.URL.Path, p.path), ""
		}
		if p.keepsHost {
			r.Out.Host = r.In.Host
		}
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		r.SetXForwarded()
	}}
	mux := http.NewServeMux()
	mux.Handle(p.path+"/", pass)
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	return web.URL + p.path, to
}

// Behind a reverse proxy every carrier works, clients are told its addresses, and the log has those of the
// clients.
func TestReverseProxy(t *testing.T) {
	const token = "0123456789abcdef"
	for _, p := range []reverseProxy{
		{name: "at the root"},
		{name: "strips its path", path: "/bridge", strips: true},
		{name: "keeps its path", path: "/bridge", keepsHost: true},
		{name: "strips a longer path", path: "/a/b", strips: true, keepsHost: true},
	} {
		t.Run(p.name, func(t *testing.T) {
			base, to := p.serve(t)
			log := &lockedBuffer{}
			f := newFrontWith(t, sourcetest.NewFake(), mcpserver.Options{
				Log: slog.New(slog.NewTextHandler(log, nil)),
				Access: mcpserver.Access{
					Tokens: map[string]string{"ann": token}, PublicURL: base, Resource: &mcpserver.Resource{Issuers: []string{"https://id.example"}},
					Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
				},
			})
			at, _ := url.Parse(f.web.URL)
			to.Store(at)
			for carrier, dial := range map[string]dialer{
				"http": func(testing.TB, *front) *peer.Client {
					return peer.HTTP(context.Background(), base+"/mcp", bearer(token))
				},
				"sse": func(t testing.TB, _ *front) *peer.Client {
					return must(t)(peer.DialSSE(context.Background(), base+"/sse", bearer(token)))
				},
				"sse of a profile": func(t testing.TB, _ *front) *peer.Client {
					return must(t)(peer.DialSSE(context.Background(), base+"/sse/p/a-b", bearer(token)))
				},
				"ws": func(t testing.TB, _ *front) *peer.Client {
					return must(t)(peer.DialWS(context.Background(), base+"/ws", bearer(token)))
				},
			} {
				c := newCaller(t, f, dial, false, "{}")
				if got := c.result(c.request("tools/list", "", "")); !strings.Contains(got, `"name"`) {
					t.Errorf("over %s: %s", carrier, got)
				}
			}
			for _, path := range []string{"/mcp", "/sse", "/ws"} {
				if resource := resourceOf(t, base+path); resource != base+path {
					t.Errorf("the resource of %s is %s", base+path, resource)
				}
			}
			if got := log.String(); !strings.Contains(got, " address=198.51.100.1 ") || strings.Contains(got, "address=127.0.0.1") {
				t.Errorf("the log has not the address of the client: %s", got)
			}
		})
	}
}

// resourceOf returns the resource that a client without a token is told of, as it follows the challenge.
func resourceOf(t *testing.T, address string) string {
	t.Helper()
	resp, err := peer.Do(t.Context(), http.DefaultClient, http.MethodPost, address, []byte("{}"), http.Header{"X-Forwarded-For": {"203.0.113.9, 198.51.100.1"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	_, rest, _ := strings.Cut(resp.Header.Get("WWW-Authenticate"), `resource_metadata="`)
	metadata, _, _ := strings.Cut(rest, `"`)
	if resp.StatusCode != http.StatusUnauthorized || metadata == "" {
		t.Fatalf("%s: %s %v", address, resp.Status, resp.Header)
	}
	if resp, err = http.Get(metadata); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var document struct{ Resource string }
	if err := json.NewDecoder(resp.Body).Decode(&document); err != nil {
		t.Fatalf("%s: %s %v", metadata, resp.Status, err)
	}
	return document.Resource
}
