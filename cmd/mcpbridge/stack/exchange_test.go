package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// issuer is an authorization server, an MCP server and an API that take its tokens, on one address.
type issuer struct {
	*httptest.Server

	mu      sync.Mutex // guards the fields below
	forms   []url.Values
	basic   []string        // users of the token endpoint
	revoked map[string]bool // tokens
	refuses bool            // all tokens
	down    bool
	life    int // of a token, in seconds
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{revoked: map[string]bool{}, life: 3600}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "token_endpoint": i.URL + "/token"})
	case r.URL.Path == "/token":
		i.grant(w, r)
	case !strings.HasPrefix(r.URL.Path, "/api"), r.URL.Path == "/.well-known/oauth-protected-resource/api":
		http.NotFound(w, r)
	default:
		i.serve(w, r)
	}
}

// grant gives token-NUMBER, for a caller's token token-NUMBER-for-TOKEN.
func (i *issuer) grant(w http.ResponseWriter, r *http.Request) {
	r.ParseForm()
	user, _, _ := r.BasicAuth()
	i.forms, i.basic = append(i.forms, r.PostForm), append(i.basic, user)
	if i.down {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not with %s"}`, r.Header.Get("Authorization"))
		return
	}
	token := fmt.Sprintf("token-number-%d", len(i.forms))
	if subject := r.PostForm.Get("subject_token"); subject != "" {
		token += "-for-" + subject
	}
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":%d}`, token, i.life)
}

// serve shows what a request was sent with, as the API and the MCP server.
func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	body, _ := io.ReadAll(r.Body)
	switch {
	case !strings.HasPrefix(token, "token-number-") || i.revoked[token] || i.refuses:
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"no %s"}`, token)
	case r.URL.Path == "/api/broken":
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `{"you":%q}`, r.Header.Get("Authorization"))
	case r.URL.Path == "/api":
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		ServeTools(w, r, r.Header.Get("Authorization"), "show")
	default:
		shown := strings.ReplaceAll(token, "token-number", "number") // the token itself would be hidden
		fmt.Fprintf(w, `{"data":{"number":%q,"body":%q,"token":%q}}`, shown, body, token)
	}
}

// requests returns how many tokens were asked for, and the latest form.
func (i *issuer) requests() (int, url.Values) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.forms) == 0 {
		return 0, nil
	}
	return len(i.forms), i.forms[len(i.forms)-1]
}

// set changes the issuer.
func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

const oauthTools = `[
	{"name": "get", "input_schema": {"type": "object"}, "kind": "rest", "api": "shop", "rest": {"method": "GET", "path": "/token"}},
	{"name": "post", "input_schema": {"type": "object", "properties": {"x": {"type": "string"}}}, "kind": "rest", "api": "shop", "rest": {"method": "POST", "path": "/token", "body": "json"}},
	{"name": "broken", "input_schema": {"type": "object"}, "kind": "rest", "api": "shop", "rest": {"method": "GET", "path": "/broken"}},
	{"name": "query", "input_schema": {"type": "object"}, "kind": "graphql", "api": "graph", "graphql": {"query": "{ token }"}}]`

// oauthAPIs is a config with an API of each type; its verbs are the issuer's URL.
const oauthAPIs = `{"tools": ["tools.json"], "auth": {"issuer": "%[1]s", "audience": "bridge"}, "apis": {
	"shop": {"type": "rest", "url": "%[1]s/api", "retries": 0, "auth": {"oauth": %[2]s}},
	"graph": {"type": "graphql", "url": "%[1]s/api/graph", "auth": {"oauth": %[2]s}},
	"pets": {"type": "openapi", "url": "%[1]s/api", "auth": {"oauth": %[2]s}, "document":
		{"openapi": "3.1.0", "info": {"title": "pets", "version": "1"}, "paths": {"/pets": {"get": {"operationId": "pets", "responses": {}}}}}}}}`

func openOAuth(t *testing.T, i *issuer, oauth string) *Stack {
	t.Helper()
	s, err := openConfig(t, fmt.Sprintf(oauthAPIs, i.URL, oauth), oauthTools, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openAs(t *testing.T, s *Stack, caller *bridge.Caller) bridge.Session {
	t.Helper()
	session, err := s.Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s\nlacks %s", text, part)
		}
	}
}

// TestOAuthOfAPIs: an API of each type is called with a token that the bridge gets for itself, once for many
// calls, and anew when it is refused. No error and no failed result shows it.
func TestOAuthOfAPIs(t *testing.T) {
	i := newIssuer(t)
	s := openOAuth(t, i, `{"issuer": "`+i.URL+`", "clientId": "bridge", "clientSecret": "not-so-secret", "scopes": ["read"], "audience": "shop"}`)
	session := openAs(t, s, &bridge.Caller{ID: "a"})
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() { wantIn(t, callHidden(t, session, "get", "{}"), `"number-1\"`, `xxxxx`) })
	}
	calls.Wait()
	n, form := i.requests()
	if n != 1 || form.Get("grant_type") != "client_credentials" || form.Get("scope") != "read" || form.Get("audience") != "shop" || form.Has("resource") || i.basic[0] != "bridge" {
		t.Errorf("%d requests for a token, the last with %v by %q", n, form, i.basic)
	}
	wantIn(t, callHidden(t, session, "query", "{}"), `"number-2\"`)
	wantIn(t, callHidden(t, session, "pets", "{}"), `"number-3\"`)
	i.set(func() { i.revoked["token-number-1"] = true })
	wantIn(t, callHidden(t, session, "post", `{"x":"y"}`), `"number-4\"`, `{\\\"x\\\":\\\"y\\\"}`)
	if text := callHidden(t, session, "broken", "{}"); strings.Contains(text, "token-number") {
		t.Errorf("a token in a result: %s", text)
	} else {
		wantIn(t, text, "HTTP 418")
	}

	// An API that refuses every token.
	i.set(func() { i.refuses = true })
	text := callHidden(t, session, "get", "{}")
	wantIn(t, text, "HTTP 401 Unauthorized")
	for range 20 {
		text += callHidden(t, session, "get", "{}")
	}
	wantIn(t, text, `tool get: the API "shop": it refuses the tokens that `+i.URL+` gives, one after the other`)
	if n, _ := i.requests(); n > 4+5 || strings.Contains(text, "token-number") {
		t.Errorf("%d requests for a token; %s", n, text)
	}
	for _, st := range s.CheckAPIs(t.Context()) {
		if !st.Connected || st.Err != nil {
			t.Errorf("state: %v", st)
		}
	}
}

// TestOAuthOfAPIsFails: the operator learns why there is no token, and nobody the secret.
func TestOAuthOfAPIsFails(t *testing.T) {
	i := newIssuer(t)
	i.down = true
	s := openOAuth(t, i, `{"tokenUrl": "`+i.URL+`/token", "clientId": "bridge", "clientSecret": "not-so-secret", "authMethod": "client_secret_post", "resource": "urn:shop"}`)
	session := openAs(t, s, &bridge.Caller{ID: "a"})
	text := callHidden(t, session, "get", "{}")
	wantIn(t, text, `the API "shop": `+i.URL+`/token gives no token: invalid_client`)
	if _, form := i.requests(); form.Get("client_secret") != "not-so-secret" || form.Get("resource") != "urn:shop" || i.basic[0] != "" {
		t.Errorf("asked with %v, as %q", form, i.basic)
	}
	for _, st := range s.CheckAPIs(t.Context()) {
		wantIn(t, st.String(), "api "+st.Name+": ", "invalid_client")
		text += st.String()
	}
	if strings.Contains(text, "not-so-secret") {
		t.Errorf("a secret in %s", text)
	}
	for oauth, want := range map[string]string{
		`{"issuer": "http://id.example.com", "clientId": "a", "clientSecret": "not-so-secret"}`:          `its authorization server: \"http://id.example.com\" is refused: expected https`,
		`{"issuer": "` + i.URL + `/other", "clientId": "a", "clientSecret": "not-so-secret"}`:            "has no metadata",
		`{"tokenUrl": "http://169.254.169.254/token", "clientId": "a", "clientSecret": "not-so-secret"}`: "is refused",
	} {
		s := openOAuth(t, i, oauth)
		got, _ := json.Marshal(callHidden(t, openAs(t, s, &bridge.Caller{ID: "a"}), "get", "{}"))
		wantIn(t, string(got), want)
	}
}

// caller is a caller with an access token of the issuer.
func (i *issuer) caller(name, token string) *bridge.Caller {
	return &bridge.Caller{ID: name, Principal: bridge.Principal{Name: i.URL + "#" + name}, Token: func() string { return token }}
}

// TestExchange: the token of each caller is exchanged for one of its own, for MCP servers and APIs, and goes to
// no other server than the authorization server.
func TestExchange(t *testing.T) {
	i := newIssuer(t)
	oauth := `{"grant": "token-exchange", "clientId": "bridge", "clientSecret": "not-so-secret", "audience": "upstream"}`
	text := strings.Replace(fmt.Sprintf(oauthAPIs, i.URL, oauth), "{", `{"mcpServers": {"mcp": {"url": "`+i.URL+`/api", "oauth": `+oauth+`}},`, 1)
	s, err := openConfig(t, text, oauthTools, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob", "ann"} {
		session := openAs(t, s, i.caller(name, "jwt-of-"+name))
		for range 3 {
			for _, tool := range []string{"mcp__show", "get", "query", "pets"} {
				got := callHidden(t, session, tool, "{}")
				wantIn(t, got, "-for-jwt-of-"+name)
				if strings.Contains(got, "Bearer jwt-of-") || tool != "mcp__show" && strings.Contains(got, "token-number") {
					t.Errorf("the caller's own token: %s", got)
				}
			}
		}
	}
	n, form := i.requests()
	if n != 2*4 || form.Get("grant_type") != "urn:ietf:params:oauth:grant-type:token-exchange" || form.Get("audience") != "upstream" ||
		form.Get("subject_token_type") != "urn:ietf:params:oauth:token-type:access_token" {
		t.Errorf("%d requests for a token, the last with %v", n, form)
	}

	// A refreshed token is another one, and so is one with other claims.
	token := "jwt-1"
	caller := i.caller("cat", "")
	caller.Token = func() string { return token }
	session := openAs(t, s, caller)
	for range 3 {
		for _, tool := range []string{"mcp__show", "get"} {
			wantIn(t, callHidden(t, session, tool, "{}"), "-for-"+token)
		}
		token += "x"
	}

	// Nobody else has a token to be exchanged, and no other secret of a caller is shown to the issuer.
	before, _ := i.requests()
	for _, caller := range []*bridge.Caller{
		{ID: "none"}, {ID: "dan", Principal: bridge.Principal{Name: "dan"}, Token: func() string { return "a static token" }},
		i.caller("eve", ""), {ID: "mallory", Principal: bridge.Principal{Name: i.URL}, Token: func() string { return "x" }},
	} {
		session := openAs(t, s, caller)
		for _, tool := range []string{"mcp__show", "get"} {
			wantIn(t, callHidden(t, session, tool, "{}"), "it wants the access token of a caller")
		}
	}
	if n, _ := i.requests(); n != before {
		t.Errorf("%d tokens were shown to the issuer", n-before)
	}
}
