package browsertest

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// In the chat a model calls tools, a person allows one of them, and the conversation is there again afterwards.
func TestConsoleChat(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	script, err := filepath.Abs("testdata/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{
		"mcpServers": object{"gallery": upstreamOf("gallery", nil)},
		"providers":  object{"demo": object{"type": "replay", "script": script, "model": "recorded"}},
		"loop":       object{"provider": "demo"},
	})
	tab := browser.console(t, bridge)
	tab.press(t, "Chat")
	tab.enter(t, ".prompt textarea", "Order two tea for Ann.")
	tab.click(t, "Send")
	tab.see(t, `document.querySelector(".thinking")?.textContent.includes("The user wants tea")`)
	tab.see(t, `document.querySelector(".ask-call")`)
	tab.see(t, `document.querySelector(".ask-call").textContent.includes("12345678901234567890")`) // as it is sent
	tab.look(t, "chat-asks")
	tab.click(t, "Edit")
	tab.see(t, `document.querySelector(".ask-call textarea")?.value.includes("12345678901234567890")`)
	tab.click(t, "Allow with these")
	tab.see(t, `document.activeElement.matches(".fold-call")`) // the button that had the focus has gone
	tab.see(t, `document.querySelector(".turn .markdown table") && [...document.querySelectorAll(".tool-call .tag")].every((s) => s.textContent === "done")`)
	tab.do(t, `document.querySelector(".fold-call").click()`)
	tab.see(t, `document.querySelector(".tool-call .content")?.textContent.includes("row 299")`)
	tab.do(t, `document.querySelectorAll(".fold-call")[1].click()`)
	tab.see(t, `document.querySelectorAll(".tool-call")[1].textContent.includes("12345678901234567890")`)
	tab.look(t, "chat")
	if err := chromedp.Do(tab.ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelectorAll(".tool-call").length === 2 && document.querySelector(".asked-text")?.textContent.includes("two tea")`)
	tab.enter(t, ".prompt textarea", "Thank you.")
	tab.do(t, `document.querySelector(".prompt textarea").focus()`)
	if err := chromedp.Do(tab.ctx, chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector(".prompt textarea").value === ""`)
	tab.see(t, `document.querySelectorAll(".turn").length === 2 && document.querySelector(".turn:last-of-type")?.textContent.includes("You are welcome")`)
	tab.click(t, "New")
	tab.see(t, `document.querySelectorAll(".turn").length === 0`)

	bare := serve(t, program, nil)
	tab = browser.console(t, bare)
	tab.open(t, bare, url.Values{"view": {"chat"}})
	tab.see(t, `document.querySelector(".card h2")?.textContent === "No language model is configured"`)
	tab.look(t, "chat-without-model")
}
