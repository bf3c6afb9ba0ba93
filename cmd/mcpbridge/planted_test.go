//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// repeats answers each request with all that it was sent, in the way that its path names.
func repeats(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	user, password, _ := r.BasicAuth()
	sent := fmt.Sprint(r.URL.String(), " ", r.Header, " ", user, " ", password, " ", string(body))
	switch {
	case strings.Contains(r.URL.Path, "500"):
		http.Error(w, "fails for "+sent, http.StatusInternalServerError)
	case strings.Contains(r.URL.Path, "garbage"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc": `+sent)
	case strings.Contains(r.URL.Path, "redirect"):
		http.Redirect(w, r, "http://127.0.0.2:1/?"+r.URL.RawQuery+r.Header.Get("X-Plain"), http.StatusTemporaryRedirect)
	default:
		http.Error(w, "not allowed: "+sent, http.StatusUnauthorized)
	}
}

// plantedMark is in all secrets that plant plants.
const plantedMark = "PLANTED"

// plant writes a config with a secret in each place, and returns its folder and environment.
func plant(t *testing.T, url string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	host := strings.TrimPrefix(url, "http://")
	servers := []string{
		`"stderr": {"command": "sh", "args": ["-c", "echo $A_TOKEN $PLAIN $OTHER $1 >&2; echo not JSON $PLAIN; exit 1", "-", "${file:kept}"],
			"env": {"A_TOKEN": "${ENV_TOKEN}", "PLAIN": "${keychain:KEPT}", "OTHER": "${command:cat printed}"}}`,
		`"bad": {"command": "sh", "args": ["-c", "echo $PLAIN; echo '{\"jsonrpc\": \"2.0\", \"id\": 1, \"error\": {\"code\": 1, \"message\": \"'$PLAIN'\"}}'; cat >/dev/null"], "env": {"PLAIN": "${keychain:KEPT}"}, "connectTimeout": "1s"}`,
		`"refused": {"url": "http://u:PLANTED-password-1@127.0.0.1:1/mcp?api_key=PLANTED-query-2", "headers": {"Authorization": "Bearer PLANTED-bearer-3"}}`,
		fmt.Sprintf(`"login": {"url": "http://%s/401", "oauth": {"clientId": "me", "clientSecret": "PLANTED-client-17"}}`, host),
		`"mute": {"command": "no-such-program-here", "args": ["--token", "PLANTED-argument-4"], "env": {"API_KEY": "PLANTED-written-5"}}`,
	}
	for _, way := range []string{"401", "500", "garbage", "redirect"} {
		servers = append(servers, fmt.Sprintf(`"%s": {"url": "http://u:PLANTED-password-1@%s/%[1]s?api_key=PLANTED-query-2&x=${keychain:KEPT}",
			"headers": {"X-Plain": "${command:cat printed}", "X-Api-Key": "PLANTED-header-6", "Cookie": "s=PLANTED-cookie-7"}}`, way, host))
	}
	config := fmt.Sprintf(`{"log": {"level": "debug"}, "settle": "2s", "tokens": {"ann": "PLANTED-token-of-ann-8"},
		"mcpServers": {%s},
		"context": {"customer": {"from": "config", "value": "PLANTED-hidden-9"}},
		"tools": [{"name": "pets", "description": "Lists pets.", "input_schema": {"type": "object", "properties": {"customer": {"type": "string"}}},
			"kind": "rest", "rest": {"method": "GET", "path": "/o/{customer}"}},
			{"name": "granted", "description": "With OAuth.", "input_schema": {"type": "object"}, "kind": "rest", "api": "granted", "rest": {"method": "GET", "path": "/x"}},
			{"name": "rows", "description": "Lists rows.", "input_schema": {"type": "object"}, "kind": "sql", "api": "db", "sql": {"query": "SELECT 1"}}],
		"apis": {"default": {"type": "rest", "url": "%s/401", "retries": 0, "auth": {"bearer": "PLANTED-api-10"}, "headers": {"X-Plain": "${keychain:KEPT}"}},
			"granted": {"type": "rest", "url": "%[2]s/401", "retries": 0, "auth": {"oauth": {"tokenUrl": "%[2]s/500", "clientId": "me", "clientSecret": "PLANTED-client-of-api-18"}}},
			"db": {"type": "sql", "url": "postgres://me:PLANTED-database-11@127.0.0.1:1/db?connect_timeout=1"}},
		"providers": {"openai": {"apiKey": "PLANTED-provider-12", "model": "m", "baseUrl": "%[2]s/401", "retries": 0}},
		"loop": {"provider": "openai"}}`, strings.Join(servers, ",\n"), url)
	for name, text := range map[string]string{"mcpbridge.json": config, "kept": "PLANTED-file-13\n", "printed": "PLANTED-printed-14\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_RUNTIME_DIR="+run,
		"MCPBRIDGE_SECRET_KEY="+plantedMark+testSecretKey, "ENV_TOKEN=PLANTED-environment-15")
	return dir, env
}

// What is secret in a config, wherever it stands, appears in nothing that a command prints, that serve logs
// or answers, or that the process listing shows of it, although every server, API and model repeats it.
func TestPlantedSecrets(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(repeats))
	t.Cleanup(api.Close)
	dir, env := plant(t, api.URL)
	clean := func(what, text string) {
		t.Helper()
		for line := range strings.Lines(text) {
			if strings.Contains(line, plantedMark) {
				t.Errorf("%s: %s", what, line)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "mcpbridge", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		clean("mcpbridge "+strings.Join(args, " "), string(out))
		return string(out), err
	}
	if out, err := command("PLANTED-keychain-16", "secret", "set", "KEPT"); err != nil {
		t.Fatal(out)
	}
	serve := exec.CommandContext(ctx, "mcpbridge", "serve", "--listen", "127.0.0.1:0")
	logged := &listeningLog{found: make(chan string, 1)}
	serve.Dir, serve.Env, serve.Stderr, serve.Stdout = dir, env, logged, logged
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	defer func() {
		serve.Process.Signal(syscall.SIGTERM)
		<-ended
		clean("serve", logged.String())
		if !strings.Contains(logged.String(), "xxxxx") {
			t.Errorf("nothing was hidden: %s", logged)
		}
	}()
	var url string
	select {
	case url = <-logged.found:
	case <-ctx.Done():
		t.Fatalf("it does not listen: %s", logged)
	}
	for _, token := range []string{"", "wrong-token-0123456789", "PLANTED-token-of-ann-8"} {
		for path, body := range map[string]string{
			"/healthz": "", "/readyz": "", "/metrics": "", "/": "", "/v1/models": "",
			"/mcp":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pets","arguments":{},"_meta":{}}}`,
			"/v1/chat/completions": `{"model":"openai/m","messages":[{"role":"user","content":"hi"}]}`,
		} {
			clean(path+" as "+fmt.Sprint(token != ""), fetch(ctx, t, url+path, token, body))
		}
	}
	for _, args := range [][]string{
		{"check"}, {"check", "--json"}, {"tools", "list"}, {"tools", "call", "pets"}, {"tools", "call", "rows"}, {"lint"}, {"list"}, {"list", "--json"},
		{"secret", "list"}, {"ask", "hi"}, {"ps"}, {"ps", "--json"}, {"logs"}, {"logs", "--json"}, {"reload"},
	} {
		command("", args...)
	}
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", serve.Process.Pid)); err == nil {
		clean("the process listing", string(line))
	}
}

// fetch returns the answer to a request.
func fetch(ctx context.Context, t *testing.T, url, token, body string) string {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.Status, resp.Header, string(text))
}

// listeningLog keeps what serve writes, and passes on where it listens.
type listeningLog struct {
	found chan string

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *listeningLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if m := regexp.MustCompile(`(?m)^listening on (http://\S+)\n`).FindSubmatch(l.text.Bytes()); m != nil {
		select {
		case l.found <- string(m[1]):
		default:
		}
	}
	return len(p), nil
}

func (l *listeningLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
