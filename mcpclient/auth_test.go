package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// tokens is an Auth, and the server that it is for: token-N is valid while N is the number of valid.
type tokens struct {
	mu           sync.Mutex // guards the fields below
	valid, given int
	most         int // of the tokens that can be had without a person
	refused      int // requests
}

func (a *tokens) token(n int) string { return fmt.Sprintf("Bearer token-%d-of-the-test", n) }

func (a *tokens) Authorization(context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token(a.given), nil
}

func (a *tokens) Refused(_ context.Context, sent string, status int, header http.Header, last bool) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused++
	if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") == "" {
		return false, nil
	}
	if a.given == a.most || last {
		return false, errors.New("it wants a login: run mcpbridge login up")
	}
	a.given++
	return true, nil
}

// change makes the next token the valid one.
func (a *tokens) change() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.valid++
}

func (a *tokens) accepts(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return r.Header.Get("Authorization") == a.token(a.valid)
}

// TestAuth replaces a token that a server refuses, during the handshake and after it.
func TestAuth(t *testing.T) {
	script, _ := url.Parse(newScript().Serve(t, nil))
	for path, scheme := range map[string]string{"/mcp": "http", "/sse": "http", "/ws": "ws"} {
		t.Run(path, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			auth := &tokens{valid: 1, most: 2}
			proxy := httputil.NewSingleHostReverseProxy(script)
			proxy.FlushInterval = -1
			proxy.ErrorLog = log.New(io.Discard, "", 0)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !auth.accepts(r) {
					w.Header().Set("WWW-Authenticate", "Bearer")
					w.WriteHeader(http.StatusUnauthorized)
					io.WriteString(w, r.Header.Get("Authorization"))
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			defer server.Close()
			cfg := mcpclient.Config{URL: scheme + strings.TrimPrefix(server.URL, "http") + path, Auth: auth}
			if path == "/sse" {
				cfg.Transport = mcpclient.SSE
			}
			c := open(t, cfg)
			c.works("ok")
			if path == "/ws" { // whose messages have no headers
				c.client.Close()
				return
			}
			auth.change()
			large := strings.Repeat("x", 100<<10)
			if r := c.do(t.Context(), "ok", `{"text":"`+large+`"}`); r.Err != nil {
				t.Errorf("with another token: %v", r.Err)
			}
			auth.change()
			c.fails(c.call("ok"), toolformat.Denied, "up: it wants a login: run mcpbridge login up")
			c.client.Close()
		})
	}
}

// TestAuthFails leaves a server failed that wants a login, and a status alone that no login helps with.
func TestAuthFails(t *testing.T) {
	for challenge, want := range map[string]string{"Bearer": "it wants a login: run mcpbridge login up", "": "HTTP 401 Unauthorized: xxxxx"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if challenge != "" {
				w.Header().Set("WWW-Authenticate", challenge)
			}
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, r.Header.Get("Authorization"))
		}))
		open(t, mcpclient.Config{URL: server.URL, Auth: &tokens{valid: 1}}).unavailable(want)
		server.Close()
	}
}
