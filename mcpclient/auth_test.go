package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

func (a *tokens) Reset() {}

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
	if sent != a.token(a.given) { // others have come meanwhile
		return !last, nil
	}
	if a.given == a.most || last {
		return false, errors.New("it wants a login: run mcpbridge login up")
	}
	a.given++
	return true, nil
}

func (a *tokens) Ask(_ context.Context, caller bridge.Principal, cause error, show func(address string) error) error {
	if caller.Name != "ana" {
		return cause
	}
	if err := show("https://auth.example/login?x=1"); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given, a.most = a.valid, a.valid
	return nil
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

// guard returns a server that lets requests with the valid token through.
func (a *tokens) guard(to *url.URL) *httptest.Server {
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.accepts(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, r.Header.Get("Authorization"))
			return
		}
		proxy.ServeHTTP(w, r)
	}))
}

// TestAsk has a call wait for a person who is shown where to log in, when the server is down for want of
// that, and when its login ends.
func TestAsk(t *testing.T) {
	sourcetest.NoLeaks(t)
	script, _ := url.Parse(newScript().Serve(t, nil))
	auth := &tokens{valid: 1}
	server := auth.guard(script)
	defer server.Close()
	client := mcpclient.New(mcpclient.Config{Name: "up", URL: server.URL + "/mcp", Auth: auth, RetryMin: time.Hour, RetryMax: time.Hour, Sharing: mcpclient.Shared})
	defer client.Close()
	action, asked, told := "accept", "", ""
	open := func(name, capabilities string) func() *toolformat.Error {
		session, err := client.Open(t.Context(), &bridge.Caller{ID: name, Principal: bridge.Principal{Name: name}, Capabilities: []byte(capabilities),
			Notify: func(method string, params []byte) {
				if method == "notifications/elicitation/complete" {
					told, _ = wire.Text(wire.Lookup(params, "elicitationId"))
				}
			},
			Ask: func(_ context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
				if address, _ := wire.Text(wire.Lookup(params, "url")); method != wire.MethodElicit || address != "https://auth.example/login?x=1" {
					t.Errorf("asked %s %s", method, params)
				}
				asked, _ = wire.Text(wire.Lookup(params, "elicitationId"))
				return []byte(`{"action":"` + action + `"}`), nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return func() *toolformat.Error {
			params, _ := wire.SplitParams([]byte(`{"name":"ok"}`))
			reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "ok"})
			reply.Free()
			return reply.Err
		}
	}
	url := `{"elicitation":{"url":{}}}`
	for name, call := range map[string]func() *toolformat.Error{
		"one who may not": open("eve", url), "a client that shows no address": open("ana", `{"elicitation":{}}`),
	} {
		if err := call(); err == nil || !strings.Contains(err.Message, "it wants a login") {
			t.Errorf("%s: %v", name, err)
		}
	}
	call := open("ana", url)
	action = "decline"
	if err := call(); err == nil || told != "" {
		t.Errorf("called without a login, and told that %q is complete", told)
	}
	action = "accept"
	if err := call(); err != nil {
		t.Errorf("of a server that is down: %v", err)
	}
	if asked == "" || told != asked {
		t.Errorf("told that %q is complete, not %q", told, asked)
	}
	auth.change()
	if err := call(); err != nil {
		t.Errorf("of a login that has ended: %v", err)
	}
}

// TestAuth replaces a token that a server refuses, during the handshake and after it.
func TestAuth(t *testing.T) {
	script, _ := url.Parse(newScript().Serve(t, nil))
	for path, scheme := range map[string]string{"/mcp": "http", "/sse": "http", "/ws": "ws"} {
		t.Run(path, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			auth := &tokens{valid: 1, most: 2}
			server := auth.guard(script)
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

// TestWaiting: a link whose callers lack credentials is not said to have failed, at each attempt, and connects once they have
// them.
func TestWaiting(t *testing.T) {
	sourcetest.NoLeaks(t)
	script, _ := url.Parse(newScript().Serve(t, nil))
	auth, logged := &tokens{valid: 1}, &logBuffer{}
	server := auth.guard(script)
	defer server.Close()
	c := open(t, mcpclient.Config{
		URL: server.URL + "/mcp", Auth: auth, RetryMin: time.Hour, RetryMax: time.Hour, Log: slog.New(slog.NewTextHandler(logged, nil)),
		Lacks: func(cause error) bool { return strings.HasPrefix(cause.Error(), "it wants a login") },
	})
	defer c.client.Close()
	c.fails(c.call("ok"), toolformat.Unavailable, "it wants a login")
	since := c.client.Links()[0].Since
	c.client.Restart()
	if again := c.client.Links()[0].Since; since.IsZero() || again != since {
		t.Errorf("waiting since %v, and not %v", again, since)
	}
	if st := c.client.Status(); !st.Waiting() || !strings.HasPrefix(st.Reason, "it wants a login") || st.Retry.IsZero() {
		t.Errorf("%+v", st)
	}
	if text := logged.String(); strings.Count(text, "msg=waiting") != 1 || strings.Contains(text, "WARN") {
		t.Error(text)
	}
	auth.mu.Lock()
	auth.given = auth.valid
	auth.mu.Unlock()
	c.client.Restart()
	c.works("ok")
}
