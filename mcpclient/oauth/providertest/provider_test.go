package providertest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// resource is an MCP server that checks the JWTs of an issuer. Its tool of a name wants that scope.
type resource struct {
	*httptest.Server
	issuer string
	names  []string // authorization servers that it names
	keys   jose.JSONWebKeySet

	mu      sync.Mutex // guards the fields below
	refuses string     // a token that it no longer takes
	seen    []string   // tokens that it has taken
}

func newResource(t *testing.T, issuer string) *resource {
	r := &resource{issuer: issuer, names: []string{issuer}}
	resp, err := http.Get(issuer + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&r.keys); err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// scopes returns those of a token; false means that it is not for this server.
func (r *resource) scopes(token string) ([]string, bool) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return nil, false
	}
	var claims struct {
		jwt.Claims
		Scope string `json:"scope"`
	}
	if parsed.Claims(r.keys, &claims) != nil || claims.Validate(jwt.Expected{Issuer: r.issuer, AnyAudience: jwt.Audience{r.URL + "/mcp"}}) != nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if token == r.refuses {
		return nil, false
	}
	if !slices.Contains(r.seen, token) {
		r.seen = append(r.seen, token)
	}
	return strings.Fields(claims.Scope), true
}

// latest returns the token that was first seen last.
func (r *resource) latest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		return ""
	}
	return r.seen[len(r.seen)-1]
}

func (r *resource) refuse(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuses = token
}

func (r *resource) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	metadata := "/.well-known/oauth-protected-resource/mcp"
	w.Header().Set("Content-Type", "application/json")
	if req.URL.Path == metadata {
		json.NewEncoder(w).Encode(map[string]any{"resource": r.URL + "/mcp", "authorization_servers": r.names, "scopes_supported": []string{"read"}})
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	json.NewDecoder(req.Body).Decode(&m)
	scopes, ok := r.scopes(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
	switch wanted := m.Params.Name; {
	case !ok:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+r.URL+metadata+`"`)
		w.WriteHeader(http.StatusUnauthorized)
	case m.Method == "tools/call" && !slices.Contains(scopes, wanted):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+wanted+`"`)
		w.WriteHeader(http.StatusForbidden)
	case req.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"r","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"write","inputSchema":{"type":"object"}}]}`,
		}[m.Method]
		if result == "" {
			result = `{"content":[]}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

func newClient(t *testing.T, r *resource, store oauth.Store, change func(*oauth.Config)) *oauth.Client {
	t.Helper()
	cfg := oauth.Config{Server: r.URL + "/mcp", Store: store, Command: "mcpbridge login r"}
	if change != nil {
		change(&cfg)
	}
	c, err := oauth.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// call opens the server with the credentials of a client, calls a tool, and returns the error.
func call(t *testing.T, r *resource, auth *oauth.Client, tool string) error {
	t.Helper()
	return callAs(t, r, auth, tool, &bridge.Caller{ID: "test"})
}

func callAs(t *testing.T, r *resource, auth *oauth.Client, tool string, caller *bridge.Caller) error {
	t.Helper()
	client := mcpclient.New(mcpclient.Config{Name: "r", URL: r.URL + "/mcp", Auth: auth})
	defer client.Close()
	session, err := client.Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
	if reply.Err == nil {
		reply.Free()
		return nil
	}
	return reply.Err
}

// TestAsk has calls wait for a person whose client shows the address of the login.
func TestAsk(t *testing.T) {
	r, asked, prompt := newResource(t, Start(t).Issuer), 0, Browser(t)
	c := newClient(t, r, &Memory{}, func(cfg *oauth.Config) { cfg.MayAsk = func(p bridge.Principal) bool { return p.Name == "ana" } })
	caller := &bridge.Caller{
		ID: "ana", Principal: bridge.Principal{Name: "ana"}, Capabilities: []byte(`{"elicitation":{"url":{}}}`),
		Ask: func(_ context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
			asked++
			address, _ := wire.Text(wire.Lookup(params, "url"))
			if err := prompt.Open(address); err != nil {
				t.Error(err)
			}
			return []byte(`{"action":"accept"}`), nil
		},
	}
	wants(t, callAs(t, r, c, "read", &bridge.Caller{ID: "eve", Capabilities: caller.Capabilities, Ask: caller.Ask}), "it wants a login")
	succeeds(t, callAs(t, r, c, "read", caller))
	succeeds(t, callAs(t, r, c, "write", caller))
	if asked != 2 {
		t.Errorf("asked %d times, want a login and more scopes", asked)
	}
}

func wants(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("got the error %v, want one with %q", err, text)
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogin(t *testing.T) {
	issuer := Start(t).Issuer
	r, store := newResource(t, issuer), &Memory{}
	c := newClient(t, r, store, nil)
	wants(t, call(t, r, c, "read"), "it wants a login: run mcpbridge login r")
	succeeds(t, c.Login(t.Context(), nil, Browser(t)))
	succeeds(t, call(t, r, c, "read"))

	// A token that the server no longer takes is renewed, by one of those that need it: the provider
	// ends a login whose refresh token is used twice.
	r.refuse(r.latest())
	clients := []*oauth.Client{newClient(t, r, store, nil), newClient(t, r, store, nil)}
	before := len(r.seen)
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			if err := call(t, r, clients[i%2], "read"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(r.seen) - before; n != 1 {
		t.Errorf("%d tokens in place of one", n)
	}

	// More scopes.
	err := call(t, r, c, "write")
	var e *toolformat.Error
	if !errors.As(err, &e) || e.Code != toolformat.Denied {
		t.Errorf("without the scope: %v", err)
	}
	wants(t, err, `mcpbridge login r --scope "write"`)
	succeeds(t, c.Login(t.Context(), []string{"write"}, Browser(t)))
	succeeds(t, call(t, r, c, "write"))
	succeeds(t, call(t, r, c, "read"))

	// What logout revokes can be used no more.
	kept := store.Copy()
	succeeds(t, c.Logout(t.Context()))
	r.refuse(r.latest())
	wants(t, call(t, r, newClient(t, r, kept, nil), "read"), "its login has ended")
	wants(t, call(t, r, c, "read"), "it wants a login")
}

// A token is for one server.
func TestAudience(t *testing.T) {
	issuer := Start(t).Issuer
	r, other, store := newResource(t, issuer), newResource(t, issuer), &Memory{}
	c := newClient(t, r, store, nil)
	succeeds(t, c.Login(t.Context(), nil, Browser(t)))
	succeeds(t, call(t, r, c, "read"))
	wants(t, call(t, other, c, "read"), "its login has ended")
	wants(t, call(t, other, newClient(t, other, store, nil), "read"), "it wants a login")
}

// An issuer must be the one that the server names, and the one that answers.
func TestIssuer(t *testing.T) {
	issuer := Start(t).Issuer
	r := newResource(t, issuer)
	r.names = []string{strings.Replace(issuer, "localhost", "127.0.0.1", 1)}
	wants(t, newClient(t, r, &Memory{}, nil).Login(t.Context(), nil, Browser(t)), "and not")

	// The attacker lets the person log in at the provider, and would get the code.
	stolen := false
	attacker := httptest.NewUnstartedServer(nil)
	attacker.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/token" {
			stolen = true
		}
		json.NewEncoder(w).Encode(map[string]any{
			"issuer": attacker.URL, "authorization_endpoint": issuer + "/auth", "token_endpoint": attacker.URL + "/token",
			"registration_endpoint": issuer + "/reg", "code_challenge_methods_supported": []string{"S256"},
		})
	})
	attacker.Start()
	defer attacker.Close()
	r.names = []string{attacker.URL}
	wants(t, newClient(t, r, &Memory{}, nil).Login(t.Context(), nil, Browser(t)), "the answer is that of another authorization server")
	if stolen {
		t.Error("the attacker has the code")
	}
}

// A client with a key needs no person.
func TestClientCredentials(t *testing.T) {
	key, pemKey := newKey(t)
	issuer := Start(t, machine("nightly", map[string]any{
		"token_endpoint_auth_method": "private_key_jwt",
		"jwks":                       jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256", Use: "sig"}}},
	})).Issuer
	r := newResource(t, issuer)
	c := newClient(t, r, &Memory{}, func(cfg *oauth.Config) {
		cfg.Grant, cfg.ClientID, cfg.PrivateKey = oauth.ClientCredentials, "nightly", pemKey
	})
	succeeds(t, call(t, r, c, "read"))
	succeeds(t, call(t, r, c, "write")) // it asks for more scopes by itself
	r.refuse(r.latest())
	succeeds(t, call(t, r, c, "read"))
}

// TestAPI gets tokens for an HTTP API, with a secret and with a key, by the issuer's metadata and by the URL of
// its token endpoint.
func TestAPI(t *testing.T) {
	key, pemKey := newKey(t)
	issuer := Start(t,
		machine("keyed", map[string]any{"token_endpoint_auth_method": "private_key_jwt", "jwks": jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Algorithm: "ES256", Use: "sig"}}}}),
		machine("basic", map[string]any{"client_secret": secret}),
		machine("post", map[string]any{"client_secret": secret, "token_endpoint_auth_method": "client_secret_post"}),
	).Issuer
	r := newResource(t, issuer)
	for id, change := range map[string]func(*oauth.Config){
		"keyed": func(cfg *oauth.Config) { cfg.Issuer, cfg.PrivateKey = issuer, pemKey },
		"basic": func(cfg *oauth.Config) { cfg.Issuer, cfg.ClientSecret = issuer, secret },
		"post": func(cfg *oauth.Config) {
			cfg.TokenURL, cfg.ClientSecret, cfg.AuthMethod = issuer+"/token", secret, "client_secret_post"
		},
	} {
		c := newClient(t, r, nil, func(cfg *oauth.Config) {
			cfg.API, cfg.Grant, cfg.ClientID, cfg.Resource, cfg.Scopes = true, oauth.ClientCredentials, id, r.URL+"/mcp", []string{"read"}
			change(cfg)
		})
		value, err := c.Authorization(t.Context())
		succeeds(t, err)
		if scopes, ok := r.scopes(strings.TrimPrefix(value, "Bearer ")); !ok || !slices.Equal(scopes, []string{"read"}) {
			t.Errorf("%s: a token for %q, of this API: %v", id, scopes, ok)
		}
	}
	c := newClient(t, r, nil, func(cfg *oauth.Config) {
		cfg.API, cfg.Grant, cfg.ClientID, cfg.Issuer, cfg.ClientSecret = true, oauth.ClientCredentials, "basic", issuer, "another secret"
	})
	_, err := c.Authorization(t.Context())
	wants(t, err, issuer+" gives no token: invalid_client")
}

// TestTokenExchange exchanges the token of a person for one of another server.
func TestTokenExchange(t *testing.T) {
	issuer := Start(t, machine("bridge", map[string]any{"client_secret": secret, "grant_types": []string{"client_credentials", string(oauth.TokenExchange)}})).Issuer
	front, r := newResource(t, issuer), newResource(t, issuer)
	person := newClient(t, front, &Memory{}, nil)
	succeeds(t, person.Login(t.Context(), []string{"read"}, Browser(t)))
	succeeds(t, call(t, front, person, "read"))
	own := front.latest()
	if _, ok := r.scopes(own); ok {
		t.Fatal("the person's own token is good for the other server")
	}
	e, err := oauth.NewExchange(oauth.Config{Server: r.URL + "/mcp", Issuer: issuer, ClientID: "bridge", ClientSecret: secret, Scopes: []string{"read"}})
	succeeds(t, err)
	succeeds(t, call(t, r, e.Client(own), "read"))
	var claims jwt.Claims
	parsed, err := jwt.ParseSigned(r.latest(), []jose.SignatureAlgorithm{jose.ES256})
	succeeds(t, err)
	if err := parsed.Claims(r.keys, &claims); err != nil || claims.Subject != "ana" {
		t.Errorf("the token is that of %q, %v", claims.Subject, err)
	}
	r.refuse(r.latest())
	succeeds(t, call(t, r, e.Client(own), "read"))
	wants(t, call(t, r, e.Client(own+"x"), "read"), "gives no token: invalid_grant")
}

const secret = "a secret of 32 characters or more"

// machine is a client that needs no person.
func machine(id string, more map[string]any) map[string]any {
	c := map[string]any{"client_id": id, "grant_types": []string{"client_credentials"}, "response_types": []string{}, "redirect_uris": []string{}}
	maps.Copy(c, more)
	return c
}

// newKey returns a key, also in PEM form.
func newKey(t *testing.T) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	succeeds(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	succeeds(t, err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}
