package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	public, err := New(Config{Server: "https://mcp.example.com/mcp", Store: newMemory()})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"https://[::1]/", "http://auth.example.com/", "https://user@auth.example.com/", "https://auth.example.com/#x",
		"https:///token", "ftp://auth.example.com/", "data:text/html,x", "javascript:alert(1)", "//auth.example.com", "", "https://localhost.:1/\x00",
	} {
		if u, err := public.fetch.parse("it", address); err == nil {
			t.Errorf("%q may be requested", u)
		}
	}
	// A name that leads into the network is refused when it is dialed.
	r := &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "localhost:1"}, Header: http.Header{}}
	wantError(t, public.fetch.send(r, nil), "refused to connect to")
}

func TestPlainServer(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://a.example/mcp": true, "wss://a.example/ws": true, "http://localhost:1/mcp": true, "ws://127.0.0.1:1/": true,
		"http://a.example/mcp": false, "http://10.0.0.1/mcp": false, "ws://a.example/": false,
	} {
		if _, err := New(Config{Server: address}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for address, want := range map[string]string{
		"https://A.example/": "https://a.example", "https://a.example/mcp/": "https://a.example/mcp/", "wss://a.example:8443/x?y=1": "https://a.example:8443/x?y=1",
	} {
		c, err := New(Config{Server: address})
		if err != nil || c.identifier() != want {
			t.Errorf("%s: %q, %v", address, c.identifier(), err)
		}
	}
}

func TestChallenge(t *testing.T) {
	for text, want := range map[string]challenge{
		``:       {},
		`Bearer`: {found: true},
		`bearer realm="a, b", Scope="x y",resource_metadata=https://a.example/m`: {found: true, scopes: []string{"x", "y"}, metadata: "https://a.example/m"},
		`Basic realm="Bearer scope=\"z\"", Bearer error = "insufficient_scope"`:  {found: true, other: true, fault: "insufficient_scope"},
		`Negotiate dG9rZW4=, Bearer scope=a`:                                     {found: true, other: true, scopes: []string{"a"}},
		`Bearer scope="unfinished`:                                               {found: true, scopes: []string{"unfinished"}},
	} {
		if got := parseChallenge(refusal(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, text := range []string{`Bearer scope="a b", error=x`, `A b=c, "`, `,,= "\`, "Bearer \x80=\""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseChallenge(http.Header{"Www-Authenticate": {text}})
		if !c.found && (c.metadata != "" || c.scopes != nil || c.fault != "") {
			t.Errorf("%q: parameters without a challenge", text)
		}
	})
}

func TestWellKnown(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example": "https://a.example/.well-known/x", "https://a.example/": "https://a.example/.well-known/x", "https://a.example/t/u/": "https://a.example/.well-known/x/t/u",
	} {
		u, _ := url.Parse(address)
		if got := wellKnown(u, "x").String(); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// A redirect takes nothing that is secret along, leads only to where requests may go, and not on for ever.
func TestRedirects(t *testing.T) {
	stolen := 0
	attacker := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen++ }))
	defer attacker.Close()
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/loop": "/loop", "/file": "file:///etc/passwd", "/plain": "http://id.example/"}[r.URL.Path]
		if to == "" {
			to = attacker.URL
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	defer away.Close()
	f := newFake(t)
	f.metadata["token_endpoint"] = away.URL + "/token"
	c := f.client(t, newMemory())
	wantError(t, c.Login(t.Context(), nil, agree(t)), "HTTP 307")
	if stolen > 0 {
		t.Error("the code is sent elsewhere")
	}
	for path, want := range map[string]string{"/loop": "too many redirects", "/file": "expected https", "/plain": "expected https"} {
		u, _ := url.Parse(away.URL + path)
		wantError(t, c.fetch.get(t.Context(), u, &struct{}{}), want)
	}
}

// A token endpoint may answer anything: what is no usable token is an error that shows no secret, and a
// strange expiry is none.
func TestStrangeAnswers(t *testing.T) {
	const begin = `{"access_token":"abc","token_type":"Bearer"`
	for body, want := range map[string]string{
		begin + `,"expires_in":3600}`:                        "",
		begin + `,"expires_in":"3600"}`:                      "",
		begin + `,"expires_in":3599.5}`:                      "",
		begin + `,"expires_in":1e300}`:                       "",
		begin + `,"expires_in":0}`:                           "never",
		begin + `,"expires_in":-5}`:                          "never",
		begin + `,"expires_in":"NaN"}`:                       "never",
		begin + `,"expires_in":null}`:                        "never",
		begin + `,"expires_in":{}}`:                          "never",
		begin + `}`:                                          "never",
		`{"access_token":"abc","token_type":"DPoP"}`:         `of type "DPoP": expected Bearer`,
		`{"access_token":"abc","token_type":"xs3cret"}`:      `of type "xxxxxx": expected Bearer`,
		`{"access_token":"abc","token_type":"aWQ6czNjcmV0"}`: `of type "xxxxx": expected Bearer`, // id:s3cret
		`{"access_token":"a\r\nX: y","token_type":"Bearer"}`: "no usable access_token",
		`{"access_token":"a b"}`:                             "no usable access_token",
		`{"access_token":7}`:                                 "not the JSON that was expected",
		`{}`:                                                 "no usable access_token",
		`null`:                                               "no usable access_token",
		`<html>s3cret</html>`:                                "not the JSON that was expected",
		`{"access_token":"` + strings.Repeat("a", maxDocument) + `"}`: "has more than",
	} {
		f := newFake(t)
		f.grant = func(url.Values) (int, string) { return 200, body }
		c := f.client(t, nil, func(cfg *Config) {
			cfg.API, cfg.TokenURL, cfg.Grant, cfg.ClientID, cfg.ClientSecret = true, f.URL+"/token", ClientCredentials, "id", "s3cret"
		})
		value, err := c.Authorization(t.Context())
		if want != "" && want != "never" {
			wantError(t, err, want)
			if err != nil && (strings.Contains(err.Error(), "s3cret") || len(err.Error()) > 500) {
				t.Errorf("%.80s: %v", body, err)
			}
			continue
		}
		if value != "Bearer abc" || err != nil {
			t.Errorf("%.80s: %q, %v", body, value, err)
			continue
		}
		if status, _ := c.Status(); status.Expiry.IsZero() != (want == "never") {
			t.Errorf("%.80s: expires at %v", body, status.Expiry)
		}
	}
}

// A server that answers every GET with a stream of events is not listened to until the time is up.
func TestStream(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(ended)
	}))
	defer server.Close()
	u, _ := url.Parse(server.URL)
	wantError(t, newFake(t).client(t, newMemory()).fetch.get(t.Context(), u, &struct{}{}), "its answer is not the JSON that was expected")
	<-ended
}
