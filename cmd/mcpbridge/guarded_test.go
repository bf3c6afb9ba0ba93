package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// guarded is an MCP server that wants OAuth, and its authorization server, which asks nobody. Calls
// want the scope "write", all else "read".
type guarded struct {
	*httptest.Server
	mu     sync.Mutex
	asked  string            // scopes of the latest login
	tokens map[string]string // scopes by token

	refuses bool   // all tokens
	keeps   bool   // tokens that are revoked
	rotates bool   // logins are renewed, each time with the latest refresh token
	refresh string // the latest one
	renewed int
}

func newGuarded() *guarded {
	g := &guarded{tokens: map[string]string{}}
	g.Server = httptest.NewUnstartedServer(g)
	g.Start()
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":[%q]}`, g.URL, g.URL)
	case "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/login","token_endpoint":"%s/token","registration_endpoint":"%s/register",
			"revocation_endpoint":"%s/revoke","code_challenge_methods_supported":["S256"]}`, g.URL, g.URL, g.URL, g.URL, g.URL)
	case "/register":
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, `{"client_id":"some-client"}`)
	case "/login":
		g.asked = r.FormValue("scope")
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=c&state="+r.FormValue("state"), http.StatusFound)
	case "/token":
		if r.FormValue("grant_type") == "refresh_token" {
			if g.renewed++; r.FormValue("refresh_token") != g.refresh {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"error":"invalid_grant"}`)
				return
			}
		}
		token := fmt.Sprintf("token-%d-of-the-login", len(g.tokens)+1)
		g.tokens[token] = g.asked
		if g.rotates {
			g.refresh = "refresh of " + token
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","refresh_token":%q}`, token, g.refresh)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","scope":%q}`, token, g.asked)
	case "/revoke":
		if !g.keeps {
			delete(g.tokens, r.FormValue("token"))
		}
	case "/mcp":
		g.serve(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (g *guarded) serve(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
	}
	json.NewDecoder(r.Body).Decode(&req)
	scope := "read"
	if req.Method == "tools/call" {
		scope = "write"
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	granted, known := g.tokens[token]
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"docs","version":"1.0"}}`,
		"tools/list": `{"tools":[{"name":"search","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"found"}]}`,
	}[req.Method]
	switch {
	case !known || g.refuses:
		w.Header().Set("WWW-Authenticate", `Bearer scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	case !slices.Contains(strings.Fields(granted), scope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":"you are %s"}`, token)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case req.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case result == "":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, req.ID)
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result)
	}
}

func cmdGuarded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: guarded")
	}
	g := newGuarded()
	ts.Defer(g.Close)
	ts.Setenv("GUARDED", g.URL)
	ts.Value(servedKey{}).(*served).env.Setenv("GUARDED", g.URL) // that of serve
}

// fakeBrowser is the command fakebrowser: a person who agrees to everything.
func fakeBrowser() {
	resp, err := http.Get(os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resp.Body.Close()
}
