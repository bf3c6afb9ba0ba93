package browsertest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// asking is a config whose policy asks about some tools.
var asking = object{
	"tokens":     object{"operator": "0123456789abcdef", "ann": annsToken},
	"mcpServers": object{"gallery": upstreamOf("gallery", nil)},
	"policy": object{"approvals": object{"wait": "10m"}, "rules": []object{
		{"name": "orders", "tools": []string{"order"}, "decision": "ask", "edit": true, "reason": "somebody pays for them"},
		{"tools": []string{"report", "attack"}, "decision": "ask"},
	}},
}

// The console shows the calls that wait, as they will be sent, and a person allows, edits and denies them with the
// keyboard.
func TestConsoleApprovals(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, asking)
	tab := browser.console(t, bridge)
	tab.press(t, "Approvals")
	tab.see(t, `document.querySelector(".empty")?.textContent.includes("No call waits")`)
	tab.look(t, "approvals-none")
	tab.do(t, `window.reached = fetch, window.said = {}, window.fetch = (...of) => String(of[0]).includes("api/approvals") ? Promise.resolve(Response.json({waiting: 0, all: [], ...said})) : reached(...of)`)
	for held, says := range map[string]string{"true": "No call runs yet: why.", "false": "All calls are stopped: why. mcpbridge stop --lift ends that."} {
		tab.do(t, `window.said = {stopped: "why", held: `+held+`}`)
		tab.see(t, `document.querySelector("main .note[role=alert]")?.textContent === "`+says+`"`)
	}
	tab.do(t, `window.fetch = reached`)
	tab.see(t, `!document.querySelector("main .note")`)

	session := bridge.initializeAs(t, annsToken, `<img src=x onerror="document.title='broken'"> `+"\u202e")
	const hostile = `{"customer":12345678901234567890,"customer":1,"note":"<script>document.title='broken'</script> \u202e"}`
	ordered := bridge.callLater(t, session, 2, "order", hostile)
	tab.see(t, `document.querySelector(".approval pre")?.textContent.includes("12345678901234567890")`)
	tab.see(t, `document.querySelector(".approval pre").textContent.includes("\"customer\": 1,") && document.querySelector(".approval").textContent.includes("\\u202e")`)
	tab.see(t, `document.querySelector(".approval").textContent.includes("orders: somebody pays for them") && document.querySelector(".approval").textContent.includes("ann")`)
	tab.see(t, `document.title.startsWith("(1) ") && document.querySelector("nav .badge").textContent === "1"`)
	tab.look(t, "approvals")
	reported := bridge.callLater(t, session, 3, "report", `{}`)
	tab.see(t, `document.querySelectorAll(".approval").length === 2`)
	if buttons := `[...document.querySelectorAll(".approval")[1].querySelectorAll("button")].map((b) => b.textContent).join()`; true {
		tab.see(t, buttons+` === "Allow,Deny"`) // its rule lets nobody edit
	}

	tab.focus(t, `[...document.querySelectorAll(".approval button")].find((b) => b.textContent === "Edit")`)
	tab.keys(t, "\r")
	tab.see(t, `document.querySelector(".approval textarea")`)
	tab.enter(t, ".approval textarea", `[1]`)
	tab.focus(t, `[...document.querySelectorAll(".approval button")].find((b) => b.textContent === "Allow with these")`)
	tab.keys(t, "\r")
	tab.see(t, `document.querySelector(".approval .failed")?.textContent.includes("expected an object")`)
	tab.look(t, "approvals-edit")
	tab.enter(t, ".approval textarea", `{"customer": 98765432109876543210}`)
	tab.focus(t, `[...document.querySelectorAll(".approval button")].find((b) => b.textContent === "Allow with these")`)
	tab.keys(t, "\r")
	if got := <-ordered; !strings.Contains(got, "98765432109876543210") || !strings.Contains(got, "has changed") {
		t.Errorf("the edited call: %s", got)
	}
	tab.see(t, `document.querySelector(".approval [aria-label='Changed arguments']")?.textContent.includes("98765432109876543210")`)
	tab.see(t, `document.querySelector(".approval .tag").textContent === "allowed" && document.activeElement.matches(".approval")`)
	tab.enter(t, ".approval input", "not <b>now</b>")
	tab.focus(t, `[...document.querySelectorAll(".approval button")].find((b) => b.textContent === "Deny")`)
	tab.keys(t, "\r")
	if got := <-reported; !strings.Contains(got, `not \u003cb\u003enow`) && !strings.Contains(got, "not <b>now</b>") {
		t.Errorf("the denied call: %s", got)
	}
	tab.see(t, `document.querySelectorAll(".approval .tag.bad").length === 1 && !document.querySelector("nav .badge")`)
	tab.see(t, headings+` === "H1,H2,H3,H2"`)
	tab.look(t, "approvals-decided")
	tab.press(t, "Traffic")
	tab.press(t, "Approvals")
	tab.see(t, `document.querySelector("h2")?.textContent === "Decided lately" && document.querySelectorAll(".approval").length === 2`)
	tab.see(t, headings+` === "H1,H2,H3,H3,H4"`)
	tab.see(t, `!document.title.includes("broken")`)
}

// headings are the levels of the headings of a view.
const headings = `[...document.querySelectorAll("main :is(h1, h2, h3, h4)")].map((h) => h.tagName).join()`

// A call from the console goes on while its own approval is looked for, and its result is where it was made.
func TestConsoleApprovesOwn(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, asking)
	tab := browser.console(t, bridge)
	tab.see(t, `document.querySelector(".live.on")`)
	tab.open(t, bridge, url.Values{"view": {"tools"}, "name": {"report"}})
	tab.send(t)
	tab.press(t, "Approvals")
	tab.click(t, "Allow")
	tab.do(t, `history.back()`)
	tab.see(t, `document.querySelector(".outcome .markdown table")`)
}

// A link leads to the page of one call, from any other page. It is for the operator alone, and an answer counts once.
func TestApprovalPage(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, asking)
	tab := browser.console(t, bridge)
	session := bridge.initializeAs(t, annsToken, "some-editor")
	long := strings.Repeat("a long text ", 1000)
	ran := bridge.callLater(t, session, 2, "order", `{"note":"`+long+`"}`)
	tab.press(t, "Approvals")
	tab.see(t, `document.querySelector(".approval pre")?.textContent.length > 10000`)
	id := bridge.approval(t)

	page := bridge.url + "/approve/" + id
	if status, head, body := get(t, page, "Sec-Fetch-Site", "cross-site"); status != 200 || strings.Contains(body, "order") || !strings.Contains(head.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the page, without credentials: HTTP %d, %s\n%s", status, head, body)
	}
	api := bridge.url + "/console/api/approvals"
	for _, headers := range [][]string{nil, {"Authorization", "Bearer " + annsToken}} {
		if status, _, body := get(t, api+"?id="+id, headers...); status != 401 || strings.Contains(body, "order") {
			t.Errorf("the approval, with %s: HTTP %d\n%s", headers, status, body)
		}
	}
	if err := chromedp.Do(tab.ctx, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector("h1")?.textContent === "May this call run?" && document.querySelector(".approval pre")`)
	tab.look(t, "approve")
	tab.do(t, `window.reached = fetch, window.fetch = () => Promise.reject(new TypeError("the bridge is away"))`)
	tab.see(t, `document.querySelector(".note.failed")?.textContent === "the bridge is away"`)
	tab.see(t, `document.querySelector(".approval .tag").textContent === "waits" && [...document.querySelectorAll("button")].some((b) => b.textContent === "Allow")`)
	tab.do(t, `window.fetch = reached`)
	tab.see(t, `!document.querySelector(".note.failed")`)
	tab.focus(t, `[...document.querySelectorAll("button")].find((b) => b.textContent === "Allow")`)
	tab.keys(t, "\r")
	if got := <-ran; !strings.Contains(got, "a long text") {
		t.Errorf("the call: %.200s", got)
	}
	tab.see(t, `document.querySelector(".approval .tag.good") && document.body.textContent.includes("You can close this page")`)
	tab.look(t, "approve-allowed")
	again := `fetch("../console/api/approvals/decide?id=` + id + `", {method: "POST", body: '{"approve":true}'}).then((r) => r.json()).then((a) => a.error)`
	if text, err := chromedp.Run(tab.ctx, chromedp.Evaluate[string](again, chromedp.EvalAwaitPromise)); err != nil || !strings.Contains(text, "decided by") {
		t.Errorf("once more: %q, %v", text, err)
	}
	if err := chromedp.Do(tab.ctx, chromedp.Navigate(bridge.url+"/approve/AAAAAAAA")); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector(".note.failed")?.textContent.includes("there has never been one")`)

	if _, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](`fetch("../console/visit", {method: "DELETE"}).then(() => true)`, chromedp.EvalAwaitPromise)); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(tab.ctx, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector(".entry")`)
	tab.do(t, `document.querySelector("#token").value = "0123456789abcdef", document.querySelector(".entry button").click()`)
	tab.see(t, `document.querySelector(".approval .tag.good")`)
}

// focus gives an element the focus.
func (b tab) focus(t *testing.T, element string) {
	t.Helper()
	b.see(t, element)
	b.do(t, element+`.focus()`)
}

// keys presses keys.
func (b tab) keys(t *testing.T, keys string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(keys)); err != nil {
		t.Fatal(err)
	}
}

// initializeAs begins the session of a client with a name.
func (b *running) initializeAs(t *testing.T, token, name string) (session string) {
	t.Helper()
	info, _ := json.Marshal(object{"name": name, "version": "1"})
	return b.post(t, token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":`+string(info)+`}}`).Get("Mcp-Session-Id")
}

// callLater calls a tool for ann, and delivers the answer when there is one.
func (b *running) callLater(t *testing.T, session string, id int, tool, arguments string) <-chan string {
	message, _ := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": object{"name": tool}})
	text := strings.Replace(string(message), `"params":{`, `"params":{"arguments":`+arguments+`,`, 1)
	r, err := http.NewRequestWithContext(t.Context(), "POST", b.url+"/mcp", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + annsToken, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session} {
		r.Header.Set(name, value)
	}
	answered := make(chan string, 1)
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		answered <- string(body)
	}()
	return answered
}

// approval returns the ID of the only call that waits.
func (b *running) approval(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(b.program, "approvals", "--json", "--config", b.config).Output()
	var all []struct{ ID string }
	if err != nil || json.Unmarshal(out, &all) != nil || len(all) != 1 {
		t.Fatal(err, string(out))
	}
	return url.PathEscape(all[0].ID)
}

// get requests a page with headers, names and values.
func get(t *testing.T, address string, headers ...string) (status int, head http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}
