package stack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

// A config whose audit cannot be opened changes nothing, nor where else calls are recorded.
func TestCallRecordRefused(t *testing.T) {
	dir, pool := t.TempDir(), NewPool()
	open := func(text string) (*Stack, error) {
		t.Helper()
		cfg, err := config.Loader{}.Parse(filepath.Join(dir, config.FileName), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return New(cfg, Options{Pool: pool})
	}
	s, err := open(`{"log": {"calls": "a"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"log": {"calls": "b"}, "audit": "."}`, `{"audit": "."}`} {
		if _, err := open(text); err == nil || !strings.Contains(err.Error(), "audit: ") {
			t.Errorf("a folder for a file: %v", err)
		}
	}
	session, err := s.Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	session.Do(t.Context(), &bridge.Request{Method: "vendor/method"})
	session.Close()
	if err := errors.Join(s.Close(), pool.Close()); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"a": 1, "b": 0} {
		if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || bytes.Count(raw, []byte("\n")) != want {
			t.Errorf("%s: %v, want %d lines\n%s", name, err, want, raw)
		}
	}
}

// A call that waits for an audit which cannot be written is in that of the next config.
func TestAuditReplaced(t *testing.T) {
	dir, pool := t.TempDir(), NewPool()
	open := func(audit string) *Stack {
		t.Helper()
		cfg, err := config.Loader{}.Parse(filepath.Join(dir, config.FileName), fmt.Appendf(nil, `{"audit": %q}`, audit))
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, Options{Pool: pool})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open("d/a")
	if err := os.RemoveAll(filepath.Join(dir, "d")); err != nil {
		t.Skip("the system does not remove an open file")
	}
	if err := os.WriteFile(filepath.Join(dir, "d"), nil, 0o600); err != nil { // no folder can be made here
		t.Fatal(err)
	}
	session, err := s.Open(t.Context(), &bridge.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	session.Do(t.Context(), &bridge.Request{Method: "vendor/method"})
	session.Close()
	if err := errors.Join(open("b").Close(), s.Close(), pool.Close()); err != nil {
		t.Error(err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || bytes.Count(raw, []byte("\n")) != 1 {
		t.Errorf("%v\n%s", err, raw)
	}
}

// A call that is refused on its way names the server that it was for, whoever has refused it, and is no call of that server.
func TestWithheld(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ServeTools(w, r, "done", "close", "pay", "often", "daily", "leak", "check", "keyed", "look")
	}))
	defer server.Close()
	denies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"decision": "deny"}`) }))
	defer denies.Close()
	dir := t.TempDir()
	cfg, err := config.Loader{}.Parse(filepath.Join(dir, config.FileName), fmt.Appendf(nil, `{
		"mcpServers": {"bank": {"url": %q}, "shop": {"url": %q}},
		"limits": {"rate": {"*__often": "1/h", "*__daily": "1/day"}},
		"policy": {
			"rules": [{"tools": ["*__close"], "decision": "deny"}, {"tools": ["*__pay"], "decision": "ask"}],
			"scan": [{"tools": ["*__leak"], "find": ["secrets"], "action": "refuse"}],
			"interceptors": [{"tools": ["*__check"], "url": %q}]
		},
		"ledger": {"file": "ledger.jsonl"}
	}`, server.URL, server.URL, denies.URL))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(cfg, Options{Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lines []string
	reader := s.Calls().Read(observe.Reading{}, func(calls []observe.Call) {
		for i := range calls {
			lines = append(lines, fmt.Sprintf("%s: %s of %s", calls[i].Target, calls[i].Outcome, calls[i].Server))
		}
	})
	counts := observe.NewCounts(s.Calls())
	defer counts.Close()
	session, err := s.Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	call := func(tool, rest string) {
		t.Helper()
		params, err := wire.SplitParams([]byte(`{"name":"bank__` + tool + `"` + rest + `}`))
		if err != nil {
			t.Fatal(err)
		}
		session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "bank__" + tool, Params: &params})
	}
	call("look", "")
	for _, tool := range []string{"close", "pay", "check", "often", "often", "daily", "daily", "none"} {
		call(tool, "")
	}
	call("leak", `,"arguments":{"a":"ghp_`+strings.Repeat("a1B2", 9)+`"}`)
	call("keyed", `,"idempotencyKey":"k"`)
	call("keyed", `,"idempotencyKey":"k","arguments":{"n":1}`)
	s.pool.Approvals.Stop("test", "enough")
	call("look", "")
	reader.Close()
	want := []string{
		"look: ok", "close: denied", "pay: denied", "check: denied", "often: ok", "often: unavailable", "daily: ok", "daily: unavailable",
		"none: denied", "leak: denied", "keyed: ok", "keyed: invalid", "look: denied",
	}
	for i := range want {
		if want[i] = "bank__" + want[i] + " of bank"; strings.Contains(want[i], "none") { // which an interceptor has denied
			want[i] = strings.TrimSuffix(want[i], "bank")
		}
	}
	if !slices.Equal(lines, want) {
		t.Errorf("on record are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if now := counts.Snapshot(); now.All.Calls != len(want) || now.Servers["bank"].Calls != 4 {
		t.Errorf("counted: %+v", now)
	}
}
