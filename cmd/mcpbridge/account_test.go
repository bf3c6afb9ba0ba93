//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// accountPages is a serve in front of a server where each has an account, with the token of ann.
type accountPages struct {
	*testing.T
	ctx context.Context
	dir string
	env []string
	url string
	log *listeningLog
}

func newAccountPages(t *testing.T) *accountPages {
	guarded := newGuarded()
	t.Cleanup(guarded.Close)
	p := &accountPages{T: t, dir: t.TempDir(), log: &listeningLog{found: make(chan string, 1)}}
	config := fmt.Sprintf(`{"mcpServers": {"docs": {"url": "%s/mcp", "credentials": "identity"}}, "tokens": {"ann": "token-of-ann-0123456789"}}`, guarded.URL)
	if err := os.WriteFile(filepath.Join(p.dir, "mcpbridge.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var cancel func()
	p.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p.env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "XDG_STATE_HOME="+p.dir, "XDG_RUNTIME_DIR="+p.dir, "MCPBRIDGE_SECRET_KEY="+testSecretKey)
	serve := exec.CommandContext(p.ctx, "mcpbridge", "serve", "--listen", "127.0.0.1:0")
	serve.Dir, serve.Env, serve.Stderr, serve.Stdout = p.dir, p.env, p.log, p.log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(syscall.SIGTERM)
		serve.Wait()
	})
	select {
	case p.url = <-p.log.found:
	case <-p.ctx.Done():
		t.Fatalf("it does not listen: %s", p.log)
	}
	return p
}

func (p *accountPages) command(args ...string) string {
	cmd := exec.CommandContext(p.ctx, "mcpbridge", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// send sends a request, and returns the body of the answer.
func (p *accountPages) send(client *http.Client, method, url, body string, header map[string]string) string {
	req, err := http.NewRequestWithContext(p.ctx, method, url, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// ask sends a request of MCP as ann.
func (p *accountPages) ask(method, name, arguments string) string {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":%q,"arguments":{%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, name, arguments)
	return p.send(http.DefaultClient, http.MethodPost, p.url+"/mcp", body, map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer token-of-ann-0123456789", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	})
}

// TestAccountPages connects the account of a caller of serve, with a browser that comes from other sites.
func TestAccountPages(t *testing.T) {
	p := newAccountPages(t)
	said := p.ask("tools/call", "connect_account", "")
	link := regexp.MustCompile(`http://localhost:\d+/login\?id=\w+`).FindString(said)
	if link == "" {
		t.Fatalf("no link: %s\n%s", said, p.log)
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	open := func(method, site string) string {
		return p.send(browser, method, link, "", map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": site})
	}
	if page := open(http.MethodGet, "cross-site"); !strings.Contains(page, "to <b>ann</b> of this bridge") {
		t.Errorf("the page of the link: %s", page)
	}
	if page := open(http.MethodPost, "cross-site"); !strings.Contains(page, "Another page has sent you here") {
		t.Errorf("another page has sent the form: %s", page)
	}
	page := open(http.MethodPost, "same-origin")
	code := regexp.MustCompile(`class="code">([\w-]+)<`).FindStringSubmatch(page)
	if code == nil {
		t.Fatalf("no code: %s", page)
	}
	if said := p.ask("tools/call", "connect_account", `"code":"`+code[1]+`"`); !strings.Contains(said, "is connected") {
		t.Errorf("the code: %s", said)
	}
	if said := p.ask("tools/list", "", ""); !strings.Contains(said, `"search"`) {
		t.Errorf("the tools: %s", said)
	}
	for args, want := range map[string]string{
		"ps": "each principal logs in with its own account: ann", "ps --json": `"accounts":{"ann":{"issuer":`, "check": "note: each principal logs in with its own account: ann",
	} {
		if out := p.command(strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s", args, out)
		}
	}
	if out := p.command("logout", "docs", "--identity", "ann"); !strings.Contains(out, "logged out of docs as ann") {
		t.Errorf("logout: %s", out)
	}
	if said := p.ask("tools/call", "search", ""); strings.Contains(said, "found") {
		t.Errorf("called after the logout: %s", said)
	}
	if strings.Contains(p.log.String(), link[len(link)-20:]) || strings.Contains(p.log.String(), code[1]) {
		t.Errorf("the log has a link or a code: %s", p.log)
	}
}
