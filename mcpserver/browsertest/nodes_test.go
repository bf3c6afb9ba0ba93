package browsertest

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

// TestNodes: a page that is connected to one node of a cluster is called through another one, and so is that which was
// looked at last of pages at two nodes.
func TestNodes(t *testing.T) {
	browser, program, nats := startBrowser(t), build(t), fleettest.NATS(t)
	pages := httptest.NewServer(pageHandler(""))
	t.Cleanup(pages.Close)
	var nodes []*running
	for i := range 3 {
		nodes = append(nodes, serve(t, program, object{"lending": true, "cluster": object{
			"name": "test", "node": fmt.Sprint("node", i), "nats": nats, "secrets": []string{fleettest.Secret},
		}}))
	}
	open := func(node int, title string) tab {
		tab := browser.open(t, pages.URL, nodes[node], url.Values{"do": {"lend"}, "title": {title}})
		tab.read(t).mustBeDone(t)
		return tab
	}
	one := open(0, "one")
	nodes[2].mustSay(t, "one")
	two := open(1, "two")
	nodes[2].mustSay(t, "two")
	one.do(t, `document.hasFocus = () => true, window.dispatchEvent(new Event("focus"))`)
	nodes[2].mustSay(t, "one")
	nodes[1].mustSay(t, "one")
	nodes[0].stop()
	nodes[2].mustSay(t, "two")
	two.close()
	nodes[2].mustSay(t, "counted") // by the server, which takes any name
}

// mustSay waits until a call of title is answered so.
func (b *running) mustSay(t *testing.T, what string) {
	t.Helper()
	limit, got := time.Now().Add(patience), ""
	for range time.Tick(50 * time.Millisecond) {
		if got, _ = b.call("title"); strings.Contains(got, what) {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("title: %s, want %s", got, what)
		}
	}
}
