package browsertest

import (
	"bytes"
	"context"
	"net"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestModule runs the bridge's own module in a page, with the browser's WebMCP and without.
func TestModule(t *testing.T) {
	for _, c := range []struct {
		name     string
		features []string
		native   string
	}{
		{"polyfill", nil, "false"},
		{"native", []string{"WebMCPTesting"}, "true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			browser := startBrowser(t, c.features...)
			program := build(t)
			pages := httptest.NewServer(pageHandler(""))
			t.Cleanup(pages.Close)
			_, port, _ := net.SplitHostPort(pages.Listener.Addr().String())
			loopback, foreign := "http://127.0.0.1:"+port, "http://"+friend+":"+port
			open := serve(t, program, object{"lending": true})
			if c.native == "false" {
				guarded := serve(t, program, object{"tokens": object{"page": token}, "allowedOrigins": []string{foreign}})
				for _, era := range []string{"modern", "legacy"} {
					browser.open(t, loopback, open, url.Values{"do": {"calls"}, "era": {era}}).read(t).mustCount(t)
					browser.open(t, foreign, guarded, url.Values{"do": {"calls"}, "era": {era}, "token": {token}}).read(t).mustCount(t)
				}
				browser.open(t, foreign, guarded, url.Values{"do": {"ticket"}, "token": {token}}).read(t).mustBeDone(t)
				browser.open(t, "http://"+stranger+":"+port, open, url.Values{"do": {"calls"}}).see(t, `!document.body.className`)
				open.mustLog(t, "refused", "path=/mcpbridge.js ", "status=403")
				browser.open(t, loopback, open, url.Values{"do": {"webmcp"}, "native": {"false"}}).read(t).mustBeDone(t)
				lending(t, browser, loopback, open)
				return
			}
			browser.open(t, loopback, open, url.Values{"do": {"webmcp"}, "native": {"true"}}).read(t).mustBeDone(t)
		})
	}
}

// lending has other programs call the tools of two tabs.
func lending(t *testing.T, browser browser, origin string, open *running) {
	one := browser.open(t, origin, open, url.Values{"do": {"lend"}, "title": {"one"}})
	one.read(t).mustBeDone(t)
	if got, err := open.call("title"); got != "one" {
		t.Errorf("with one tab: %s, %v", got, err)
	}
	if got := string(startEditor(t, open).call("title", "{}")); !strings.Contains(got, `"text":"one"`) {
		t.Errorf("over stdio: %s", got)
	}
	two := browser.open(t, origin, open, url.Values{"do": {"lend"}, "title": {"two"}})
	two.read(t).mustBeDone(t)
	if got, err := open.call("title"); got != "two" {
		t.Errorf("the tab looked at last: %s, %v", got, err)
	}
	if got, err := open.call("title", "--args", `{"tab":"9"}`); !strings.Contains(got, `"one"`) || !strings.Contains(got, `"two"`) {
		t.Errorf("an unknown tab: %s, %v", got, err)
	}
	done := make(chan string, 1)
	go func() {
		got, err := open.call("stay")
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 {
			t.Errorf("the tab was closed during the call: %v", err)
		}
		done <- got
	}()
	if _, err := chromedp.Run(two.ctx, chromedp.Poll[bool](`document.getElementById("result").textContent === "running"`)); err != nil {
		t.Fatal(err)
	}
	two.close()
	if got := <-done; !strings.Contains(got, "it is unknown whether the call ran") {
		t.Errorf("the tab was closed during the call: %s", got)
	}
	if got, err := open.call("title"); got != "one" {
		t.Errorf("after the other tab was closed: %s, %v", got, err)
	}
}

// call calls a tool over HTTP, from the command line.
func (b *running) call(args ...string) (string, error) {
	var out, log bytes.Buffer
	cmd := exec.Command(b.program, append([]string{"tools", "call", "--upstream", b.url + "/mcp"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &log
	err := cmd.Run()
	return strings.TrimSpace(out.String() + log.String()), err
}

// tab is an open page.
type tab struct {
	ctx   context.Context
	close func()
}

// newTab opens an empty tab, which closes when the test ends.
func (b browser) newTab(t testing.TB) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, quiet); err != nil { // the tab lives as long as this context
		t.Fatal(err)
	}
	limited, stop := context.WithTimeout(ctx, 4*patience) // for all that is done in it
	t.Cleanup(stop)
	return tab{limited, func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("the tab may be open still: %v", err) // a slow browser closes it late: what the test waits for tells
		}
	}}
}

// quiet turns off the events of the network, each message of a WebSocket among them. chromedp stops reading the
// events of a tab that it closes, and all of the browser stands still once 1024 more have come.
var quiet = chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, network.Disable, cdp.Empty{})
	return err
})

// visit loads a page in the tab.
func (b tab) visit(t testing.TB, url string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

// open opens the page of the module in a tab.
func (b browser) open(t testing.TB, origin string, bridge *running, query url.Values) tab {
	t.Helper()
	query.Set("bridge", bridge.url)
	tab := b.newTab(t)
	tab.visit(t, origin+"/module.html?"+query.Encode())
	return tab
}

// read waits for the end of the page's script and returns what the page shows.
func (b tab) read(t testing.TB) shown {
	t.Helper()
	err := chromedp.Do(b.ctx, chromedp.WaitReady(chromedp.CSS("body.done, body.refused")))
	seen, readErr := chromedp.Run(b.ctx, chromedp.Evaluate[shown](readPage))
	if err != nil || readErr != nil {
		t.Fatalf("%v, %v (it shows %+v)", err, readErr, seen)
	}
	return seen
}

func (s shown) mustBeDone(t testing.TB) {
	t.Helper()
	if s.Outcome != "done" {
		t.Errorf("the page shows %+v", s)
	}
}
