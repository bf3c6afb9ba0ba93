package browsertest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gorilla/websocket"
)

const annsToken = "fedcba9876543210"

// governed is a config in which not every client sees every tool.
var governed = object{
	"tokens":   object{"operator": "0123456789abcdef", "ann": annsToken},
	"profiles": object{"few": object{"principals": []string{"ann"}, "tools": object{"exclude": []string{"cou*"}}}},
	"limits":   object{"rate": object{"e*": "3/day", "*": "9/day shared"}},
}

// The console says why a client does not see a tool, where it is renamed to, and what clients have used of quotas.
func TestConsoleWhy(t *testing.T) {
	program := build(t)
	browser := startBrowser(t)
	bridge := serve(t, program, governed)
	bridge.initialize(t, annsToken)
	tab := browser.console(t, bridge)
	tab.see(t, `document.querySelector(".live.on")`)
	tab.press(t, "Clients")
	tab.see(t, `[...document.querySelectorAll(".card")].some((c) => c.textContent.includes("some-editor") && c.textContent.includes("few"))`)
	tab.look(t, "sessions")
	tab.do(t, `[...document.querySelectorAll(".card")].find((c) => c.textContent.includes("some-editor")).querySelectorAll(".buttons button")[1].click()`)
	tab.do(t, `(() => { const to = document.querySelector(".ask input"); to.value = "count"; to.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	tab.see(t, `document.querySelector(".way .tag")?.textContent === "not seen"`)
	tab.see(t, `document.querySelector(".steps .ends")?.textContent.includes("its tools leave out cou*")`)
	tab.see(t, `new URLSearchParams(location.search).get("tool") === "count"`)
	tab.look(t, "why")
	tab.enter(t, ".ask select", "nobody") // also while there are sessions
	tab.see(t, `document.querySelector(".ask select").value === "nobody" && document.querySelector(".steps .ends")?.textContent.includes("a caller without a name")`)

	tab.open(t, bridge, url.Values{"view": {"clients"}, "part": {"why"}, "who": {"token bob"}, "tool": {"cuont"}})
	tab.see(t, `document.querySelector(".ways")?.textContent.includes("Did you mean count")`)

	tab.open(t, bridge, url.Values{"view": {"clients"}, "part": {"quotas"}})
	tab.see(t, `[...document.querySelectorAll("tbody tr")].map((row) => row.innerText.split("\t").join(" ").trim()).join("; ") === "0 9 * all together; 0 3 e* without a name; 0 3 e* ann; 0 3 e* bob"`)
	tab.look(t, "quotas")
}

// The console shows the pages that lend tools, and the tools that are left out.
func TestConsolePages(t *testing.T) {
	program := build(t)
	browser := startBrowser(t)
	server := object{"command": os.Args[0], "env": object{upstreamMode: "1"}, "prefix": ""}
	bridge := serve(t, program, object{
		"tokens": object{"operator": "0123456789abcdef"}, "lending": true, "names": object{"conflict": "error"},
		"mcpServers": object{"one": server, "two": server},
	})
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(bridge.url, "http")+"/ws", http.Header{"Authorization": {"Bearer 0123456789abcdef"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"shop","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"mcpbridge/lend","params":{"page":{"id":"p","title":"Orders","url":"https://shop.example/orders","focused":true},"tools":[{"name":"highlight_row","description":"Highlights a row.","inputSchema":{"type":"object"}}]}}`,
	} {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	tab := browser.console(t, bridge)
	tab.open(t, bridge, url.Values{"view": {"clients"}, "part": {"pages"}})
	tab.see(t, `document.querySelector(".card .name")?.textContent === "Orders" && document.querySelector(".card .chip")?.textContent === "highlight_row"`)
	tab.look(t, "pages")
	tab.open(t, bridge, url.Values{"view": {"servers"}, "part": {"names"}})
	tab.see(t, `document.querySelector(".problem .tag")?.textContent === "left out" && document.querySelector(".problem .text").textContent.includes("count")`)
	tab.look(t, "names")
}

// open opens a view of the console, as its URL chooses it.
func (b tab) open(t *testing.T, bridge *running, query url.Values) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(bridge.url+"/?"+query.Encode())); err != nil {
		t.Fatal(err)
	}
}

// initialize begins the session of a client of the legacy era.
func (b *running) initialize(t *testing.T, token string) (session string) {
	t.Helper()
	r := b.post(t, token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"some-editor","version":"1.2"}}}`)
	return r.Get("Mcp-Session-Id")
}

func (b *running) post(t *testing.T, token, session, message string) http.Header {
	t.Helper()
	if !json.Valid([]byte(message)) {
		t.Fatal(message)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode >= 300 {
		t.Fatal(answer.Status)
	}
	return answer.Header
}

// restarted shows calls in a view of its own, pauses them, calls the first one again, has another bridge take its place,
// and returns the arguments that are shown before and after the view goes on, and the number of results then.
const restarted = `(async () => {
	const { html, render } = await import("./console/html.js");
	const { Calls, CallsView } = await import("./console/calls.js");
	const page = document.body.appendChild(document.createElement("section")), calls = new Calls(), none = () => {};
	const show = async () => {
		render(html` + "`<${CallsView} ...${{ calls, servers: [], callers: [], url: { call: '1' }, go: none, contents: true, setContents: none }} />`" + `, page);
		await new Promise((resolve) => setTimeout(resolve));
	};
	const take = (time, text) => {
		calls.take("begin", []);
		calls.take("calls", [{ number: 1, call: { time, session: "s", method: "tools/call", target: "gallery__none", outcome: "ok", ms: 1, in: 1, out: 1 } }]);
		calls.take("contents", [{ number: 1, arguments: { text } }]);
		return show();
	};
	const click = async (text) => { [...page.querySelectorAll("button")].find((b) => b.textContent.startsWith(text)).click(); await show(); };
	const shown = () => page.querySelector(".detail").textContent.match(/older|newer/)?.[0];
	await take("2026-01-01T10:00:00Z", "older");
	await click("Pause");
	await click("Call again");
	while (!page.querySelector(".outcome")) await show();
	await take("2026-01-01T11:00:00Z", "newer");
	const before = shown();
	await click("Resume");
	const after = [before, shown(), String(page.querySelectorAll(".outcome").length)];
	render(null, page);
	page.remove();
	return after;
})()`

// A call of a bridge that has started again is not taken for the one of the same number before.
func TestConsoleRestarted(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"gallery": upstreamOf("gallery", nil)}})
	tab := browser.console(t, bridge)
	got, err := chromedp.Run(tab.ctx, chromedp.Evaluate[[]string](restarted, chromedp.EvalAwaitPromise))
	if want := []string{"older", "newer", "0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// On a phone all views, and what signs out, are in sight, also if a server has failed, and no heading of a table is
// broken within a word.
func TestConsoleNarrow(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"gallery": upstreamOf("gallery", nil), "gone": object{"command": "no-such-program"}}})
	tab := browser.console(t, bridge)
	if err := chromedp.Do(tab.ctx, chromedp.EmulateViewport(360, 740)); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector("nav .badge")`)
	tab.see(t, `innerWidth === 360 && document.querySelector("nav").scrollWidth <= document.querySelector("nav").clientWidth`)
	tab.open(t, bridge, url.Values{"view": {"tools"}, "name": {"gallery__order"}})
	tab.click(t, "Providers")
	tab.see(t, `[...document.querySelectorAll("th")].some((h) => h.textContent === "Provider")`)
	tab.see(t, `[...document.querySelectorAll("th")].filter((h) => /^\w+$/.test(h.textContent)).every((h) => {
		const inside = document.createRange();
		inside.selectNodeContents(h);
		return new Set([...inside.getClientRects()].map((r) => r.top)).size === 1;
	})`)
}
