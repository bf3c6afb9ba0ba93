package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/file"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// A program that nobody can ask notices that all calls are stopped, and that they run again.
func TestWatchStops(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "AppData"} {
		t.Setenv(name, filepath.Join(t.TempDir(), name))
	}
	path, err := file.State(stoppedFile)
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	lines := bufio.NewScanner(read)
	p := &program{Stack: &stack.Stack{Approvals: policy.NewDesk(policy.DeskOptions{})}, log: slog.New(slog.NewTextHandler(write, nil))}
	p.watchStops()
	t.Cleanup(func() {
		read.Close()
		p.endStops()
	})
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.WriteFile(path, []byte("incident\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		// Who looks after the file was made and before it was written finds no reason yet.
		for lines.Scan(); !strings.Contains(lines.Text(), "reason=incident"); lines.Scan() {
		}
		if got := p.Approvals.Stopped(); got != "incident" {
			t.Errorf("stopped for %q", got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if lines.Scan(); !strings.Contains(lines.Text(), "calls run again") || p.Approvals.Stopped() != "" {
			t.Errorf("%s; stopped for %q", lines.Text(), p.Approvals.Stopped())
		}
	}
}

// The console is told of a hold of calls that it is no stop, which only --lift would end.
func TestConsoleOfStopped(t *testing.T) {
	desk := policy.NewDesk(policy.DeskOptions{})
	c := &ownConsole{control: &control{desk: desk}}
	for want, stop := range map[string]func(){
		`{"waiting":0,"stopped":"why","held":true,"all":null}`: func() { desk.Hold("x", "why") },
		`{"waiting":0,"stopped":"why","all":null}`:             func() { desk.Stop("x", "why") },
		`{"waiting":0,"all":null}`:                             func() { desk.Resume("x") },
	} {
		stop()
		all, err := c.approvals(httptest.NewRequest("GET", "/", nil))
		if text, _ := json.Marshal(all); err != nil || string(text) != want {
			t.Errorf("got %s, %v, want %s", text, err, want)
		}
	}
}
