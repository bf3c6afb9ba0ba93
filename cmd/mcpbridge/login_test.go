package main

import (
	"context"
	"io"
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
