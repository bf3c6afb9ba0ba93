package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
)

// The tokens of a config are for clients of serve: the hub needs none, also when the config has changed.
func TestLendReloads(t *testing.T) {
	hub := fleet.NewHub()
	hub.SetLenders(map[string]string{"laptop": "alice"})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub.Serve(w, r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), slog.New(slog.DiscardHandler))
	}))
	defer web.Close()
	defer hub.Close()
	t.Setenv(hubVariable, "alice")
	path := filepath.Join(t.TempDir(), "mcpbridge.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{ "apis": { "type": "rest", "url": "http://127.0.0.1:1" }, "tools": [{ "name": "a", "description": "A.", "kind": "rest", "rest": { "path": "/" } }] }`)
	printed, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"lend", "--to", web.URL, "--config", path}, streams{in: strings.NewReader(""), out: io.Discard, err: out})
		out.Close()
	}()
	lines := bufio.NewScanner(printed)
	await := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("it has not printed %q", text)
	}
	await("as laptop")
	write(`{ "tokens": { "ann": "0123456789-0123456789" }, "apis": { "type": "rest", "url": "http://127.0.0.1:1" }, "tools": [{ "name": "a", "description": "A.", "kind": "rest", "rest": { "path": "/" } }] }`)
	await("loaded again")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dial, _, err := hub.Link("laptop", "alice")
		if err != nil {
			return nil, err
		}
		return dial(ctx)
	}}}
	defer client.CloseIdleConnections()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"hub","version":"1"}}}`))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the hub is answered %s", resp.Status)
	}
	go io.Copy(io.Discard, printed)
	cancel()
	if code := <-ended; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}
