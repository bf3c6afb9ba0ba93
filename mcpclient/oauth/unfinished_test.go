package oauth

import (
	"errors"
	"net/url"
	"testing"
	"time"
)

// TestUnfinishedLogin: a login that is not finished leaves the one before as good as it was, also if it needs another
// client, as for more scopes. No other client than its own can renew it.
func TestUnfinishedLogin(t *testing.T) {
	for name, again := range map[string]struct {
		scope    string
		declined error // nil means that the client is refused
	}{
		"nobody logs in":            {"write", errors.New("declined")},
		"the new client is refused": {"write", nil},
		"its own client is refused": {"read", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, store, ctx := newFake(t), newMemory(), t.Context()
			c := f.client(t, store)
			if err := c.Login(ctx, []string{"read"}, agree(t)); err != nil {
				t.Fatal(err)
			}
			if err := c.change(ctx, func(r *record) (bool, error) { // the fake gives all clients the same id
				reg := r.Clients[f.URL]
				reg.ID, r.Token.Client = "first", "first"
				r.Clients[f.URL] = reg
				return true, nil
			}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				prompt := agree(t)
				f.grant = func(url.Values) (int, string) { return 401, `{"error":"invalid_client"}` }
				if again.declined != nil {
					prompt.Open = func(string) error { return again.declined }
				}
				if err := c.Login(ctx, []string{again.scope}, prompt); err == nil {
					t.Fatal("it is finished")
				}
			}
			f.grant = func(form url.Values) (int, string) {
				if form.Get("client_id") != "first" {
					return 400, `{"error":"invalid_grant"}`
				}
				return 200, `{"access_token":"renewed","token_type":"Bearer"}`
			}
			expire(t, c, time.Now().Add(-time.Second))
			if value, err := c.Authorization(ctx); value != "Bearer renewed" {
				t.Errorf("%q, %v", value, err)
			}
			f.grant = nil
			if err := c.Login(ctx, []string{"write"}, agree(t)); err != nil {
				t.Error(err)
			}
			if r, err := c.load(); err != nil || r.Former.ID != "" || r.Token.Client != "dynamic" {
				t.Errorf("the client of the login is %q, not %q, %v", r.Former.ID, r.Token.Client, err)
			}
		})
	}
}
