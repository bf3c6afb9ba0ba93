package mcpclient_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// twoPorts is a host with a port for http and one for https, which clients reach as example.com.
type twoPorts struct {
	plain, secure  *httptest.Server
	plainRequests  atomic.Int64 // those that have the header X-Secret
	secureRequests atomic.Int64
}

// newTwoPorts serves a script on both ports. moved returns where a request is redirected to, "" if
// it is not.
func newTwoPorts(t *testing.T, moved func(*url.URL) string) *twoPorts {
	script, _ := url.Parse(newScript().Serve(t, nil))
	proxy := httputil.NewSingleHostReverseProxy(script)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	two := &twoPorts{}
	handler := func(scheme string, secrets *atomic.Int64) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Secret") != "" {
				secrets.Add(1)
			}
			asked := *r.URL
			asked.Scheme, asked.Host = scheme, r.Host
			if to := moved(&asked); to != "" {
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
				return
			}
			r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
			proxy.ServeHTTP(w, r)
		})
	}
	two.plain = httptest.NewServer(handler("http", &two.plainRequests))
	two.secure = httptest.NewUnstartedServer(handler("https", &two.secureRequests))
	two.secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	two.secure.StartTLS()
	for _, server := range []*httptest.Server{two.plain, two.secure} {
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
	}
	return two
}

// open opens a session at a URL of example.com, or of a host below it.
func (two *twoPorts) open(t *testing.T, at string, transport mcpclient.Transport) (c *caller, logged *logBuffer) {
	logged = &logBuffer{}
	roots := x509.NewCertPool()
	roots.AddCert(two.secure.Certificate())
	c = &caller{T: t, client: mcpclient.New(mcpclient.Config{
		Name: "up", URL: at, Transport: transport, Headers: map[string]string{"X-Secret": "s"}, Roots: roots,
		Log: slog.New(slog.NewTextHandler(logged, nil)),
	})}
	t.Cleanup(func() { c.client.Close() })
	c.client.DialThrough(func(ctx context.Context, network, addr string) (net.Conn, error) {
		server := two.plain
		if strings.HasSuffix(addr, ":443") {
			server = two.secure
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	})
	c.session = c.also(bridge.Caller{ID: t.Name()}).session
	return c, logged
}

// logBuffer is a log that a test reads.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestRedirects: a redirect is followed within an origin and from http to https, with a warning,
// and nowhere else: the headers of a config may be secret.
func TestRedirects(t *testing.T) {
	for _, x := range []struct {
		name, from, to string
		want           string // in the error; "" means that calls work
	}{
		{"to another path", "https://example.com/mcp", "https://Example.com:443/mcp/", ""},
		{"to https", "http://example.com/mcp", "https://example.com/mcp", ""},
		{"to http", "https://example.com/mcp", "http://example.com/mcp", "unencrypted"},
		{"to http with a port", "https://example.com/mcp", "http://example.com:443/mcp", "unencrypted"},
		{"to another host", "https://example.com/mcp", "https://a.example.com/mcp", "another origin"},
		{"to another port", "http://example.com/mcp", "http://example.com:8080/mcp", "another origin"},
		{"to https on another host", "http://example.com/mcp", "https://a.example.com/mcp", "another origin"},
		{"without an end", "https://example.com/mcp", "https://example.com/mcp", "too many"},
	} {
		for _, transport := range []mcpclient.Transport{mcpclient.HTTP, mcpclient.SSE} {
			t.Run(x.name+" over "+string(transport), func(t *testing.T) {
				sourcetest.NoLeaks(t)
				path := func(at string) string { return strings.Replace(at, "/mcp", "/"+pathOf(transport), 1) }
				two := newTwoPorts(t, func(asked *url.URL) string {
					if asked.String() == path(x.from) {
						return path(x.to)
					}
					return ""
				})
				c, logged := two.open(t, path(x.from), transport)
				if x.want == "" {
					c.works("ok")
					if !strings.Contains(logged.String(), "url="+path(x.to)) {
						t.Errorf("the new URL is not in the log: %s", logged)
					}
				} else {
					c.unavailable(x.want)
				}
				if n := two.plainRequests.Load(); strings.HasPrefix(x.from, "https") && n > 0 || n > 1 && x.want == "" {
					t.Errorf("%d requests had the secret and no encryption", n)
				}
			})
		}
	}
}

// TestRedirectedToGet: a redirect that makes a GET of a POST is for servers of the legacy SSE transport; of others the
// error says where they are.
func TestRedirectedToGet(t *testing.T) {
	sourcetest.NoLeaks(t)
	script, _ := url.Parse(newScript().Serve(t, nil))
	proxy := httputil.NewSingleHostReverseProxy(script)
	proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0)
	mux := http.NewServeMux()
	mux.Handle("/sse", proxy)
	mux.Handle("/old", http.RedirectHandler("/sse", http.StatusMovedPermanently))
	mux.Handle("/moved", http.RedirectHandler("/a%20new", http.StatusMovedPermanently))
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.CloseClientConnections()
	c := open(t, mcpclient.Config{URL: server.URL + "/old", ConnectTimeout: 10 * time.Second})
	c.works("ok")
	c.client.Close()
	for _, transport := range []mcpclient.Transport{mcpclient.Auto, mcpclient.HTTP} {
		open(t, mcpclient.Config{URL: server.URL + "/moved", Transport: transport}).unavailable("HTTP 301 Moved Permanently: it redirects to " + server.URL + "/a%20new: if that is right, put it in the config")
	}
	at := "ws" + strings.TrimPrefix(server.URL, "http")
	open(t, mcpclient.Config{URL: at + "/moved"}).unavailable("it redirects to " + at + "/a%20new: if that is right, put it in the config")
}

// pathOf returns the path of a transport at a peer.Server.
func pathOf(transport mcpclient.Transport) string {
	if transport == mcpclient.HTTP {
		return "mcp"
	}
	return string(transport)
}

// TestPrivateAuthority: the certificate authorities of the config hold for every transport.
func TestPrivateAuthority(t *testing.T) {
	for _, transport := range []mcpclient.Transport{mcpclient.HTTP, mcpclient.SSE, mcpclient.WebSocket} {
		t.Run(string(transport), func(t *testing.T) {
			sourcetest.NoLeaks(t)
			two := newTwoPorts(t, func(*url.URL) string { return "" })
			at := "https://example.com/" + pathOf(transport)
			if transport == mcpclient.WebSocket {
				at = "wss://example.com/ws"
			}
			c, logged := two.open(t, at, transport)
			c.works("ok")
			if strings.Contains(logged.String(), "redirect") {
				t.Errorf("a redirect is in the log: %s", logged)
			}
			open(t, mcpclient.Config{URL: strings.Replace(at, "example.com", two.secure.Listener.Addr().String(), 1), Transport: transport}).unavailable("certificate")
		})
	}
}

// listProxied prints the number of tools of a server, for TestProxy: the environment's proxies are
// read once, and never used for loopback.
func listProxied(at string, transport mcpclient.Transport) {
	client := mcpclient.New(mcpclient.Config{Name: "up", URL: at, Transport: transport})
	defer client.Close()
	session, err := client.Open(context.Background(), &bridge.Caller{ID: "proxied"})
	if err != nil {
		panic(err)
	}
	list, err := session.List(context.Background(), bridge.Tools)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(list.Items))
}

// TestProxy: connections over every transport use the proxy of the environment.
func TestProxy(t *testing.T) {
	script, _ := url.Parse(newScript().Serve(t, nil))
	forward := httputil.NewSingleHostReverseProxy(script)
	forward.FlushInterval, forward.ErrorLog = -1, log.New(io.Discard, "", 0)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			forward.ServeHTTP(w, r)
			return
		}
		ours, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer ours.Close()
		theirs, err := net.Dial("tcp", script.Host)
		if err != nil {
			t.Error(err)
			return
		}
		defer theirs.Close()
		io.WriteString(ours, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(theirs, ours)
		io.Copy(ours, theirs)
	}))
	t.Cleanup(proxy.Close)
	for _, transport := range []mcpclient.Transport{mcpclient.HTTP, mcpclient.SSE, mcpclient.WebSocket} {
		at := "http://far.invalid/" + pathOf(transport)
		if transport == mcpclient.WebSocket {
			at = "ws://far.invalid/ws"
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], at, string(transport))
		cmd.Env = append(os.Environ(), childMode+"=proxied", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "3\n" {
			t.Errorf("%s: %v: %.300s", at, err, out)
		}
	}
}
