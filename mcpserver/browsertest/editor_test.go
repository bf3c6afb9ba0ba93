package browsertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// editor is a client over stdio.
type editor struct {
	t    testing.TB
	in   io.Writer
	out  *json.Decoder
	last int
}

// startEditor runs mcpbridge stdio in front of a bridge until the test ends.
func startEditor(t testing.TB, to *running) *editor {
	t.Helper()
	cmd := exec.Command(to.program, "stdio", "--upstream", to.url+"/mcp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	e := &editor{t: t, in: in, out: json.NewDecoder(out)}
	e.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return e
}

// request returns the answer to a request, result or error.
func (e *editor) request(method, params string) json.RawMessage {
	e.t.Helper()
	e.last++
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.last, method, params)
	for {
		var m struct {
			ID            int
			Result, Error json.RawMessage
		}
		if err := e.out.Decode(&m); err != nil {
			e.t.Fatalf("%s: %v", method, err)
		}
		if m.ID == e.last {
			return append(m.Result, m.Error...)
		}
	}
}

func (e *editor) call(tool, arguments string) json.RawMessage {
	e.t.Helper()
	return e.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// BenchmarkPageTool compares, by their medians, what an editor waits for a tool of a page with what it waits for
// one of a server, and with the call within the page.
func BenchmarkPageTool(b *testing.B) {
	browser := startBrowser(b)
	pages := httptest.NewServer(pageHandler(""))
	b.Cleanup(pages.Close)
	bridge := serve(b, build(b), object{"lending": true})
	tab := browser.open(b, pages.URL, bridge, url.Values{"do": {"lend"}, "title": {"one"}})
	tab.read(b).mustBeDone(b)
	within, err := chromedp.Run(tab.ctx, chromedp.Evaluate[float64](medianWithin))
	if err != nil {
		b.Fatal(err)
	}
	editor := startEditor(b, bridge)
	var ofPage, ofServer []time.Duration
	for b.Loop() {
		begun := time.Now()
		editor.call("title", "{}")
		between := time.Now()
		editor.call("count", `{"to":0}`)
		ofPage, ofServer = append(ofPage, between.Sub(begun)), append(ofServer, time.Since(between))
	}
	slices.Sort(ofPage)
	slices.Sort(ofServer)
	page, server := ofPage[len(ofPage)/2], ofServer[len(ofServer)/2]
	b.ReportMetric(float64(page)/float64(server), "of-a-server's")
	b.ReportMetric(float64(page)/1e6-within, "ms-over-the-page's")
	b.ReportMetric(0, "ns/op")
}

// medianWithin calls the tool within the page, some times each, as its clock is coarse.
const medianWithin = `(() => {
	const all = [];
	for (let i = 0; i < 100; i++) {
		const begun = performance.now();
		for (let n = 0; n < 100; n++) titleTool.execute({});
		all.push((performance.now() - begun) / 100);
	}
	return all.sort((a, b) => a - b)[50];
})()`
