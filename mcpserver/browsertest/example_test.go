package browsertest

import (
	"flag"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// The page of examples/browser, with a bridge that knows no token and with one that wants one: the model calls
// the page's tools, and the person allows the one that changes something.
func TestExample(t *testing.T) {
	const example = "../../examples/browser/"
	browser := startBrowser(t)
	program := build(t)
	page := httptest.NewServer(http.FileServer(http.Dir(example)))
	t.Cleanup(page.Close)
	_, port, _ := net.SplitHostPort(page.Listener.Addr().String())
	script, err := filepath.Abs(example + "recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	settings := func(more object) object { // those of its mcpbridge.json, and more
		more["mcpServers"], more["lending"] = object{}, true
		more["loop"] = object{"approve": object{"list_orders": "allow", "*": "ask"}}
		more["providers"] = object{"recorded": object{"type": "replay", "script": script, "model": "orders"}}
		return more
	}
	for name, c := range map[string]struct {
		host     string
		settings object
		token    string
	}{
		"local":     {"127.0.0.1", object{}, ""},
		"protected": {friend, object{"tokens": object{"page": token}, "allowedOrigins": []string{"http://" + friend + ":" + port}}, token},
	} {
		t.Run(name, func(t *testing.T) {
			bridge := serve(t, program, settings(c.settings))
			tab := browser.newTab(t)
			tab.visit(t, "http://"+c.host+":"+port+"/")
			tab.do(t, `document.querySelector("[name=url]").value = "`+bridge.url+`", document.querySelector("[name=token]").value = "`+c.token+`"`)
			tab.do(t, `document.querySelector("#connect button").click()`)
			tab.see(t, `!document.querySelector("#ask").hidden`)
			tab.do(t, `document.querySelector("#ask button").click()`)
			tab.see(t, `document.querySelector("#chat button")`)
			tab.see(t, `document.querySelector("#chat p").textContent.startsWith('Run mark_orders {"ids":[2,3]}?')`)
			if flag.Lookup("test.artifacts").Value.String() == "true" {
				tab.keep(t, name)
			}
			tab.do(t, `document.querySelector("#chat button").click()`)
			tab.see(t, `document.querySelector("#chat").textContent.endsWith("Both are marked.")`)
			tab.see(t, `[...document.querySelectorAll("tr")].map((row) => row.className).join() === ",marked,marked"`)
			tab.do(t, `document.querySelector("#ask button").click()`) // to which the recording has no answer
			tab.see(t, `/ Both are marked\.\n+.+\n$/.test(document.querySelector("#chat").textContent)`)
		})
	}
}

// keep keeps a picture of the page.
func (b tab) keep(t *testing.T, name string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(640, 420)); err != nil {
		t.Fatal(err)
	}
	shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), shot, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
