package stack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/providertest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/auth"
)

// numbered accepts the tokens NAME:NUMBER, all of which stand for the principal NAME.
type numbered struct{ auth.Authenticator }

func (numbered) Authenticate(_ context.Context, c *auth.Credentials) (*auth.Identity, error) {
	name, _, ok := strings.Cut(c.Token, ":")
	if !ok {
		return nil, nil
	}
	return &auth.Identity{Principal: bridge.Principal{Name: name}, Credential: name}, nil
}

func (numbered) Admits(string) bool { return true }
func (numbered) Several() bool      { return true }

// showsHeader is an MCP server whose tool says with which Authorization it was called.
func showsHeader(w http.ResponseWriter, r *http.Request) {
	stack.ServeTools(w, r, "<"+r.Header.Get("Authorization")+">", "show")
}

// postAs posts a message with a token, and returns the answer.
func postAs(t *testing.T, url, token, session, method, params string) (body, newSession string) {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token}
	if session == "modern" {
		message = strings.Replace(message, `"params":{`, `"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`, 1)
		header["Mcp-Protocol-Version"], header["Mcp-Method"], header["Mcp-Name"] = "2026-07-28", method, "with__show"
		if strings.Contains(params, "without__") {
			header["Mcp-Name"] = "without__show"
		}
	} else if session != "" {
		header["Mcp-Session-Id"] = session
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text), resp.Header.Get("Mcp-Session-Id")
}

// forwarding returns the address of a bridge before one upstream as two servers: "with" gets the token of a request if
// forwards is set, "without" never does.
func forwarding(t *testing.T, handler http.HandlerFunc, forwards bool) string {
	upstream := httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	s, err := stack.New(&config.Config{Servers: []config.Server{
		{Name: "with", URL: upstream.URL + "/a", Forward: forwards}, {Name: "without", URL: upstream.URL + "/b"},
	}}, stack.Options{Credentials: &providertest.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	front := mcpserver.New(s, mcpserver.Options{Access: mcpserver.Access{Auth: auth.Any{numbered{}}}, PassTokens: true})
	t.Cleanup(func() { front.Close() })
	web := httptest.NewServer(front.Handler())
	t.Cleanup(web.Close)
	return web.URL
}

// TestForward: the token of a request goes to the server that is to get it, and to no other one, in sessions
// of the legacy era and without them, also when it is refreshed.
func TestForward(t *testing.T) {
	for _, forwards := range []bool{true, false} {
		t.Run(fmt.Sprint(forwards), func(t *testing.T) {
			url := forwarding(t, showsHeader, forwards)
			sessions := map[string]string{}
			for number := range 3 {
				for _, name := range []string{"ann", "bob"} {
					token := fmt.Sprintf("%s:%d", name, number)
					if sessions[name] == "" {
						_, sessions[name] = postAs(t, url, token, "", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
					}
					for _, session := range []string{sessions[name], "modern"} {
						want := `<>`
						if forwards {
							want = "<Bearer " + token + ">"
						}
						for tool, want := range map[string]string{"with__show": want, "without__show": "<>"} {
							if got, _ := postAs(t, url, token, session, "tools/call", `{"name":"`+tool+`","arguments":{}}`); !strings.Contains(got, want) {
								t.Errorf("%s of %s in session %.8s: %s, want %s", tool, token, session, got, want)
							}
						}
					}
				}
			}
		})
	}
}

// TestForwardScopes tells a caller whose token lacks a scope so, and nothing of headers in the config.
func TestForwardScopes(t *testing.T) {
	for challenge, want := range map[string]string{
		`Bearer error="insufficient_scope", scope="write"`:                                "it wants more scopes than the token has",
		`Basic realm="x", bearer scope="write" , Error=insufficient_scope`:                "it wants more scopes than the token has",
		`Bearer error="invalid_token", error_description="this is no insufficient_scope"`: "HTTP 403",
		`Basic realm="insufficient_scope"`:                                                "HTTP 403",
	} {
		url := forwarding(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "tools/call") {
				w.Header().Set("WWW-Authenticate", challenge)
				w.WriteHeader(http.StatusForbidden)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			showsHeader(w, r)
		}, true)
		got, _ := postAs(t, url, "ann:1", "modern", "tools/call", `{"name":"with__show","arguments":{}}`)
		if !strings.Contains(got, want) || want != "HTTP 403" && strings.Contains(got, "headers") {
			t.Errorf("%s: %s", challenge, got)
		}
	}
}

// TestWaiting: where each caller has credentials of its own, the bridge itself waits for one.
func TestWaiting(t *testing.T) {
	b := newBank(t)
	s, err := stack.New(&config.Config{Servers: []config.Server{
		{Name: "forward", URL: b.URL + "/mcp", Required: true, Forward: true},
		{Name: "exchange", URL: b.URL + "/mcp", Required: true, OAuth: config.OAuth{OfCaller: true, ClientID: "bridge", ClientSecret: "not-so-secret"}},
		{Name: "identity", URL: b.URL + "/mcp", Required: true, PerIdentity: true},
		{Name: "shared", URL: b.URL + "/mcp"},
	}, Auth: config.Auth{Issuer: b.URL}}, stack.Options{Credentials: &providertest.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	operator := &bridge.Caller{ID: "operator", Operator: true}
	session, err := s.Open(t.Context(), operator)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	s.Await(t.Context(), operator, func(st stack.ServerState) {
		if st.Waiting() != (st.Name != "shared") || st.Up() {
			t.Errorf("%s", st)
		}
	})
	if err := s.AwaitRequired(t.Context(), session); err != nil {
		t.Error(err)
	}
}

// TestRequiredAccount: a client begins without the account that it is to connect, and not without the server.
func TestRequiredAccount(t *testing.T) {
	b := newBank(t)
	for address, ok := range map[string]bool{b.URL: true, "http://127.0.0.1:1": false} {
		s, err := stack.New(&config.Config{Servers: []config.Server{{Name: "bank", URL: address + "/mcp", Required: true, PerIdentity: true}}},
			stack.Options{Credentials: &providertest.Memory{}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		session, err := s.Open(t.Context(), &bridge.Caller{ID: "a", Principal: bridge.Principal{Name: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover})
		if described := wire.Lookup(reply.Result, "capabilities", "tools") != nil && wire.Lookup(reply.Result, "serverInfo") != nil; described != ok {
			t.Errorf("%s: %s, %v", address, reply.Result, reply.Err)
		}
	}
}
