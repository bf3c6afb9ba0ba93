//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

// nodePrograms starts two nodes of a cluster, as programs with folders of their own, and returns their URLs. Their
// server docs wants a login.
func nodePrograms(t *testing.T) (nodes [2]*pinned, urls [2]string) {
	guarded := newGuarded()
	guarded.keeps = true // so that nodes are shown to use tokens no more
	t.Cleanup(guarded.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	nats := fleettest.NATS(t)
	for i := range nodes {
		run, err := os.MkdirTemp("", "run") // the path of a socket is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(run) })
		p := &pinned{dir: t.TempDir(), ctx: ctx}
		p.config = filepath.Join(p.dir, "mcpbridge.json")
		p.env = []string{"GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME=" + p.dir, "XDG_CONFIG_HOME=" + p.dir, "XDG_STATE_HOME=" + p.dir,
			"XDG_RUNTIME_DIR=" + run, "MCPBRIDGE_SECRET_KEY=" + testSecretKey, "BROWSER=fakebrowser"}
		text := fmt.Sprintf(`{"mcpServers": {"docs": {"url": "%s/mcp", "pin": true}}, "tokens": {"ann": "token-of-ann-0123456789"},
			"cluster": {"name": "test", "node": "node%d", "nats": %q, "secrets": [%q]}}`, guarded.URL, i, nats, fleettest.Secret)
		if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		nodes[i], urls[i] = p, p.serve(t)
	}
	return nodes, urls
}

// until calls a tool of a node with a token until the answer has a text.
func (p *pinned) until(t *testing.T, url, token, want string) {
	t.Helper()
	pages, got := accountPages{T: t, ctx: p.ctx}, ""
	for !strings.Contains(got, want) {
		if p.ctx.Err() != nil {
			t.Fatalf("%s, want %s", got, want)
		}
		got = pages.send(http.DefaultClient, http.MethodPost, url+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Authorization": "Bearer " + token, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "search"})
	}
}

// What commands do at one node is so at all.
func TestNodePrograms(t *testing.T) {
	nodes, urls := nodePrograms(t)
	if out := nodes[0].run(t, "login", "docs", "--scope", "write"); !strings.Contains(out, "logged in") {
		t.Fatal(out)
	}
	for i, p := range nodes {
		p.until(t, urls[i], "token-of-ann-0123456789", "found")
	}
	token := strings.Fields(nodes[0].run(t, "token", "create", "bob"))[0]
	for i, p := range nodes {
		p.until(t, urls[i], token, "found")
	}
	other := nodes[0].run(t, "token", "create", "max")
	whole, err := os.ReadFile(nodes[0].config)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(text []byte) {
		if err := os.WriteFile(nodes[0].config, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(whole[:len(whole)/2])
	if out := nodes[1].run(t, "token", "remove", "bob"); !strings.Contains(out, "removed") {
		t.Error(out)
	}
	for i, p := range nodes {
		p.until(t, urls[i], token, "unknown bearer token") // also where the config cannot be used now
	}
	edit(whole)
	file := filepath.Join(nodes[0].dir, "mcpbridge.tokens.json")
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) { // it comes back
		nodes[1].until(t, urls[1], strings.Fields(other)[0], "found")
	}
	nodes[0].until(t, urls[0], strings.Fields(other)[0], "found")
	if out := nodes[1].run(t, "logout", "docs"); !strings.Contains(out, "logged out") {
		t.Error(out)
	}
	nodes[0].until(t, urls[0], "token-of-ann-0123456789", "mcpbridge login docs")
}
