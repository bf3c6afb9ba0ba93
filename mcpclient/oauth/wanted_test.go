package oauth

import (
	"errors"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestWanted wants a login of a person only where that helps, and as long as there is none.
func TestWanted(t *testing.T) {
	f, store, ctx := newFake(t), newMemory(), t.Context()
	c, other := f.client(t, store), f.client(t, store)
	wanted := func(text string) {
		t.Helper()
		if text != "" {
			wantError(t, c.Wanted(), text)
		} else if err := c.Wanted(); err != nil {
			t.Errorf("it wants %v", err)
		}
	}
	wanted("")
	c.Refused(ctx, "", 401, refusal(`Bearer scope="read"`), true)
	wanted("it wants a login: run mcpbridge login s")
	if err := other.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	wanted("")
	c.Refused(ctx, "Bearer access-1", 403, refusal(`Bearer error="insufficient_scope", scope="write"`), false)
	wanted(`--scope "write"`)
	if err := other.Login(ctx, []string{"write"}, agree(t)); err != nil {
		t.Fatal(err)
	}
	wanted("")
	c.Refused(ctx, "Bearer access-1", 401, refusal("Bearer"), true) // it came late
	wanted("")
	f.grant = func(url.Values) (int, string) { return 503, "down" }
	expire(t, c, time.Now().Add(-time.Second))
	_, err := c.Authorization(ctx)
	wantError(t, err, "its token cannot be renewed")
	wanted("")
	f.grant = func(url.Values) (int, string) { return 400, `{"error":"invalid_grant"}` }
	c = f.client(t, store) // which has not just failed
	c.Authorization(ctx)
	wanted("its login has ended: run mcpbridge login s")
	for _, later := range []*Client{c, f.client(t, store)} {
		_, err := later.Refused(ctx, "", 401, refusal("Bearer"), true)
		wantError(t, err, "its login has ended: run mcpbridge login s")
	}
	f.grant = nil
	if err := errors.Join(c.Login(ctx, nil, agree(t)), c.Logout(ctx)); err != nil {
		t.Fatal(err)
	}
	c.Refused(ctx, "", 401, refusal(`Bearer scope="read"`), true)
	wanted("it wants a login: run mcpbridge login s")

	c = f.client(t, newMemory(), func(cfg *Config) { cfg.Grant, cfg.ClientID, cfg.ClientSecret = ClientCredentials, "id", "s3cret" })
	if _, err := c.Refused(ctx, "", 401, refusal("Bearer"), true); err == nil || !c.Challenged() {
		t.Error("it is not refused")
	}
	wanted("")
}

// TestWhoLogsIn tells those who have accounts of their own the tool with which they log in, and not the command of who
// runs the bridge.
func TestWhoLogsIn(t *testing.T) {
	f := newFake(t)
	for identity, want := range map[string]string{
		"":    "it wants a login: run mcpbridge login s for an account of your own (callers log in with the tool connect)",
		"ann": "it wants a login: ann logs in with the tool connect",
	} {
		c := f.client(t, newMemory(), func(cfg *Config) { cfg.Identity, cfg.Tool = identity, "connect" })
		if _, err := c.Refused(t.Context(), "", 401, refusal(`Bearer scope="read"`), true); err == nil || err.Error() != want {
			t.Errorf("%q: %v", identity, err)
		}
	}
}

// TestChangedToken takes a token of a machine that another process has got for one of the same login.
func TestChangedToken(t *testing.T) {
	f, store := newFake(t), newMemory()
	machine := func(cfg *Config) { cfg.Grant, cfg.ClientID, cfg.ClientSecret = ClientCredentials, "id", "s3cret" }
	c, other := f.client(t, store, machine), f.client(t, store, machine)
	for _, of := range []*Client{c, other} {
		if _, err := of.Authorization(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := other.Refused(t.Context(), "Bearer access-1", 401, refusal("Bearer"), false); !again {
		t.Fatal(err)
	}
	wantChanged(t, c, store, true, false)
	if value, err := c.Authorization(t.Context()); value != "Bearer access-2" {
		t.Errorf("%q, %v", value, err)
	}
}

// TestChangedOfOther keeps a token when another config, whose assertion is another one, has got one for the same client.
func TestChangedOfOther(t *testing.T) {
	f, store := newFake(t), newMemory()
	of := func(assertion string) *Client {
		return f.client(t, store, func(cfg *Config) {
			cfg.Grant, cfg.ClientID, cfg.ClientSecret, cfg.Assertion = JWTBearer, "id", "s3cret", assertion
		})
	}
	c, other := of("one"), of("two")
	for _, c := range []*Client{c, other} {
		if _, err := c.Authorization(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if wantChanged(t, c, store, false, false); c.Key() != other.Key() {
		t.Error("they have different keys")
	}
	if value, err := c.Authorization(t.Context()); value != "Bearer access-1" {
		t.Errorf("%q, %v", value, err)
	}
}

// TestChangedAfterStatus finds another login although somebody has asked for the status of the new one.
func TestChangedAfterStatus(t *testing.T) {
	f, store, ctx := newFake(t), newMemory(), t.Context()
	c, other := f.client(t, store), f.client(t, store)
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	c.Refused(ctx, "Bearer access-1", 403, refusal(`Bearer error="insufficient_scope", scope="write"`), true)
	if err := other.Login(ctx, []string{"write"}, agree(t)); err != nil {
		t.Fatal(err)
	}
	if status, err := c.Status(); err != nil || status == nil || c.Wanted() != nil {
		t.Errorf("%+v, %v; %v", status, err, c.Wanted())
	}
	wantChanged(t, c, store, true, true)
	if value, err := c.Authorization(ctx); value != "Bearer access-2" {
		t.Errorf("%q, %v", value, err)
	}
}

// TestChangedWhileUsed: connections that were made with the login before are made anew also where one has made the login
// the one in use before that is told, and where another program has renewed it since, but not those that have this login.
func TestChangedWhileUsed(t *testing.T) {
	f, store, ctx := newFake(t), newMemory(), t.Context()
	c, other := f.client(t, store), f.client(t, store)
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	made := time.Now()
	if err := other.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	if again, err := c.Refused(ctx, "Bearer access-1", 401, refusal("Bearer"), false); !again {
		t.Fatal(err)
	}
	later := time.Now()
	for range 2 {
		if _, switched := c.Changed(c.Key(), store.all[c.Key()]); switched.Before(made) || switched.After(later) {
			t.Errorf("switched at %v, and not between %v and %v", switched, made, later)
		}
		if again, err := other.Refused(ctx, "Bearer access-2", 401, refusal("Bearer"), false); !again {
			t.Fatal(err)
		}
	}
}

// TestChangedByItself tells no connection to try a token that it has failed with, which a server that refuses all would
// have replaced at once, but those that failed before the Client got that. The end of a login that cannot be renewed ends no
// connection.
func TestChangedByItself(t *testing.T) {
	f, store, ctx := newFake(t), newMemory(), t.Context()
	c := f.client(t, store)
	if err := c.Login(ctx, nil, agree(t)); err != nil {
		t.Fatal(err)
	}
	for _, refuses := range []bool{false, true} {
		if refuses {
			f.grant = func(url.Values) (int, string) { return 400, `{"error":"invalid_grant"}` }
		}
		failed := time.Now()
		if again, err := c.Refused(ctx, c.state.Load().header, 401, refusal("Bearer"), false); again == refuses {
			t.Fatal(err)
		}
		after := time.Now()
		if came, switched := c.Changed(c.Key(), store.all[c.Key()]); came.Before(failed) || !refuses && came.After(after) || !switched.IsZero() {
			t.Errorf("came at %v, switched at %v", came, switched)
		}
	}
}

// wantChanged tells a client of its record in a store.
func wantChanged(t *testing.T, c *Client, store *transient, came, switched bool) {
	t.Helper()
	begun := time.Now()
	if at, other := c.Changed(c.Key(), store.all[c.Key()]); at.Before(begun) == came || other.Before(begun) == switched {
		t.Errorf("it came at %v, switched at %v", at, other)
	}
}

// A server names the scopes of a command that a person runs: a shell must not run what is in them.
func TestScopesOfCommand(t *testing.T) {
	c := newFake(t).client(t, newMemory(), func(cfg *Config) { cfg.Command = "mcpbridge login docs" })
	for scopes, want := range map[string]string{
		"read write":                `mcpbridge login docs --scope "read write"`,
		"$(rm${IFS}-r${IFS}~) it's": `mcpbridge login docs --scope '$(rm${IFS}-r${IFS}~) it'\''s'`,
		"`id`":                      "mcpbridge login docs --scope '`id`'",
		`a\";id;\" b`:               `mcpbridge login docs --scope "b"`, // which can be no scope
	} {
		_, err := c.Refused(t.Context(), "Bearer x", 403, refusal(`Bearer error="insufficient_scope", scope="`+scopes+`"`), true)
		if runtime.GOOS == "windows" && strings.ContainsAny(scopes, "$`") {
			want = `mcpbridge login docs --scope "…"`
		}
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", scopes, err, want)
		}
	}
	for _, scopes := range []string{"$ &id", "%CMDCMDLINE:~0,1%&id"} { // that variable begins with a quotation mark
		if got := word(scopes, "windows"); strings.Contains(got, "id") {
			t.Errorf("cmd.exe would run id: %s", got)
		}
	}
}
