// Package browsertest runs the real program with a web page as its client: Chromium, and in the
// page the client and the WebSocket transport of the TypeScript SDK.
//
// It needs Chromium, and in MCPBRIDGE_BROWSER_MODULES a folder into which the packages
// of testdata/package.json are installed (npm ci).
package browsertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// modulesVar names the folder with node_modules.
const modulesVar = "MCPBRIDGE_BROWSER_MODULES"

// patience bounds each wait; only a fault makes one so long.
const patience = 30 * time.Second

// Host names that the browser resolves to the page server, so that there are origins that are
// not loopback.
const (
	friend   = "friend.example"
	stranger = "stranger.example"
)

const token = "a-token-of-the-page-0123456789"

func TestBrowser(t *testing.T) {
	script := bundle(t, "testdata/page.mjs")
	browser := startBrowser(t)
	program := build(t)
	pages := httptest.NewServer(pageHandler(script))
	t.Cleanup(pages.Close)
	_, port, _ := net.SplitHostPort(pages.Listener.Addr().String())
	origin := func(host string) string { return "http://" + net.JoinHostPort(host, port) }

	open := serve(t, program, nil)
	guarded := serve(t, program, object{
		"tokens":         object{"page": token},
		"allowedOrigins": []string{origin(friend)},
	})

	t.Run("loopback origins", func(t *testing.T) {
		for _, host := range []string{"127.0.0.1", "localhost"} {
			browser.visit(t, origin(host), open, nil).mustCount(t)
		}
	})
	t.Run("foreign origin", func(t *testing.T) {
		browser.visit(t, origin(stranger), open, nil).mustBeRefused(t, "WebSocket")
		open.mustLog(t, "refused", "path=/ws ", "status=403") // it was not the browser that did so
	})
	t.Run("token by ticket", func(t *testing.T) {
		browser.visit(t, origin(friend), guarded, url.Values{"by": {"ticket"}, "token": {token}}).mustCount(t)
	})
	t.Run("token by subprotocol", func(t *testing.T) {
		browser.visit(t, origin(friend), guarded, url.Values{"by": {"subprotocol"}, "token": {token}}).mustCount(t)
	})
	t.Run("no token", func(t *testing.T) {
		browser.visit(t, origin(friend), guarded, nil).mustBeRefused(t, "WebSocket")
	})
	t.Run("wrong token", func(t *testing.T) {
		wrong := url.Values{"by": {"ticket"}, "token": {"not-" + token}}
		browser.visit(t, origin(friend), guarded, wrong).mustBeRefused(t, "ticket: HTTP 401")
	})
	t.Run("foreign origin with the token", func(t *testing.T) {
		for _, by := range []string{"ticket", "subprotocol"} {
			browser.visit(t, origin(stranger), guarded, url.Values{"by": {by}, "token": {token}}).mustBeRefused(t, "")
		}
		guarded.mustLog(t, "refused", "path=/ws/ticket ", "status=403")
		guarded.mustLog(t, "refused", "path=/ws ", "status=403")
	})
}

// modulesFolder returns the folder of the npm packages; the test is skipped where there is none.
func modulesFolder(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(modulesVar)
	if folder == "" {
		t.Skipf("%s is not set: name a folder into which testdata/package.json was installed", modulesVar)
	}
	modules, err := filepath.Abs(filepath.Join(folder, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	return modules
}

// bundle builds one script for a page from a module and the packages that it imports.
func bundle(t *testing.T, module string) string {
	t.Helper()
	modules := modulesFolder(t)
	out := filepath.Join(t.TempDir(), "page.js")
	cmd := exec.Command(filepath.Join(modules, ".bin", "esbuild"), module, "--bundle", "--format=esm", "--log-level=warning", "--outfile="+out)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v\n%s", err, text)
	}
	return out
}

func pageHandler(script string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page.html", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/page.html") })
	mux.HandleFunc("GET /module.html", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/module.html") })
	mux.HandleFunc("GET /module.mjs", scriptFile("testdata/module.mjs"))
	mux.HandleFunc("GET /page.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, script) })
	return mux
}

// browser is a running Chromium.
type browser struct{ ctx context.Context }

// startBrowser starts Chromium with some features that it does not have by default.
func startBrowser(t testing.TB, features ...string) browser {
	t.Helper()
	modulesFolder(t)
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("Chromium is not installed")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path),
		chromedp.WindowSize(800, 900),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP "+friend+" 127.0.0.1, MAP "+stranger+" 127.0.0.1"),
	}
	if len(features) > 0 {
		options = append(options, chromedp.Flag("enable-features", strings.Join(features, ",")))
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with it
	}
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(options...))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("Chromium does not end: %v", err)
		}
		cancel()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return browser{ctx}
}

// shown is the final content of a page.
type shown struct {
	Outcome  string // done or refused
	State    string
	Tools    []string
	Progress []string
	Result   string
}

const readPage = `(() => {
	const items = (id) => [...document.getElementById(id).children].map((e) => e.textContent);
	const text = (id) => document.getElementById(id).textContent;
	return {Outcome: document.body.className, State: text("state"), Tools: items("tools"), Progress: items("progress"), Result: text("result")};
})()`

// visit opens the page at an origin, where it connects to a bridge, and returns its final content.
// A screenshot is kept with -artifacts.
func (b browser) visit(t testing.TB, origin string, bridge *running, query url.Values) shown {
	t.Helper()
	if query == nil {
		query = url.Values{}
	}
	query.Set("bridge", bridge.url)
	tab, cancel := chromedp.NewContext(b.ctx)
	defer cancel()
	if err := chromedp.Do(tab, quiet); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	tab, stop := context.WithTimeout(tab, patience)
	defer stop()
	err := chromedp.Do(tab,
		chromedp.Navigate(origin+"/page.html?"+query.Encode()),
		chromedp.WaitReady(chromedp.CSS("body.done, body.refused")))
	seen, readErr := chromedp.Run(tab, chromedp.Evaluate[shown](readPage))
	picture, pictureErr := chromedp.Run(tab, chromedp.CaptureScreenshot())
	if err := errors.Join(err, readErr, pictureErr); err != nil {
		t.Fatalf("page at %s: %v (it shows %+v)", origin, err, seen)
	}
	name := strings.NewReplacer("http://", "", ":", "_").Replace(origin) + "-" + query.Get("by") + ".png"
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name), picture, 0o600); err != nil {
		t.Error(err)
	}
	return seen
}

func (s shown) mustCount(t *testing.T) {
	t.Helper()
	progress := []string{"1 of 5: number 1", "2 of 5: number 2", "3 of 5: number 3", "4 of 5: number 4", "5 of 5: number 5"}
	if s.Outcome != "done" || s.State != "connected to counter" || s.Result != "counted to 5" ||
		!slices.Equal(s.Tools, []string{"count: Counts."}) || !slices.Equal(s.Progress, progress) {
		t.Errorf("the page shows %+v", s)
	}
}

func (s shown) mustBeRefused(t *testing.T, why string) {
	t.Helper()
	if s.Outcome != "refused" || !strings.Contains(s.State, why) || len(s.Tools) > 0 {
		t.Errorf("the page shows %+v", s)
	}
}
