package outbound_test

import (
	"bufio"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// proxied is the number of requests that the proxy of the environment has answered. It says no to
// CONNECT, which a client of https begins with.
var proxied, tunnels atomic.Int64

var proxyHost string

// TestMain sets the proxy of the environment, which net/http reads once.
func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			tunnels.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		proxied.Add(1)
		io.WriteString(w, "by the proxy")
	}))
	proxyHost = strings.TrimPrefix(proxy.URL, "http://")
	for name, value := range map[string]string{"HTTP_PROXY": proxy.URL, "HTTPS_PROXY": "http://user:secret@" + proxyHost, "NO_PROXY": "direct.invalid"} {
		os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

// TestProxy: the proxies of the environment are used, but for loopback and the hosts of NO_PROXY.
func TestProxy(t *testing.T) {
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") }))
	defer own.Close()
	client := &http.Client{Transport: outbound.Transport(nil)}
	if got, err := get(client, "http://far.invalid/"); err != nil || got != "by the proxy" {
		t.Errorf("http: %q %v", got, err)
	}
	if _, err := get(client, "https://far.invalid/"); err == nil || tunnels.Load() == 0 {
		t.Errorf("https: %v, %d tunnels", err, tunnels.Load())
	}
	if _, err := get(client, "https://far.invalid/"); !outbound.NotSent(err) || strings.Contains(err.Error(), "secret") ||
		!strings.HasSuffix(err.Error(), "the proxy "+proxyHost+" refused to connect to far.invalid:443: HTTP 403 Forbidden") {
		t.Errorf("https: %v", err)
	}
	if got, err := get(client, own.URL); err != nil || got != "direct" {
		t.Errorf("loopback: %q %v", got, err)
	}
	before := proxied.Load()
	if _, err := get(client, "http://direct.invalid/"); err == nil || proxied.Load() > before {
		t.Errorf("NO_PROXY is not heeded: %v", err)
	}
}

// TestTunnel: a proxy connects, or is named with its status, and waits no longer than the context.
func TestTunnel(t *testing.T) {
	proxy := func(answer string) (*url.URL, <-chan *http.Request) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		asked := make(chan *http.Request, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			req, _ := http.ReadRequest(bufio.NewReader(conn))
			asked <- req
			io.WriteString(conn, answer)
			io.Copy(io.Discard, conn) // until the other side closes it
		}()
		return &url.URL{Scheme: "http", Host: l.Addr().String(), User: url.UserPassword("user", "secret")}, asked
	}
	for answer, want := range map[string]string{
		"HTTP/1.1 200\r\n\r\n":       "",
		"HTTP/1.1 403\r\n\r\n":       "refused to connect to far.invalid:443: HTTP 403 Forbidden",
		"HTTP/1.1 407 Never\r\n\r\n": "HTTP 407 Proxy Authentication Required (check the user:password@ of HTTPS_PROXY)",
		"SSH-2.0-x\r\n\r\n":          "malformed HTTP",
	} {
		at, asked := proxy(answer)
		conn, err := outbound.Tunnel(at, new(net.Dialer).DialContext)(t.Context(), "tcp", "far.invalid:443")
		switch req := <-asked; {
		case req == nil || req.Method != http.MethodConnect || req.Host != "far.invalid:443" || req.Header.Get("Proxy-Authorization") != "Basic dXNlcjpzZWNyZXQ=":
			t.Errorf("it was asked %+v", req)
		case want == "" && err == nil:
			conn.Close()
		case err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at.Host) || strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
	}
	at, asked := proxy("")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := outbound.Tunnel(at, new(net.Dialer).DialContext)(ctx, "tcp", "far.invalid:443"); !errors.Is(err, context.Canceled) {
		t.Errorf("a proxy that does not answer: %v", err)
	}
	at.Host = "127.0.0.1:1"
	if _, err := outbound.Tunnel(at, new(net.Dialer).DialContext)(t.Context(), "tcp", "far.invalid:443"); !outbound.NotSent(err) {
		t.Errorf("no proxy: %v", err)
	}
}

// TestRoots: a server whose certificate authority is private is trusted if the config names it.
func TestRoots(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "trusted") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the handshake that fails below
	server.StartTLS()
	defer server.Close()
	if got, err := get(&http.Client{Transport: outbound.Transport(nil)}, server.URL); err == nil {
		t.Errorf("an unknown authority is trusted: %q", got)
	}
	roots, err := outbound.Roots(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := get(&http.Client{Transport: outbound.Transport(roots)}, server.URL); err != nil || got != "trusted" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := outbound.Roots([]byte("-----BEGIN NOTHING-----")); err == nil || !strings.Contains(err.Error(), "PEM") {
		t.Errorf("a file without certificates: %v", err)
	}
}

func TestOrigin(t *testing.T) {
	for from, want := range map[string]string{
		"https://Example.com/a":    "https://example.com:443",
		"https://example.com:443/": "https://example.com:443",
		"http://example.com":       "http://example.com:80",
		"http://[::1]:8080/x":      "http://[::1]:8080",
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		if got := outbound.Origin(u); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func get(client *http.Client, from string) (string, error) {
	resp, err := client.Get(from)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// TestNoSwitch: an answer that is a switch of protocols is refused, as its body has no end.
func TestNoSwitch(t *testing.T) {
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		io.Copy(io.Discard, conn) // until the client closes the connection
		conn.Close()
	}))
	defer own.Close()
	at, _ := url.Parse(own.URL)
	for name, transport := range map[string]http.RoundTripper{"transport": outbound.NoSwitch(outbound.Transport(nil)), "guard": outbound.NewGuard(at, nil)} {
		got, err := get(&http.Client{Transport: transport}, own.URL)
		if err == nil || !strings.Contains(err.Error(), "HTTP 101") {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}
