package browsertest

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// keysOf is a gallery with a tool whose description is longer than what is shown at first.
func keysOf(t *testing.T) object {
	definitions := filepath.Join(t.TempDir(), "definitions.json")
	text, _ := json.Marshal([]object{{"name": "long", "description": strings.Repeat("a long text ", 200), "inputSchema": object{"type": "object"}}})
	if err := os.WriteFile(definitions, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return object{"command": os.Args[0], "env": object{upstreamMode: "gallery", definitionsFile: definitions}, "prefix": ""}
}

// When a pressed button disappears, the focus goes to what is around it. At the body, a screen reader would begin anew.
func TestConsoleFocus(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"gallery": keysOf(t)}})
	tab := browser.console(t, bridge)
	tab.see(t, `document.querySelector(".live.on")`)
	tools := func(name string, more ...string) url.Values {
		query := url.Values{"view": {"tools"}, "name": {name}}
		for i := 0; i+1 < len(more); i += 2 {
			query.Set(more[i], more[i+1])
		}
		return query
	}
	for _, c := range []struct {
		name, button string
		query        url.Values
		call         bool
		to           string
	}{
		{"all of a text", `[...document.querySelectorAll(".description button")].find((b) => b.textContent.startsWith("all"))`, tools("long"), false, `.detail`},
		{"an element of an array", `document.querySelector("[aria-label='Remove lines 1']")`, tools("order"), false, `.add`},
		{"more of a table", `[...document.querySelectorAll("button")].find((b) => b.textContent === "Show more")`, tools("rows"), true, `.scroll`},
		{"equal lines", `document.querySelector(".fold-lines")`, tools("rows", "part", "definition", "with", "report"), false, `.diff`},
		{"another tool", `document.querySelector(".ways .chip")`, url.Values{"view": {"clients"}, "part": {"why"}, "tool": {"reprot"}}, false, `main`},
	} {
		tab.open(t, bridge, c.query)
		if c.call {
			tab.send(t)
		}
		tab.focus(t, c.button)
		tab.do(t, `window.pressed = document.activeElement`)
		tab.keys(t, "\r")
		tab.see(t, `!pressed.isConnected`)
		got, err := chromedp.Run(tab.ctx, chromedp.Evaluate[string](`new Promise((done) => setTimeout(() => done(document.activeElement.matches("`+c.to+`") ? "" : document.activeElement.outerHTML.slice(0, 100)), 50))`, chromedp.EvalAwaitPromise))
		if err != nil || got != "" {
			t.Errorf("%s: the focus is at %s, %v", c.name, got, err)
		}
	}

	// What a mouse removes does not scroll the panel to where the focus goes.
	tab.open(t, bridge, tools("order"))
	for i := range 30 {
		tab.see(t, `document.querySelectorAll("[aria-label^='Remove lines ']").length === `+strconv.Itoa(i+1))
		tab.do(t, `document.querySelector(".add").click()`)
	}
	tab.do(t, `document.addEventListener("pointerdown", () => { window.before = document.querySelector(".detail").scrollTop; }, true)`)
	if err := chromedp.Do(tab.ctx, chromedp.Click(chromedp.CSS("[aria-label='Remove lines 1']"))); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.activeElement.matches(".add")`)
	tab.see(t, `document.querySelector(".detail").scrollTop === before`)

	// Escape closes a panel wherever the focus is in it, which a click on its text gives to it.
	tab.open(t, bridge, tools("report"))
	tab.see(t, `document.querySelector(".detail .description")`)
	if err := chromedp.Do(tab.ctx, chromedp.Click(chromedp.CSS(".detail .description"))); err != nil {
		t.Fatal(err)
	}
	tab.keys(t, "\u001b")
	tab.see(t, `!document.querySelector(".detail")`)
}

// The buttons of the chat keep the focus when they can do nothing more.
func TestConsoleChatFocus(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	script, err := filepath.Abs("testdata/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{
		"mcpServers": object{"gallery": upstreamOf("gallery", nil)},
		"providers":  object{"demo": object{"type": "replay", "script": script, "model": "recorded"}},
	})
	tab := browser.console(t, bridge)
	tab.press(t, "Chat")
	tab.enter(t, ".prompt textarea", "Order two tea for Ann.")
	for _, c := range []struct{ button, after string }{
		{"Send", `document.querySelector(".ask-call")`},
		{"Cancel", `document.querySelector(".turn .failed")`},
		{"New", `!document.querySelector(".turn")`},
	} {
		tab.focus(t, `[...document.querySelectorAll("main button:not([aria-disabled=true])")].find((b) => b.textContent === "`+c.button+`")`)
		tab.keys(t, "\r")
		tab.see(t, c.after)
		got, err := chromedp.Run(tab.ctx, chromedp.Evaluate[string](`new Promise((done) => setTimeout(() => done(document.activeElement.tagName + document.activeElement.textContent.slice(0, 20)), 50))`, chromedp.EvalAwaitPromise))
		if err != nil || !strings.HasPrefix(got, "BUTTON") {
			t.Errorf("after %s the focus is at %s, %v", c.button, got, err)
		}
	}
}

// ring tells whether the tablist shows all of the outline of the tab that has the focus.
const ring = `(() => {
	const own = document.activeElement, style = getComputedStyle(own), out = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
	const around = own.parentElement.getBoundingClientRect(), r = own.getBoundingClientRect();
	return style.outlineStyle !== "none" && r.top - out >= around.top && r.bottom + out <= around.bottom && r.left - out >= around.left;
})()`

// One sees where the focus is, which row is chosen, and all tabs, also with forced colors and at a zoom of 400 %.
func TestConsoleSeen(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"gallery": keysOf(t)}})
	tab := browser.console(t, bridge)
	tab.open(t, bridge, url.Values{"view": {"tools"}, "name": {"report"}})
	tab.focus(t, `document.querySelector(".bar input")`)
	tab.keys(t, "\t")
	tab.see(t, `document.activeElement.matches("[role=tab]")`)
	tab.see(t, ring)

	if err := chromedp.Do(tab.ctx, chromedp.EmulateViewport(900, 700)); err != nil { // the panel covers the list
		t.Fatal(err)
	}
	tab.focus(t, `document.querySelector(".list")`)
	tab.see(t, `getComputedStyle(document.querySelector(".detail")).outlineStyle === "solid"`)

	if err := chromedp.Do(tab.ctx, contrasting); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `matchMedia("(forced-colors: active)").matches`)
	tab.see(t, `getComputedStyle(document.querySelector(".row[aria-selected=true]")).outlineStyle === "solid" && getComputedStyle(document.querySelector(".row[aria-selected=false]")).outlineStyle === "none"`)

	if err := chromedp.Do(tab.ctx, chromedp.EmulateViewport(320, 256)); err != nil { // 1280 × 1024 at a zoom of 400 %
		t.Fatal(err)
	}
	tab.see(t, `innerWidth === 320 && [...document.querySelectorAll(".tabs button")].every((b) => b.getBoundingClientRect().right <= b.parentElement.getBoundingClientRect().right)`)
	tab.see(t, `document.querySelector(".list").clientHeight > 150`)
}

// Each part that the keyboard reaches, to scroll it, has a name that is spoken.
func TestConsoleNamed(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"gallery": keysOf(t), "gone": object{"command": "no-such-program"}}})
	tab := browser.console(t, bridge)
	for _, name := range []string{"fail", "rows", "report"} {
		tab.open(t, bridge, url.Values{"view": {"tools"}, "name": {name}})
		tab.send(t)
		tab.see(t, `document.querySelector(".outcome")`)
		tab.see(t, named)
	}
	tab.open(t, bridge, url.Values{"view": {"servers"}, "name": {"gone"}})
	tab.see(t, `document.querySelector(".log div")`)
	tab.see(t, named)
}

const named = `[...document.querySelectorAll("main, [tabindex='0']:not(button)")].every((e) => e.ariaLabel)`

// contrasting makes the page that of a person whose system has few colors, with much contrast.
var contrasting = chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
	_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "forced-colors", Value: "active"}}})
	return err
})
