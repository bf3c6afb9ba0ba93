package browsertest

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// The console opens with a ticket, shows the servers and what clients call, and calls a tool itself.
func TestConsole(t *testing.T) {
	program := build(t)
	browser := startBrowser(t)
	bridge := serve(t, program, object{"tokens": object{"operator": "0123456789abcdef"}})
	tab := browser.console(t, bridge)
	tab.see(t, `!location.search.includes("ticket")`)
	tab.see(t, `document.querySelector(".live.on")`)
	tab.see(t, `document.querySelector(".empty")?.textContent.includes("No calls yet")`)

	tab.press(t, "Servers")
	tab.see(t, `document.querySelector(".card .tag.good")?.textContent === "ready"`)
	tab.look(t, "servers")
	tab.press(t, "Tools")
	tab.see(t, `document.querySelectorAll("[role=option]").length === 1`)
	tab.do(t, `document.querySelector("[role=option]").click()`)
	tab.see(t, `document.querySelector(".run button.primary")`)
	tab.do(t, `(() => { const to = document.querySelector(".field input, .field textarea"); to.value = "3"; to.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	tab.do(t, `document.querySelector(".run button.primary").click()`)
	tab.see(t, `document.querySelector(".run .content")?.textContent.includes("3")`)
	tab.do(t, `document.querySelector(".way-in-time summary").click()`)
	tab.see(t, `document.querySelector(".way-in-time")?.textContent.includes("progress 3 of 3 number 3")`)
	tab.look(t, "tools")

	// A call that is canceled while its answer streams is no exception of the page.
	tab.do(t, `(() => { const to = document.querySelector(".field input, .field textarea"); to.value = "-3"; to.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	tab.do(t, `document.querySelector(".run button.primary").click()`)
	tab.see(t, `document.querySelector(".run progress[value]")`)
	tab.click(t, "Cancel")
	tab.see(t, `document.querySelector(".outcome .failed")?.textContent === "canceled"`)

	tab.press(t, "Traffic")
	tab.see(t, `document.querySelector(".calls [role=option] b")?.textContent === "count"`)
	tab.do(t, `document.querySelector("[role=option]").click()`)
	tab.see(t, `document.querySelector(".detail")?.textContent.includes("mcpbridge console")`)
	tab.see(t, `document.querySelector(".both")?.textContent.includes("MCP 2026-07-28 over HTTP")`)
	tab.see(t, `location.search.includes("call=")`)
	tab.look(t, "calls")

	// The cookie opens the console again, until it is given back; then the operator's token does.
	if err := chromedp.Do(tab.ctx, chromedp.Navigate(bridge.url+"/?view=servers")); err != nil {
		t.Fatal(err)
	}
	tab.see(t, `document.querySelector(".card .tag")`)
	tab.do(t, `[...document.querySelectorAll("button")].find((b) => b.textContent === "Sign out").click()`)
	tab.see(t, `document.querySelector(".entry")?.textContent.includes("You are signed out") && document.activeElement.id === "token"`)
	tab.look(t, "entry")
	tab.do(t, `document.querySelector("#token").value = "0123456789abcdef", document.querySelector(".entry button").click()`)
	tab.see(t, `document.querySelector(".card .tag")`)
}

// console opens the console of a bridge with a ticket.
func (b browser) console(t *testing.T, bridge *running) tab {
	t.Helper()
	out, err := exec.Command(bridge.program, "open", "--no-browser", "--config", bridge.config).Output()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, quiet); err != nil {
		t.Fatal(err)
	}
	go func() { // until the tab closes
		for m, err := range chromedp.Console(ctx) {
			if err == nil && (m.IsException() || m.Type == chromedp.ConsoleError && !strings.HasPrefix(m.Text, "Failed to load resource") || strings.Contains(m.Text, "Content Security Policy")) {
				t.Errorf("the console of the page: %s", m)
			}
		}
	}()
	limited, stop := context.WithTimeout(ctx, 4*patience) // for all views that a test looks at
	t.Cleanup(stop)
	if err := chromedp.Do(limited, chromedp.Navigate(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	opened := tab{ctx: limited}
	opened.see(t, `document.querySelector("nav button")`) // a page left earlier may have spent the ticket and kept no cookie
	return opened
}

// see waits until an expression is true.
func (b tab) see(t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](`Boolean(`+expression+`)`)); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		t.Fatalf("%s: %v; the page shows\n%s", expression, err, text)
	}
}

func (b tab) do(t *testing.T, statement string) {
	t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`(`+statement+`, true)`)); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// press chooses a view.
func (b tab) press(t *testing.T, title string) {
	t.Helper()
	button := `[...document.querySelectorAll("nav button")].find((b) => b.textContent.trim().startsWith("` + title + `"))`
	b.see(t, button)
	b.do(t, button+`.click()`)
}

// themed makes the page that of a person who prefers a theme, and no motion: a color that changes slowly has too
// little contrast meanwhile.
func themed(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	})
}

// picture keeps pictures of the page at three widths in both themes, with -artifacts.
func (b tab) picture(t *testing.T, name string) {
	t.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		for width, height := range map[int64]int64{390: 844, 1024: 768, 1600: 1000} {
			err := chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height))
			if err == nil {
				err = chromedp.Do(b.ctx, themed(theme))
			}
			shot, failed := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			path := filepath.Join(t.ArtifactDir(), strings.Join([]string{name, theme, map[int64]string{390: "phone", 1024: "tablet", 1600: "wide"}[width]}, "-")+".png")
			if err := os.WriteFile(path, shot, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
