package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// cancelAt ends a context when a text is written.
type cancelAt struct {
	text   string
	cancel func()
}

func (c *cancelAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return len(p), nil
}

// A login that is interrupted while it waits for the person says so by its exit code.
func TestLoginInterrupted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("MCPBRIDGE_SECRET_KEY", testSecretKey)
	docs := newGuarded()
	defer docs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	typed, typing := io.Pipe()
	defer typing.Close()
	code := run(ctx, []string{"login", "--no-browser", "--upstream", docs.URL + "/mcp"}, streams{in: typed, out: io.Discard, err: &cancelAt{"Log in to", cancel}})
	if code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

// agreeing opens the address that login prints, and keeps what it prints.
type agreeing struct{ strings.Builder }

func (a *agreeing) Write(p []byte) (int, error) {
	if address := regexp.MustCompile(`http://\S+/login\S+`).Find(p); address != nil {
		resp, err := http.Get(string(address))
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
	}
	return a.Builder.Write(p)
}

// Where the server refuses even the token of this login, nobody is sent to log in once more.
func TestLoginInVain(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("MCPBRIDGE_SECRET_KEY", testSecretKey)
	docs := newGuarded()
	defer docs.Close()
	docs.refuses = true
	said := &agreeing{}
	code := run(t.Context(), []string{"login", "--no-browser", "--upstream", docs.URL + "/mcp"}, streams{in: strings.NewReader(""), out: io.Discard, err: said})
	if _, last, _ := strings.Cut(said.String(), "mcpbridge: "); code != exitAway || !strings.Contains(last, "refuses the token that "+docs.URL+" has just given: ") || strings.Contains(last, "run mcpbridge login") {
		t.Errorf("exit code %d, said %s", code, said)
	}
}
