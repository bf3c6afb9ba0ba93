package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// fake is an MCP server that wants tokens, and its authorization server, on one address.
type fake struct {
	*httptest.Server
	mu        sync.Mutex
	requests  []string                       // method and path
	forms     []url.Values                   // that the token endpoint has got
	metadata  map[string]any                 // of the authorization server, besides the usual
	resource  map[string]any                 // its metadata, besides the usual
	redirect  func(url.Values)               // changes what the browser is sent back with
	grant     func(url.Values) (int, string) // answers the token endpoint; nil for the usual
	issued    int                            // tokens
	challenge string                         // code_challenge of the latest authorization
	revoked   []string
}

func newFake(t *testing.T) *fake {
	f := &fake{metadata: map[string]any{}, resource: map[string]any{}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	r.ParseForm()
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		f.document(w, f.resource, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{f.URL}})
	case "/.well-known/oauth-authorization-server":
		f.document(w, f.metadata, map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token",
			"registration_endpoint": f.URL + "/register", "revocation_endpoint": f.URL + "/revoke",
			"code_challenge_methods_supported": []string{"S256"},
		})
	case "/register":
		var wish map[string]any
		json.NewDecoder(r.Body).Decode(&wish)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"client_id":"dynamic","token_endpoint_auth_method":%q}`, wish["token_endpoint_auth_method"])
	case "/authorize":
		f.challenge = r.Form.Get("code_challenge")
		back := url.Values{"code": {"c0de"}, "state": {r.Form.Get("state")}}
		if f.redirect != nil {
			f.redirect(back)
		}
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		f.token(w, r)
	case "/revoke":
		f.revoked = append(f.revoked, r.Form.Get("token"))
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) document(w io.Writer, own, usual map[string]any) {
	for key, value := range own {
		usual[key] = value
	}
	json.NewEncoder(w).Encode(usual)
}

func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	f.forms = append(f.forms, r.Form)
	if f.grant != nil {
		code, body := f.grant(r.Form)
		w.WriteHeader(code)
		io.WriteString(w, body)
		return
	}
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	if r.Form.Get("grant_type") == "authorization_code" && base64.RawURLEncoding.EncodeToString(sum[:]) != f.challenge {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	f.issued++
	fmt.Fprintf(w, `{"access_token":"access-%d","refresh_token":"refresh-%d","token_type":"bearer","expires_in":3600}`, f.issued, f.issued)
}

// documents returns how many documents of metadata have been read.
func (f *fake) documents() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.Contains(r, "/.well-known/") {
			n++
		}
	}
	return n
}

// client returns a client of the fake.
func (f *fake) client(t *testing.T, store Store, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Server: f.URL + "/mcp", Store: store, Command: "mcpbridge login s"}
	for _, c := range change {
		c(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agree is a person whose browser follows all redirects.
func agree(t *testing.T) Prompt {
	return Prompt{Open: func(address string) error {
		resp, err := http.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}}
}

// newMemory returns a Store.
func newMemory() *transient { return &transient{all: map[string][]byte{}} }

// wantError fails unless an error has a text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got the error %v, want one with %q", err, text)
	}
}
