package browsertest

import (
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
)

// scrollTimes scrolls through a list in a hundred steps, and returns how long the slowest frame of them took, in
// ms, and how long a filter took until it was shown.
const scrollTimes = `(async () => {
	const frame = () => new Promise(requestAnimationFrame), list = document.querySelector(".list");
	let most = 0, rows = 0;
	for (let i = 1; i <= 100; i++) {
		const begun = performance.now();
		list.scrollTop = (list.scrollHeight * i) / 101;
		await frame();
		await frame();
		most = Math.max(most, performance.now() - begun);
		rows = Math.max(rows, document.querySelectorAll("[role=option]").length);
	}
	const search = document.querySelector("input[type=search]"), begun = performance.now();
	search.value = "thing 99";
	search.dispatchEvent(new Event("input", {bubbles: true}));
	while (!document.querySelector(".count").textContent.startsWith("111 ")) await frame();
	return [most, performance.now() - begun, rows];
})()`

// A list of 10,000 tools has only the rows in the document that are seen.
func TestConsoleLong(t *testing.T) {
	program, browser := build(t), startBrowser(t)
	bridge := serve(t, program, object{"mcpServers": object{"many": upstreamOf("many", nil)}})
	tab := browser.console(t, bridge)
	tab.see(t, `document.querySelector(".live.on")`)
	tab.open(t, bridge, url.Values{"view": {"tools"}})
	tab.see(t, `document.querySelector(".count")?.textContent === "10000 tools"`)
	took, err := chromedp.Run(tab.ctx, chromedp.Evaluate[[]float64](scrollTimes, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the slowest of 100 steps took %.1f ms for two frames, a filter of %d tools %.1f ms", took[0], manyTools, took[1])
	if rows := int(took[2]); rows > 80 {
		t.Errorf("%d rows are in the document", rows)
	}
	// The keyboard goes through the list, and the URL has what is chosen.
	tab.do(t, `document.querySelector(".list").dispatchEvent(new KeyboardEvent("keydown", {key: "End", bubbles: true}))`)
	tab.see(t, `new URLSearchParams(location.search).get("name") === "tool_09999"`)
	tab.see(t, `document.querySelector("[role=option][aria-selected=true]") && document.querySelector(".detail h2")?.textContent === "tool_09999"`)
	tab.look(t, "long")
}
