package oauth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestExchange has callers' tokens exchanged: each once while many ask, and anew when another one is used.
func TestExchange(t *testing.T) {
	f := newFake(t)
	f.grant = func(form url.Values) (int, string) {
		return 200, `{"access_token":"for-` + form.Get("subject_token") + `","token_type":"Bearer","expires_in":3600}`
	}
	e, err := NewExchange(Config{Server: f.URL + "/mcp", Issuer: f.URL, ClientID: "bridge", Command: "mcpbridge login s"})
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			token := fmt.Sprint("jwt-", i%2)
			if got, err := e.Client(token).Authorization(t.Context()); got != "Bearer for-"+token || err != nil {
				t.Errorf("%s: %q, %v", token, got, err)
			}
		})
	}
	calls.Wait()
	if len(f.forms) != 2 {
		t.Errorf("%d requests for the tokens of two callers", len(f.forms))
	}
	if n := f.documents(); n > 2*2 {
		t.Errorf("%d documents were read for two callers", n)
	}
	before := f.documents()
	if _, err := e.Client("jwt-2").Authorization(t.Context()); err != nil || f.documents() != before {
		t.Errorf("%v; the metadata was read again for a third caller", err)
	}
	for i := range mostExchanged + 10 {
		e.Client(fmt.Sprint("many-", i))
		e.Client("jwt-1")
	}
	if len(e.clients) != mostExchanged {
		t.Errorf("%d tokens are kept", len(e.clients))
	}
	if e.Client("jwt-1").state.Load() == nil {
		t.Error("a token that is in use has been forgotten")
	}
	f.grant = func(form url.Values) (int, string) {
		return 200, `{"access_token":"` + form.Get("subject_token") + `","token_type":"Bearer"}`
	}
	_, err = e.Client("jwt-3").Authorization(t.Context())
	wantError(t, err, "has given back the token")
	f.grant = func(form url.Values) (int, string) {
		return 400, `{"error":"invalid_grant","error_description":"no ` + form.Get("subject_token") + `"}`
	}
	if _, err = e.Client("jwt-4").Authorization(t.Context()); err == nil || strings.Contains(err.Error(), "jwt-4") {
		t.Errorf("a refused token: %v", err)
	}
	before = f.documents()
	e.Client("jwt-5").Authorization(t.Context())
	if f.documents() == before {
		t.Error("the metadata was not read again after a refusal")
	}
}

// TestChosenIssuer: what a client has for the issuer in its config goes nowhere else, whatever the server says of
// itself.
func TestChosenIssuer(t *testing.T) {
	f := newFake(t)
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = asked || r.Method == http.MethodPost
		http.NotFound(w, r) // it has no metadata: the authorization server would be at its root
	}))
	defer server.Close()
	c := f.client(t, nil, func(cfg *Config) {
		cfg.Server, cfg.Issuer, cfg.Grant, cfg.ClientID, cfg.ClientSecret = server.URL+"/mcp", f.URL, ClientCredentials, "id", "s3cret"
	})
	if value, err := c.Authorization(t.Context()); value != "Bearer access-1" || err != nil || asked {
		t.Errorf("%q, %v; the server itself was asked: %v", value, err, asked)
	}
	if got := f.forms[0].Get("resource"); got != server.URL+"/mcp" {
		t.Errorf("resource %q", got)
	}
	f.resource["authorization_servers"] = []string{"https://other.example.com"}
	c = f.client(t, nil, func(cfg *Config) {
		cfg.Issuer, cfg.Grant, cfg.ClientID, cfg.ClientSecret = f.URL, ClientCredentials, "id", "s3cret"
	})
	_, err := c.Authorization(t.Context())
	wantError(t, err, "its authorization server is")
}

// TestReplacements: a server that refuses every token costs few of them.
func TestReplacements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{}
		count := func(attempts int) (n int) {
			for range attempts {
				if c.mayReplace() {
					n++
				}
			}
			return n
		}
		if n := count(100); n != replaceBurst {
			t.Errorf("%d at once", n)
		}
		time.Sleep(replaceEvery)
		if n := count(100); n != 1 {
			t.Errorf("%d after a minute", n)
		}
		time.Sleep(time.Hour)
		if n := count(100); n != replaceBurst {
			t.Errorf("%d after an hour", n)
		}
	})
	f := newFake(t)
	c := f.client(t, nil, func(cfg *Config) { cfg.Grant, cfg.ClientID, cfg.ClientSecret = ClientCredentials, "id", "s3cret" })
	for range 20 {
		value, err := c.Authorization(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Refused(t.Context(), value, 401, refusal("Bearer"), false)
	}
	if n := len(f.forms); n != 1+replaceBurst {
		t.Errorf("%d tokens", n)
	}
}
