package stack

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Stacks of one pool have one record of calls, as the latest config wants it. A config that cannot have
// its file changes nothing.
func TestCallRecord(t *testing.T) {
	dir, pool := t.TempDir(), NewPool()
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	open := func(section string) (*Stack, error) {
		t.Helper()
		cfg, err := config.Loader{}.Parse(filepath.Join(dir, config.FileName), fmt.Appendf(nil, `{"log": {%s}}`, section))
		if err != nil {
			t.Fatal(err)
		}
		return New(cfg, Options{Pool: pool, Log: log})
	}
	var stacks []*Stack
	for _, section := range []string{`"calls": "a"`, `"calls": "a"`, `"calls": "b"`, ``} {
		s, err := open(section)
		if err != nil {
			t.Fatal(err)
		}
		stacks = append(stacks, s)
		if _, err := open(`"calls": "."`); err == nil || !strings.Contains(err.Error(), "log.calls: ") {
			t.Errorf("a folder for a file: %v", err)
		}
		session, err := stacks[0].Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		session.Do(t.Context(), &bridge.Request{Method: "vendor/method"})
		session.Close()
	}
	counts := observe.NewCounts(stacks[0].Calls())
	for _, s := range stacks {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := counts.Snapshot(); now.All != (observe.Count{}) {
		t.Errorf("counted %+v before a call", now)
	}
	counts.Close()
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"a": 2, "b": 1} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.Count(raw, []byte("\n")) != want {
			t.Errorf("%s: %v, want %d lines\n%s", name, err, want, raw)
		}
	}
	if n := strings.Count(out.String(), "msg=call"); n != len(stacks) {
		t.Errorf("%d calls in the log\n%s", n, &out)
	}
}
