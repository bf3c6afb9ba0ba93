package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// door lets in the token good until a time, which is in the past for late, and says that narrow needs a scope.
type door struct{ until atomic.Pointer[time.Time] }

func (d *door) Authenticate(_ context.Context, c *auth.Credentials) (*auth.Identity, error) {
	switch c.Token {
	case "good":
		return &auth.Identity{Principal: bridge.Principal{Name: "iss#ann"}, Claims: `{"sub":"ann"}`, Expires: *d.until.Load(), Credential: "door"}, nil
	case "narrow":
		return nil, &auth.Refusal{Reason: `the token needs the scope "tools"`, Scopes: []string{"tools"}}
	case "away":
		return nil, &auth.Refusal{Reason: "the issuer is away", Later: true}
	}
	return nil, nil
}
func (d *door) Admits(credential string) bool { return credential == "door" }
func (d *door) Several() bool                 { return true }

func newDoor(t *testing.T, lasts time.Duration, opts mcpserver.Options) (*door, *httptest.Server) {
	d := &door{}
	until := time.Now().Add(lasts)
	d.until.Store(&until)
	opts.Access.Auth = auth.Any{d}
	opts.Access.Resource = &mcpserver.Resource{Issuers: []string{"https://id.example"}, Scopes: []string{"tools"}}
	s := mcpserver.New(sourcetest.NewFake(), opts)
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { s.Close(); web.Close() })
	return d, web
}

func send(t *testing.T, method, url, token, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// A refusal tells clients where to get a token, on every carrier, and why.
func TestChallenge(t *testing.T) {
	for _, base := range []string{"", "https://example.com/bridge"} {
		_, web := newDoor(t, time.Hour, mcpserver.Options{
			Access:    mcpserver.Access{PublicURL: base},
			Protected: map[string]http.Handler{"/v1/": http.NotFoundHandler()},
		})
		at := base
		if at == "" {
			at = web.URL
		}
		for _, path := range []string{"/mcp", "/mcp/p/x", "/sse", "/sse/message", "/ws/ticket", "/ws", "/v1/models"} {
			method := http.MethodPost
			for token, want := range map[string]string{
				"":       `401 Bearer realm="mcpbridge", resource_metadata="` + at + `/.well-known/oauth-protected-resource` + path + `", scope="tools"`,
				"bad":    `401 Bearer realm="mcpbridge", resource_metadata="` + at + `/.well-known/oauth-protected-resource` + path + `", scope="tools", error="invalid_token", error_description="unknown bearer token"`,
				"narrow": `403 Bearer realm="mcpbridge", resource_metadata="` + at + `/.well-known/oauth-protected-resource` + path + `", scope="tools", error="insufficient_scope", error_description="the token needs the scope 'tools'"`,
				"away":   "503 ",
			} {
				resp := send(t, method, web.URL+path, token, "")
				if got := resp.Status[:4] + resp.Header.Get("WWW-Authenticate"); got != want {
					t.Errorf("%s with %q:\n%s; want\n%s", path, token, got, want)
				}
			}
		}
		for path, want := range map[string]string{"": "", "/": "", "/mcp": "/mcp", "/mcp/p/x": "/mcp/p/x", "/bridge/mcp": "/mcp", "/elsewhere": "404"} {
			resp := send(t, http.MethodGet, web.URL+"/.well-known/oauth-protected-resource"+path, "", "")
			var got struct {
				Resource string   `json:"resource"`
				Issuers  []string `json:"authorization_servers"`
			}
			if want == "404" || base == "" && path == "/bridge/mcp" {
				if resp.StatusCode != http.StatusNotFound {
					t.Errorf("%s: status %d", path, resp.StatusCode)
				}
			} else if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Resource != at+want || len(got.Issuers) != 1 {
				t.Errorf("%s: %v, %v", path, got, err)
			}
		}
	}
}

// Streams and WebSockets end when the token does with which they began.
func TestExpiry(t *testing.T) {
	const lasts = 4 * time.Second
	_, web := newDoor(t, lasts, mcpserver.Options{})
	socket := "ws" + strings.TrimPrefix(web.URL, "http") + "/ws"
	direct, _, err := websocket.DefaultDialer.Dial(socket, http.Header{"Authorization": {"Bearer good"}})
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	var made struct{ Ticket string }
	if err := json.NewDecoder(send(t, http.MethodPost, web.URL+"/ws/ticket", "good", "").Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	ticketed, _, err := websocket.DefaultDialer.Dial(socket+"?ticket="+made.Ticket, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ticketed.Close()
	sse := send(t, http.MethodGet, web.URL+"/sse", "good", "")
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	for name, value := range map[string]string{"Authorization": "Bearer good", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	listen, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Body.Close()
	if line, err := bufio.NewReader(listen.Body).ReadString('\n'); err != nil {
		t.Errorf("the stream of notifications: %q, %v", line, err)
	}
	for name, conn := range map[string]*websocket.Conn{"by header": direct, "by ticket": ticketed} {
		conn.SetReadDeadline(time.Now().Add(patience))
		if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
			t.Errorf("the WebSocket %s: %v", name, err)
		}
	}
	for name, body := range map[string]io.Reader{"SSE": sse.Body, "listen": listen.Body} {
		if _, err := io.Copy(io.Discard, body); err != nil {
			t.Errorf("the stream of %s: %v", name, err)
		}
	}
}
