package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// newHost serves a source, and the module, until the test ends.
func newHost(t *testing.T, source bridge.Source, opts mcpserver.Options) *httptest.Server {
	t.Helper()
	opts.Public = web.Files()
	s := mcpserver.New(source, opts)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	return h
}

// nodeCommand is the command that runs a script in Node: one of testdata, or an absolute path.
func nodeCommand(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	dir := t.TempDir() // where the module has a name by which Node takes it for one
	if !filepath.IsAbs(script) {
		script = filepath.Join("testdata", script)
	}
	for from, to := range map[string]string{"mcpbridge.js": "mcpbridge.mjs", script: filepath.Base(script)} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return exec.Command(path, append([]string{"--experimental-websocket", "--no-warnings", filepath.Join(dir, filepath.Base(script))}, args...)...)
}

// node runs a script, which ends well if all is as it expects.
func node(t *testing.T, script string, args ...string) {
	t.Helper()
	cmd := nodeCommand(t, script, args...)
	stuck := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", script, err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out)
	}
}

func TestCalls(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			node(t, "calls.mjs", newHost(t, sourcetest.NewFake(), mcpserver.Options{}).URL, era)
		})
	}
}

func TestToken(t *testing.T) {
	for _, token := range []string{"a-token-of-the-page-0123456789", "with/characters=of+base64=="} {
		opts := mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": token}}}
		node(t, "token.mjs", newHost(t, sourcetest.NewFake(), opts).URL, token)
	}
}

func TestFiles(t *testing.T) {
	opts := mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}, AllowedOrigins: []string{"https://shop.example"}}}
	h := newHost(t, sourcetest.NewFake(), opts)
	get := func(path string, header ...string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest("GET", h.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(body)
	}
	resp, body := get("/mcpbridge.js", "Origin", "https://shop.example", "Sec-Fetch-Site", "cross-site")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || resp.Header.Get("Access-Control-Allow-Origin") != "https://shop.example" || len(body) < 1000 {
		t.Errorf("HTTP %d %v, %d bytes", resp.StatusCode, resp.Header, len(body))
	}
	if resp, _ := get("/mcpbridge.js", "If-None-Match", resp.Header.Get("Etag")); resp.StatusCode != 304 {
		t.Errorf("what is known already: HTTP %d", resp.StatusCode)
	}
	if resp, _ := get("/mcpbridge.js", "Origin", "https://stranger.example"); resp.StatusCode != 403 {
		t.Errorf("a page of another origin: HTTP %d", resp.StatusCode)
	}
	if resp, _ := get("/mcpbridge.d.ts"); resp.StatusCode != 200 {
		t.Errorf("the types: HTTP %d", resp.StatusCode)
	}
}

func TestLend(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			lending := web.NewLending()
			source := lending.Wrap(sourcetest.NewFake(), bridge.OverlayOptions{})
			node(t, "lend.mjs", newHost(t, source, mcpserver.Options{Lend: lending.Join}).URL, era)
		})
	}
}

// TestLaw: what shows lent tools keeps the contract of a Source.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(*testing.T) bridge.Source {
		return web.NewLending().Wrap(sourcetest.NewFake(), bridge.OverlayOptions{})
	})
}

// The examples of docs/browser.md run as they are, but for the address of the bridge. That of chat, which needs a
// model, runs in cmd/mcpbridge/e2etest.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/browser.md")
	if err != nil {
		t.Fatal(err)
	}
	fake, lending := sourcetest.NewFake(), web.NewLending()
	fake.Add(`{"name":"orders","inputSchema":{"type":"object"}}`)
	h := newHost(t, lending.Wrap(fake, bridge.OverlayOptions{}), mcpserver.Options{Lend: lending.Join})
	text, _, _ := strings.Cut(string(page), "\n## Chat\n")
	examples := strings.Split(text, "```js\n")[1:]
	if len(examples) < 2 {
		t.Fatalf("docs/browser.md has %d examples", len(examples))
	}
	for i, example := range examples {
		code, _, _ := strings.Cut(example, "```")
		code = strings.ReplaceAll(code, "http://127.0.0.1:7332/mcpbridge.js", "./mcpbridge.mjs")
		code = strings.ReplaceAll(code, "connect()", fmt.Sprintf("connect({ url: %q })", h.URL)) + "bridge.close();\n"
		script := filepath.Join(t.TempDir(), fmt.Sprintf("example%d.mjs", i+1))
		if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		node(t, script)
	}
	if n := fake.Calls("orders"); n != 1 {
		t.Errorf("orders was called %d times", n)
	}
}
