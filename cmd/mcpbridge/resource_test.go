package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth/providertest"
)

// resourceServer is a bridge that takes the access tokens of a provider. Its clients reach it by a proxy, below
// a path.
type resourceServer struct {
	*serving
	*providertest.Provider
	at   string                 // with the path
	seen atomic.Pointer[string] // the Authorization header of the latest request with one
}

// machines are clients of a provider that log in by themselves.
func machines() []any {
	var all []any
	for _, id := range []string{"one", "two"} {
		all = append(all, map[string]any{"client_id": id, "client_secret": "the-secret-of-" + id, "grant_types": []string{"client_credentials"},
			"response_types": []string{}, "redirect_uris": []string{}, "token_endpoint_auth_method": "client_secret_post"})
	}
	return all
}

func newResourceServer(t *testing.T) *resourceServer {
	r := &resourceServer{Provider: providertest.Start(t, machines()...)}
	echo := peer.NewServer("")
	echo.Tools = `{"name":"echo","inputSchema":{"type":"object"}}`
	to := make(chan *url.URL, 1)
	pass := &httputil.ReverseProxy{Rewrite: func(out *httputil.ProxyRequest) {
		target := <-to
		to <- target
		out.SetURL(target)
		if header := out.In.Header.Get("Authorization"); header != "" {
			r.seen.Store(&header)
		}
	}}
	mux := http.NewServeMux()
	mux.Handle("/bridge/", http.StripPrefix("/bridge", pass))
	mux.Handle("/.well-known/oauth-protected-resource/bridge/", pass)
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)
	r.at = proxy.URL + "/bridge"
	r.serving = serveConfig(t, fmt.Sprintf(`{
		"mcpServers": { "echo": { "url": %q } },
		"publicUrl": %q,
		"auth": { "issuer": %q, "scopes": ["write"] },
		"profiles": { "support": { "claims": { "groups": ["support"] } }, "machines": { "principals": ["*#one", "*#two"], "tools": ["none"] } }
	}`, echo.Serve(t, nil)+"/mcp", r.at, r.Issuer), nil)
	target, err := url.Parse(r.serving.url)
	if err != nil {
		t.Fatal(err)
	}
	to <- target
	return r
}

// machineToken returns a token that a provider has given to one of the machines.
func machineToken(t *testing.T, p *providertest.Provider, client, resource, scope string) string {
	t.Helper()
	resp, err := http.PostForm(p.Issuer+"/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {client},
		"client_secret": {"the-secret-of-" + client}, "resource": {resource}, "scope": {scope}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		t.Fatalf("no token for %s: %s %v", client, resp.Status, err)
	}
	return answer.Token
}

// post sends a message with a token, in a session unless that is "".
func (r *resourceServer) post(token, session, body string) (*http.Response, string) {
	r.serving.Helper()
	headers := http.Header{"Authorization": {"Bearer " + token}}
	if session != "" {
		headers.Set("Mcp-Session-Id", session)
	}
	resp, err := peer.Do(r.Context(), http.DefaultClient, http.MethodPost, r.at+"/mcp", []byte(body), headers)
	if err != nil {
		r.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, string(text)
}

const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// call calls the tool as a client that has logged in, or has not.
func (r *resourceServer) call(c *oauth.Client) error {
	r.serving.Helper()
	client := mcpclient.New(mcpclient.Config{Name: "bridge", URL: r.at + "/mcp", Auth: c})
	defer client.Close()
	session, err := client.Open(r.Context(), &bridge.Caller{ID: "test"})
	if err != nil {
		r.Fatal(err)
	}
	defer session.Close()
	params, _ := wire.SplitParams([]byte(`{"name":"echo","arguments":{}}`))
	reply := session.Do(r.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "echo"})
	defer reply.Free()
	if reply.Err != nil {
		return reply.Err
	}
	return nil
}

func (r *resourceServer) callFails(c *oauth.Client, want string) {
	r.serving.Helper()
	if err := r.call(c); err == nil || !strings.Contains(err.Error(), want) {
		r.Fatalf("got the error %v, want one with %q", err, want)
	}
}

func (r *resourceServer) calls(c *oauth.Client) {
	r.serving.Helper()
	if err := r.call(c); err != nil {
		r.Fatal(err)
	}
}

// confused is a token with the algorithm HS256, whose key is what everyone knows.
func confused(t *testing.T, token string, key []byte) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := signed.CompactSerialize()
	return text
}

// published returns the public key of a provider, as it is published.
func published(t *testing.T, p *providertest.Provider) []byte {
	t.Helper()
	resp, err := http.Get(p.Issuer + "/jwks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil || len(set.Keys) == 0 {
		t.Fatalf("no keys: %v", err)
	}
	text, _ := set.Keys[0].MarshalJSON()
	return text
}

// The bridge as a resource server, with a real authorization server and our own client.
func TestResourceServer(t *testing.T) {
	r := newResourceServer(t)
	c, err := oauth.New(oauth.Config{Server: r.at + "/mcp", Store: &providertest.Memory{}, Command: "mcpbridge login bridge", Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	login := func(scopes ...string) {
		t.Helper()
		if err := c.Login(t.Context(), scopes, providertest.Browser(t)); err != nil {
			t.Fatal(err)
		}
	}
	login()
	r.callFails(c, `mcpbridge login bridge --scope "write"`)
	login("write")
	r.calls(c)
	ana, _ := strings.CutPrefix(*r.seen.Load(), "Bearer ")

	r.refuses(t)
	r.continues(t)

	// What a client revokes is accepted until it expires: a JWT is not asked about.
	if err := c.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.callFails(c, "it wants a login")
	if resp, _ := r.post(ana, "", begin); resp.StatusCode != http.StatusOK {
		t.Errorf("a revoked token that has not expired: %s", resp.Status)
	}
	login("write")
	r.rotates(t, c, ana)
	r.serving.end()
	for _, secret := range []string{ana, strings.Split(ana, ".")[1]} {
		if strings.Contains(r.log.text.String(), secret) {
			t.Error("a token is in the log")
		}
	}
}

// refuses presents the tokens that must not be taken.
func (r *resourceServer) refuses(t *testing.T) {
	good := machineToken(t, r.Provider, "one", r.at+"/mcp", "read write")
	parts := strings.Split(good, ".")
	r.SetClock(-2 * time.Hour)
	expired := machineToken(t, r.Provider, "one", r.at+"/mcp", "write")
	r.SetClock(0)
	other := providertest.Start(t, machines()...)
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + parts[1] + "."
	another := strings.Split(machineToken(t, r.Provider, "two", r.at+"/mcp", "write"), ".")
	for _, test := range []struct {
		name, token string
		status      int
		challenge   string
	}{
		{"good", good, http.StatusOK, ""},
		{"for the whole bridge", machineToken(t, r.Provider, "one", r.at, "write"), http.StatusOK, ""},
		{"replayed from another resource", machineToken(t, r.Provider, "one", "https://other.example/mcp", "write"), http.StatusUnauthorized, "invalid_token"},
		{"for a sibling of the bridge", machineToken(t, r.Provider, "one", r.at+"s/mcp", "write"), http.StatusUnauthorized, "invalid_token"},
		{"another issuer's", machineToken(t, other, "one", r.at+"/mcp", "write"), http.StatusUnauthorized, "invalid_token"},
		{"expired", expired, http.StatusUnauthorized, "invalid_token"},
		{"none", none, http.StatusUnauthorized, "invalid_token"},
		{"HS256 with the public key", confused(t, good, published(t, r.Provider)), http.StatusUnauthorized, "invalid_token"},
		{"another's signature", parts[0] + "." + parts[1] + "." + another[2], http.StatusUnauthorized, "invalid_token"},
		{"without the scope", machineToken(t, r.Provider, "one", r.at+"/mcp", "read"), http.StatusForbidden, "insufficient_scope"},
		{"no token", "", http.StatusUnauthorized, ""},
	} {
		resp, body := r.post(test.token, "", begin)
		challenge := resp.Header.Get("WWW-Authenticate")
		if resp.StatusCode != test.status || (test.challenge == "") == strings.Contains(challenge, "error=") || !strings.Contains(challenge, test.challenge) {
			t.Errorf("%s: %s %s %s", test.name, resp.Status, challenge, body)
		}
		if want := `resource_metadata="` + r.at + `/.well-known/oauth-protected-resource/mcp", scope="write"`; resp.StatusCode != http.StatusOK && !strings.Contains(challenge, want) {
			t.Errorf("%s: the challenge is %s", test.name, challenge)
		}
	}
}

// continues has a session that goes on with the next token of the same client, and with no other's. It has
// the profile of its principal.
func (r *resourceServer) continues(t *testing.T) {
	first := machineToken(t, r.Provider, "one", r.at+"/mcp", "write")
	resp, _ := r.post(first, "", begin)
	session := resp.Header.Get("Mcp-Session-Id")
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	if resp, body := r.post(machineToken(t, r.Provider, "one", r.at+"/mcp", "write"), session, list); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"tools":[]`) {
		t.Errorf("the next token: %s %s", resp.Status, body)
	}
	if resp, body := r.post(machineToken(t, r.Provider, "two", r.at+"/mcp", "write"), session, list); resp.StatusCode != http.StatusNotFound {
		t.Errorf("another's token: %s %s", resp.Status, body)
	}
}

// rotates has the provider sign with another key. Keys are fetched at most once in 10 s.
func (r *resourceServer) rotates(t *testing.T, c *oauth.Client, before string) {
	r.Rotate()
	next := machineToken(t, r.Provider, "one", r.at+"/mcp", "write")
	ctx := t.Context()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; {
		resp, body := r.post(next, "", begin)
		if resp.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("with the next key: %s %s", resp.Status, body)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	if resp, body := r.post(before, "", begin); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token whose key was withdrawn: %s %s", resp.Status, body)
	}
	r.calls(c) // which renews its token
}
