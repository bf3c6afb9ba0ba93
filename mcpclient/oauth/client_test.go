package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

func refusal(challenge string) http.Header { return http.Header{"Www-Authenticate": {challenge}} }

// TestLogin logs in, uses, renews and ends a login.
func TestLogin(t *testing.T) {
	f, store, ctx := newFake(t), newMemory(), t.Context()
	c := f.client(t, store)
	if value, err := c.Authorization(ctx); value != "" || err != nil {
		t.Fatalf("before the login: %q, %v", value, err)
	}
	again, err := c.Refused(ctx, "", 401, refusal(`Bearer scope="a b"`), true)
	if again {
		t.Error("a request without a login is to be sent again")
	}
	wantError(t, err, "it wants a login: run mcpbridge login s")
	if err := c.Login(ctx, []string{"c"}, agree(t)); err != nil {
		t.Fatal(err)
	}
	if got := f.forms[0].Get("resource"); got != f.URL+"/mcp" {
		t.Errorf("resource is %q", got)
	}
	status, err := c.Status()
	if err != nil || status == nil || !status.Renews || !slices.Equal(status.Scopes, []string{"a", "b", "c"}) {
		t.Fatalf("status: %+v, %v", status, err)
	}
	if value, err := c.Authorization(ctx); value != "Bearer access-1" || err != nil {
		t.Fatalf("after the login: %q, %v", value, err)
	}
	other := f.client(t, store) // as another process has it
	if again, err := other.Refused(ctx, "Bearer access-0", 401, refusal("Bearer"), false); !again || err != nil {
		t.Fatalf("a login of another process is not used: %v, %v", again, err)
	}
	if again, err := other.Refused(ctx, "Bearer access-1", 401, refusal("Bearer"), false); !again || err != nil {
		t.Fatalf("not renewed: %v, %v", again, err)
	}
	if value, _ := other.Authorization(ctx); value != "Bearer access-2" || f.forms[1].Get("refresh_token") != "refresh-1" {
		t.Errorf("renewed to %q with %v", value, f.forms[1])
	}
	if err := c.Logout(ctx); err != nil || len(store.all) > 0 || !slices.Contains(f.revoked, "refresh-2") || !slices.Contains(f.revoked, "access-2") {
		t.Errorf("logout: %v; kept %d, revoked %q", err, len(store.all), f.revoked)
	}
}

// TestReset follows the logout of another process.
func TestReset(t *testing.T) {
	f, store := newFake(t), newMemory()
	c, other := f.client(t, store), f.client(t, store)
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	if err := other.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if value, err := c.Authorization(t.Context()); value != "Bearer access-1" || err != nil {
		t.Errorf("unasked it has read %q, %v", value, err)
	}
	c.Reset()
	if value, err := c.Authorization(t.Context()); value != "" || err != nil {
		t.Errorf("after a logout: %q, %v", value, err)
	}
}

// expire makes the token of a client's record one that is to be renewed.
func expire(t *testing.T, c *Client, at time.Time) {
	t.Helper()
	if err := c.change(t.Context(), func(r *record) (bool, error) {
		r.Token.Renew, r.Token.Expiry = at, at
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestLostRegistration logs in again where the authorization server has forgotten the client, or has not.
func TestLostRegistration(t *testing.T) {
	for answer, want := range map[string]int{"invalid_client": 2, "invalid_grant": 1} {
		f, store := newFake(t), newMemory()
		f.grant = func(form url.Values) (int, string) {
			if form.Get("code") == "c0de" {
				return 200, `{"access_token":"access","token_type":"Bearer"}`
			}
			return 401, `{"error":"` + answer + `"}`
		}
		if err := f.client(t, store).Login(t.Context(), nil, agree(t)); err != nil {
			t.Fatal(err)
		}
		c := f.client(t, store)
		if _, err := c.Refused(t.Context(), "Bearer access", 401, refusal("Bearer"), false); err == nil {
			t.Error("the login has not ended")
		}
		if err := c.Login(t.Context(), nil, agree(t)); err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, r := range f.requests {
			if r == "POST /register" {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: registered %d times, want %d", answer, got, want)
		}
	}
}

// A principal without a login, whose own has ended or who has had none, gets to the page with a client that the
// authorization server still knows: one registration does for all of them.
func TestLostRegistrationOfAll(t *testing.T) {
	f, store := newFake(t), newMemory()
	known := true
	f.grant = func(form url.Values) (int, string) {
		switch {
		case !known:
			return 401, `{"error":"invalid_client"}`
		case form.Get("code") == "c0de":
			return 200, `{"access_token":"access","refresh_token":"refresh","token_type":"Bearer"}`
		}
		return 400, `{"error":"invalid_grant"}`
	}
	visit := func(c *Client, cause error, wantRegistered int) *Visit {
		t.Helper()
		v, err := c.Visit(t.Context(), "https://bridge.example.com/login/callback", "some-id", cause)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, r := range f.requests {
			if r == "POST /register" {
				got++
			}
		}
		if got != wantRegistered {
			t.Errorf("registered %d times, want %d", got, wantRegistered)
		}
		return v
	}
	as := func(identity string) (*Client, error) {
		c := f.client(t, store, func(cfg *Config) { cfg.Identity = identity })
		_, cause := c.Refused(t.Context(), "", 401, refusal("Bearer"), true)
		return c, cause
	}
	ann, cause := as("ann")
	v := visit(ann, cause, 1)
	if _, err := v.Answer(t.Context(), url.Values{"code": {"c0de"}, "state": {v.State()}}); err != nil {
		t.Fatal(err)
	}
	if err := v.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	bob, cause := as("bob")
	visit(bob, cause, 1)
	known = false
	expire(t, ann, time.Now().Add(-time.Second))
	if _, cause = ann.Authorization(t.Context()); !errors.As(cause, new(*LoginError)) {
		t.Errorf("the login has not ended: %v", cause)
	}
	visit(ann, cause, 2)
	eve, cause := as("eve")
	visit(eve, cause, 3)
}

// TestNoTokenIsAskedFor: after a login that was not finished, or whose answer was refused, the next one asks the
// authorization server for no token before it has an answer of its own.
func TestNoTokenIsAskedFor(t *testing.T) {
	f, store := newFake(t), newMemory()
	for range 2 {
		c := f.client(t, store)
		_, cause := c.Refused(t.Context(), "", 401, refusal("Bearer"), true)
		if _, err := c.Visit(t.Context(), "https://bridge.example.com/login/callback", "some-id", cause); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Contains(f.requests, "POST /token") {
		t.Errorf("a token was asked for: %q", f.requests)
	}
}

func TestRenewalFails(t *testing.T) {
	f, store := newFake(t), newMemory()
	c := f.client(t, store)
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	f.grant = func(url.Values) (int, string) { return 503, "down" }
	expire(t, c, time.Now().Add(-time.Second))
	_, err := c.Authorization(t.Context())
	wantError(t, err, "its token cannot be renewed")
	if errors.As(err, new(*LoginError)) {
		t.Error("a person is asked for what will pass")
	}
	f.grant = func(form url.Values) (int, string) {
		return 400, `{"error":"invalid_grant","error_description":"no ` + form.Get("refresh_token") + `\nhere"}`
	}
	c = f.client(t, store)
	_, err = c.Authorization(t.Context())
	wantError(t, err, "its login has ended: run mcpbridge login s")
	if strings.Contains(err.Error(), "refresh-1") {
		t.Errorf("a secret in an error: %v", err)
	}
	if status, _ := c.Status(); status != nil {
		t.Errorf("the login is still kept: %+v", status)
	}
}

func TestStepUp(t *testing.T) {
	f, ctx := newFake(t), t.Context()
	c := f.client(t, newMemory(), func(cfg *Config) { cfg.Scopes = []string{"read"} })
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	header := refusal(`Bearer error="insufficient_scope", scope="write"`)
	again, err := c.Refused(ctx, "Bearer access-1", 403, header, false)
	if again {
		t.Error("sent again without the scope")
	}
	wantError(t, err, `it wants more scopes: mcpbridge may do this after mcpbridge login s --scope "write"`)
	if err := c.Login(ctx, []string{"write"}, agree(t)); err != nil {
		t.Fatal(err)
	}
	if status, _ := c.Status(); !slices.Equal(status.Scopes, []string{"read", "write"}) {
		t.Errorf("scopes %q", status.Scopes)
	}
	_, err = c.Refused(ctx, "Bearer access-2", 403, header, false)
	wantError(t, err, "which it has been asked for")
	if again, err := c.Refused(ctx, "Bearer access-2", 403, refusal(`Bearer error="other"`), false); again || err != nil {
		t.Errorf("another refusal: %v, %v", again, err)
	}
	if again, err := c.Refused(ctx, "", 401, refusal(`Basic realm="x"`), false); again || err != nil {
		t.Errorf("another scheme: %v, %v", again, err)
	}
}

// TestRefusedLogins has what a login must not accept.
func TestRefusedLogins(t *testing.T) {
	for _, test := range []struct {
		name, want string
		change     func(*fake)
		config     func(*Config)
	}{
		{name: "no PKCE", want: "does not say that it checks PKCE", change: func(f *fake) {
			delete(f.metadata, "x")
			f.metadata["code_challenge_methods_supported"] = []string{"plain"}
		}},
		{name: "another issuer in the metadata", want: "and not", change: func(f *fake) { f.metadata["issuer"] = "https://attacker.example" }},
		{name: "another resource", want: "is for", change: func(f *fake) { f.resource["resource"] = "https://other.example/mcp" }},
		{name: "a sibling resource", want: "is for", change: func(f *fake) { f.resource["resource"] = f.URL + "/mc" }},
		{name: "no authorization server", want: "names no authorization server", change: func(f *fake) { f.resource["authorization_servers"] = []string{} }},
		{name: "a script", want: "is refused: expected https", change: func(f *fake) { f.metadata["authorization_endpoint"] = "javascript:alert(1)//" }},
		{name: "a file", want: "is not a URL", change: func(f *fake) { f.metadata["authorization_endpoint"] = "file:///etc/passwd" }},
		{name: "a command", want: "is not a URL", change: func(f *fake) { f.metadata["authorization_endpoint"] = "$(touch /tmp/x)" }},
		{name: "plain http", want: "is refused: expected https", change: func(f *fake) { f.metadata["token_endpoint"] = "http://example.com/token" }},
		{name: "another issuer in the answer", want: "another authorization server", change: func(f *fake) {
			f.redirect = func(v url.Values) { v.Set("iss", "https://attacker.example"); v.Set("error", "evil") }
		}},
		{name: "no issuer in the answer", want: "does not say that it is from", change: func(f *fake) { f.metadata["authorization_response_iss_parameter_supported"] = true }},
		{name: "an issuer with a slash", want: "another authorization server", change: func(f *fake) { f.redirect = func(v url.Values) { v.Set("iss", f.URL+"/") } }},
		{name: "a refusal", want: "refuses the login: access_denied (no way)", change: func(f *fake) {
			f.redirect = func(v url.Values) {
				v.Del("code")
				v.Set("error", "access_denied")
				v.Set("error_description", "no\nway")
			}
		}},
		{name: "no registration", want: "registers no clients by itself", change: func(f *fake) { f.metadata["registration_endpoint"] = "" }},
		{name: "another type of token", want: "expected Bearer", change: func(f *fake) {
			f.grant = func(url.Values) (int, string) { return 200, `{"access_token":"a","token_type":"DPoP"}` }
		}},
		{name: "a token with a line break", want: "no usable access_token", change: func(f *fake) {
			f.grant = func(url.Values) (int, string) { return 200, `{"access_token":"a\r\nX: y","token_type":"Bearer"}` }
		}},
		{name: "a client id for another server", want: "for which the client id in the config is", change: func(*fake) {}, config: func(cfg *Config) { cfg.Issuer, cfg.ClientID = "https://other.example", "id" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			test.change(f)
			c := f.client(t, newMemory())
			if test.config != nil {
				c = f.client(t, newMemory(), test.config)
			}
			wantError(t, c.Login(t.Context(), nil, agree(t)), test.want)
			if status, _ := c.Status(); status != nil {
				t.Errorf("logged in: %+v", status)
			}
			if f.metadata["authorization_endpoint"] != nil && slices.Contains(f.requests, "GET /authorize") {
				t.Error("the browser was opened")
			}
		})
	}
}

// TestMovedAuthority holds a client id to the authorization server that gave it.
func TestMovedAuthority(t *testing.T) {
	f, next, store := newFake(t), newFake(t), newMemory()
	configured := func(cfg *Config) { cfg.ClientID, cfg.ClientSecret = "id", "secret" }
	c := f.client(t, store)
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	f.resource["authorization_servers"] = []string{next.URL}
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(next.requests, "POST /register") {
		t.Error("not registered anew")
	}
	f.resource["authorization_servers"] = []string{f.URL}
	c = f.client(t, newMemory(), configured)
	if err := c.Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	f.resource["authorization_servers"] = []string{next.URL}
	wantError(t, c.Login(t.Context(), nil, agree(t)), "and the client id in the config is for")

	f, next, store = newFake(t), newFake(t), newMemory()
	machine := func(cfg *Config) { configured(cfg); cfg.Grant = ClientCredentials }
	value, err := f.client(t, store, machine).Authorization(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.resource["authorization_servers"] = []string{next.URL}
	_, err = f.client(t, store, machine).Refused(t.Context(), value, 401, refusal("Bearer"), false)
	wantError(t, err, "and the client id in the config is for")
	if len(next.forms) > 0 {
		t.Errorf("another authorization server gets the secret: %v", next.forms)
	}
}

// TestMovedAuthorityOfIdentities is TestMovedAuthority for a client id of the config with which each identity logs in.
func TestMovedAuthorityOfIdentities(t *testing.T) {
	f, next, store := newFake(t), newFake(t), newMemory()
	visit := func(identity string) error {
		c := f.client(t, store, func(cfg *Config) { cfg.Identity, cfg.ClientID, cfg.ClientSecret = identity, "id", "s3cret" })
		v, err := c.Visit(t.Context(), "https://bridge.example.com/login/callback", "some-id", nil)
		if err != nil {
			return err
		}
		stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := stay.Get(v.Address())
		if err != nil {
			return err
		}
		resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			return err
		}
		if _, err := v.Answer(t.Context(), back.Query()); err != nil {
			return err
		}
		return v.Keep(t.Context())
	}
	for _, identity := range []string{"ann", "bob"} {
		if err := visit(identity); err != nil {
			t.Fatal(err)
		}
	}
	f.resource["authorization_servers"] = []string{next.URL}
	for _, identity := range []string{"ann", "joe"} {
		wantError(t, visit(identity), "and the client id in the config is for")
	}
	if len(next.forms) > 0 {
		t.Errorf("another authorization server gets the secret: %v", next.forms)
	}
}

// TestAnotherIssuer: what was got from an authorization server that the config no longer names counts no more,
// and that gets no secret that is for another one.
func TestAnotherIssuer(t *testing.T) {
	f, next, store := newFake(t), newFake(t), newMemory()
	f.grant = func(url.Values) (int, string) {
		return http.StatusOK, `{"access_token":"a","refresh_token":"r","expires_in":1e-9}`
	}
	of := func(issuer, secret string) *Client {
		return f.client(t, store, func(cfg *Config) { cfg.Issuer, cfg.ClientID, cfg.ClientSecret = issuer, "id", secret })
	}
	if err := of(f.URL, "first").Login(t.Context(), nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	if value, err := of(next.URL, "second").Authorization(t.Context()); value != "" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	if len(f.forms) != 1 {
		t.Errorf("the authorization server of before has got %v", f.forms[1:])
	}
}

// TestSeveralClients has clients of one server, of which none gets the token of another.
func TestSeveralClients(t *testing.T) {
	f, store := newFake(t), newMemory()
	seen := map[string]bool{}
	for _, own := range []Config{
		{Grant: ClientCredentials, ClientID: "a"}, {Grant: ClientCredentials, ClientID: "b"},
		{Grant: TokenExchange, ClientID: "a", Assertion: "ann"}, {Grant: TokenExchange, ClientID: "a", Assertion: "bob"},
	} {
		for range 2 { // the second time it is known
			value, err := f.client(t, store, func(cfg *Config) {
				cfg.Grant, cfg.ClientID, cfg.Assertion, cfg.ClientSecret = own.Grant, own.ClientID, own.Assertion, "s3cret"
			}).Authorization(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen[value] = true
		}
	}
	if len(seen) != 4 || len(f.forms) != 4 {
		t.Errorf("%d tokens of %d requests", len(seen), len(f.forms))
	}
}

// TestManyScopes has a server that lists more scopes than anybody can look at.
func TestManyScopes(t *testing.T) {
	f := newFake(t)
	var many []string
	for n := range 80_000 {
		many = append(many, strconv.Itoa(n))
	}
	f.resource["scopes_supported"] = many
	if err := f.client(t, newMemory(), func(cfg *Config) { cfg.Grant, cfg.ClientID = ClientCredentials, "id" }).Login(t.Context(), nil, Prompt{}); err != nil {
		t.Fatal(err)
	}
	if got := f.forms[0].Get("scope"); got != "" {
		t.Errorf("asks for %d bytes of scopes", len(got))
	}
}

// TestEcho has an authorization server that repeats what it is sent.
func TestEcho(t *testing.T) {
	f := newFake(t)
	f.grant = func(form url.Values) (int, string) {
		return 400, `{"error":"invalid_grant","error_description":"` + form.Encode() + `"}`
	}
	err := f.client(t, newMemory(), func(cfg *Config) { cfg.ClientID = "id" }).Login(t.Context(), nil, agree(t))
	wantError(t, err, "gives no token: invalid_grant")
	wantError(t, err, "or it was used before or came too late: log in again")
	for _, name := range []string{"code", "code_verifier"} {
		if value := f.forms[0].Get(name); value == "" || strings.Contains(err.Error(), value) {
			t.Errorf("the error has the %s: %v", name, err)
		}
	}
	f.grant = func(url.Values) (int, string) {
		return 400, `{"error":"invalid_client","error_description":"you have sent Basic aWQ6czNjcmV0, which is id:s3cret"}`
	}
	_, err = f.client(t, nil, func(cfg *Config) {
		cfg.API, cfg.TokenURL, cfg.Grant, cfg.ClientID, cfg.ClientSecret = true, f.URL+"/token", ClientCredentials, "id", "s3cret"
	}).Authorization(t.Context())
	wantError(t, err, "invalid_client (you have sent Basic xxxxx, which is id:xxxxx)")
}

// What was pasted by mistake does not end a login, as a code alone would where the issuer names itself.
func TestPaste(t *testing.T) {
	f := newFake(t)
	f.metadata["authorization_response_iss_parameter_supported"] = true
	f.redirect = func(v url.Values) { v.Set("iss", f.URL) }
	c := f.client(t, newMemory())
	paste, wrong := make(chan string, 3), 0
	err := c.Login(t.Context(), nil, Prompt{
		Paste:    paste,
		Complain: func(error) { wrong++ },
		Open: func(address string) error {
			browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err := browser.Get(address)
			if err == nil {
				resp.Body.Close()
				paste <- "http://localhost:1/callback?code=x&state=of-another"
				paste <- "ls"
				paste <- " " + resp.Header.Get("Location") + "\n"
			}
			return err
		},
	})
	if err != nil || wrong != 2 {
		t.Errorf("got %v and %d complaints", err, wrong)
	}
}

// TestWithoutPerson has the grants that need none, and the ways to authenticate.
func TestWithoutPerson(t *testing.T) {
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	ecKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	for _, key := range []any{nil, edKey, ecKey, rsaKey} {
		f := newFake(t)
		c := f.client(t, newMemory(), func(cfg *Config) {
			cfg.Grant, cfg.ClientID, cfg.ClientSecret, cfg.Scopes = ClientCredentials, "id", "s3cret", []string{"a"}
			if key != nil {
				raw, err := x509.MarshalPKCS8PrivateKey(key)
				if err != nil {
					t.Fatal(err)
				}
				cfg.PrivateKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
			}
		})
		if value, err := c.Authorization(t.Context()); value != "Bearer access-1" || err != nil {
			t.Fatalf("%T: %q, %v", key, value, err)
		}
		form := f.forms[0]
		if form.Get("scope") != "a" || form.Get("grant_type") != "client_credentials" || form.Get("resource") == "" {
			t.Errorf("form %v", form)
		}
		if key == nil {
			continue
		}
		parsed, err := jwt.ParseSigned(form.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA})
		if err != nil {
			t.Fatal(err)
		}
		var claims jwt.Claims
		if err := parsed.Claims(key.(crypto.Signer).Public(), &claims); err != nil || claims.Subject != "id" || !slices.Equal(claims.Audience, []string{f.URL}) {
			t.Errorf("claims %+v, %v", claims, err)
		}
		if again, err := c.Refused(t.Context(), "Bearer access-1", 403, refusal(`Bearer error="insufficient_scope" scope="b"`), false); !again || err != nil {
			t.Errorf("another scope: %v, %v", again, err)
		}
		if got := f.forms[1].Get("scope"); got != "a b" {
			t.Errorf("asked for %q", got)
		}
	}
	f := newFake(t)
	c := f.client(t, newMemory(), func(cfg *Config) { cfg.Grant, cfg.ClientID, cfg.Assertion = TokenExchange, "id", "subject" })
	value, err := c.Authorization(t.Context())
	if err != nil || f.forms[0].Get("subject_token") != "subject" {
		t.Errorf("token exchange: %v, %v", f.forms, err)
	}
	many := `Bearer error="insufficient_scope" scope="`
	for n := range maxScopes + 1 {
		many += strconv.Itoa(n) + " "
	}
	_, err = c.Refused(t.Context(), value, 403, refusal(many+`"`), false)
	wantError(t, err, "more and more scopes")
}
