package oauth

import (
	"net/url"
	"testing"
)

// A client that is refused when it is to get the token is not used for the next login. One of the config stays bound to the
// authorization server.
func TestLostRegistrationAtEnd(t *testing.T) {
	for _, id := range []string{"", "of-config"} {
		f, store := newFake(t), newMemory()
		known := true
		f.grant = func(url.Values) (int, string) {
			if !known {
				return 401, `{"error":"invalid_client"}`
			}
			return 200, `{"access_token":"access","token_type":"Bearer"}`
		}
		c := f.client(t, store, func(cfg *Config) { cfg.ClientID = id })
		login := func() error { return c.Login(t.Context(), nil, agree(t)) }
		want := 0
		if id != "" {
			want = 1
			if err := login(); err != nil {
				t.Fatal(err)
			}
		}
		known = false
		wantError(t, login(), "gives no token: invalid_client")
		if r, err := c.load(); err != nil || len(r.Clients) != want {
			t.Errorf("%q: the clients are %v, %v", id, r.Clients, err)
		}
		known = true
		if err := login(); err != nil {
			t.Error(err)
		}
	}
}

// The client that another login has registered meanwhile stays.
func TestLostRegistrationReplaced(t *testing.T) {
	f := newFake(t)
	c := f.client(t, newMemory())
	f.grant = func(url.Values) (int, string) {
		if err := c.change(t.Context(), func(r *record) (bool, error) {
			r.keep(f.URL, registration{ID: "other", Redirect: "http://127.0.0.1:1/"})
			return true, nil
		}); err != nil {
			t.Error(err)
		}
		return 401, `{"error":"invalid_client"}`
	}
	wantError(t, c.Login(t.Context(), nil, agree(t)), "gives no token: invalid_client")
	if r, err := c.load(); err != nil || r.Clients[f.URL].ID != "other" {
		t.Errorf("the clients are %v, %v", r.Clients, err)
	}
}
