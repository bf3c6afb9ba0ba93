package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// clusterNode is a node of a cluster, with a caller that watches its tabs.
type clusterNode struct {
	*web.Lending
	t       *testing.T
	server  *httptest.Server
	caller  bridge.Session
	changed chan struct{} // receives one when the tabs have changed
	heard   atomic.Int64  // counts how often the caller was told so
}

func newClusterNode(t *testing.T) *clusterNode {
	n := &clusterNode{Lending: web.NewLending(), t: t, changed: make(chan struct{}, 1)}
	n.SetClustered()
	n.server = httptest.NewServer(n)
	t.Cleanup(n.server.Close)
	notify := func(method string, _ []byte) {
		if method == wire.NotificationResourceUpdated {
			n.heard.Add(1)
		}
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
	var err error
	if n.caller, err = n.Wrap(sourcetest.NewFake(), bridge.OverlayOptions{}).Open(t.Context(), &bridge.Caller{ID: "caller", Notify: notify}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.caller.Close() })
	n.caller.Do(t.Context(), &bridge.Request{Method: wire.MethodSubscribe, Target: "mcpbridge://tabs"})
	return n
}

// follow has the tabs of another node, until the test ends or cut is called.
func (n *clusterNode) follow(other *httptest.Server) (cut func()) {
	ctx, cancel := context.WithCancel(n.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Follow(ctx, func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", other.Listener.Addr().String())
		})
	}()
	cut = func() {
		cancel()
		<-ended
	}
	n.t.Cleanup(cut)
	return cut
}

// await waits until the tabs, as fmt prints them, have each of some texts.
func (n *clusterNode) await(texts ...string) {
	n.t.Helper()
	for {
		tabs, all := fmt.Sprintf("%+v", n.Tabs()), true
		for _, text := range texts {
			all = all && strings.Contains(tabs, text)
		}
		if all {
			return
		}
		<-n.changed
	}
}

// call calls a tool.
func (n *clusterNode) call(name string) bridge.Reply {
	n.t.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + name + `","arguments":{}}`))
	if err != nil {
		n.t.Fatal(err)
	}
	return n.caller.Do(n.t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: name})
}

// join connects a page, which lends no tools yet. ask answers the calls of its tools.
func (n *clusterNode) join(ask func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)) mcpserver.Lender {
	p := n.Join(&bridge.Caller{Ask: ask})
	n.t.Cleanup(p.Leave)
	return p
}

// lend lends a page's tools, and returns the handle of its tab.
func lend(t *testing.T, p mcpserver.Lender, page, tools string) string {
	t.Helper()
	reply := p.Lend(t.Context(), &wire.Params{Raw: []byte(`{"page":{` + page + `},"tools":[` + tools + `]}`)})
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	handle, _ := wire.Text(wire.Lookup(reply.Result, "tab"))
	return handle
}

// The white space of a definition makes no difference between the nodes.
func TestSameToolOfNodes(t *testing.T) {
	a, b := newClusterNode(t), newClusterNode(t)
	b.follow(a.server)
	spaced := define("x", `, "inputSchema": {"type": "object"}`)
	lend(t, a.join(nil), `"title":"one"`, spaced)
	b.await("Title:one")
	lend(t, b.join(nil), `"title":"two"`, spaced)
	for _, tab := range b.Tabs() {
		if fmt.Sprint(tab.Tools) != "[x]" {
			t.Errorf("tab %s has the tools %v", tab.Title, tab.Tools)
		}
	}
}

// A connection is shown again when a newer one of its page, at another node, is lost.
func TestReplacedOfNodes(t *testing.T) {
	a, b := newClusterNode(t), newClusterNode(t)
	cut := a.follow(b.server)
	b.follow(a.server)
	handle := lend(t, a.join(nil), `"id":"p","title":"old"`, define("x", ""))
	b.await("Title:old")
	if again := lend(t, b.join(nil), `"id":"p","title":"new"`, define("x", "")); again != handle {
		t.Errorf("the page is tab %s, and was %s", again, handle)
	}
	a.await("Title:new")
	if tabs := a.Tabs(); len(tabs) != 1 {
		t.Errorf("the tabs are %+v", tabs)
	}
	cut()
	if tabs := a.Tabs(); len(tabs) != 1 || tabs[0].Title != "old" {
		t.Errorf("once the newer one was lost, the tabs are %+v", tabs)
	}
}

// A page that is focused is the latest for all nodes, also if its own node knew of none that was focused after it.
func TestFocusOfNodes(t *testing.T) {
	a, b, c := newClusterNode(t), newClusterNode(t), newClusterNode(t) // a and b do not know of each other
	c.follow(a.server)
	c.follow(b.server)
	pages := []mcpserver.Lender{a.join(nil), b.join(nil)}
	titles := []string{"one", "two"}
	for i, p := range pages {
		lend(t, p, fmt.Sprintf(`"title":%q,"focused":true`, titles[i]), define("x", ""))
		c.await("Title:" + titles[i])
	}
	for range 2 {
		for i, p := range pages {
			for before := time.Now().UnixNano(); time.Now().UnixNano() == before; { // where a clock is coarse
			}
			p.Notify("notifications/mcpbridge/focused", &wire.Params{})
			c.await("Title:" + titles[i] + " URL: Client: Focused:true")
		}
	}
}

// Callers hear of a focus at another node only when another tab is the latest.
func TestFocusHeard(t *testing.T) {
	tab := func(handle, title string, focused int) string {
		return fmt.Sprintf(`{"tab":%q,"principal":"","info":{"tab":%[1]q,"title":%q},"came":1,"since":1,"focused":%d,"tools":[]}`, handle, title, focused)
	}
	focus := func(handle string, focused int) string {
		return fmt.Sprintf(`{"tab":%q,"principal":"","came":1,"since":1,"focused":%d,"tools":null}`, handle, focused)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, line := range []string{
			tab("1", "one", 1), tab("2", "two", 2), // heard
			focus("2", 3), focus("2", 4), focus("1", 3),
			focus("1", 5), // heard
			focus("1", 6),
			tab("2", "last", 4), // heard
		} {
			io.WriteString(w, line+"\n")
		}
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(other.Close)
	n := newClusterNode(t)
	n.follow(other)
	n.await("Title:one URL: Client: Focused:true", "Title:last URL: Client: Focused:false")
	if heard := n.heard.Load(); heard != 4 {
		t.Errorf("heard of %d changes, want 4", heard)
	}
}

// A handle is not used again, also not when no tab was left.
func TestHandles(t *testing.T) {
	l, had := web.NewLending(), map[string]bool{}
	l.SetClustered()
	for range 100 {
		p := l.Join(&bridge.Caller{})
		handle := lend(t, p, ``, define("x", ""))
		if had[handle] {
			t.Fatalf("handle %s is used again", handle)
		}
		had[handle] = true
		p.Leave()
	}
}

// Another node is told of the tools of a tab only when they have changed.
func TestToldOnce(t *testing.T) {
	n := newClusterNode(t)
	resp, err := http.Get(n.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	p, lines := n.join(nil), bufio.NewScanner(resp.Body)
	for i, c := range []struct {
		page, tools string
		told        bool
	}{
		{`"title":"a"`, define("x", ""), true},
		{`"title":"a","focused":true`, define("x", ""), false},
		{`"title":"b"`, define("x", ""), true},
		{`"title":"b"`, define("y", ""), true},
		{`"title":"b","id":"p"`, define("y", ""), true},
		{`"title":"b","id":"p","focused":true`, define("y", ""), false},
	} {
		lend(t, p, c.page, c.tools)
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if told := strings.Contains(lines.Text(), `"info"`); told != c.told {
			t.Errorf("loan %d: %s", i, lines.Text())
		}
	}
}

// What another node says of a tab that is not known makes none, and a call that it has refused has not run.
func TestUnknownOfNodes(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, `{"tab":"1","principal":"","focused":9,"tools":null}
{"tab":"2","principal":"","info":{"tab":"2","title":"known"},"came":1,"since":1,"tools":[`+define("x", `,"inputSchema":{"type":"object"}`)+"]}\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(other.Close)
	n := newClusterNode(t)
	n.follow(other)
	n.await("Title:known")
	if tabs := n.Tabs(); len(tabs) != 1 {
		t.Errorf("the tabs are %+v", tabs)
	}
	if reply := n.call("x"); reply.Err == nil || !reply.Err.NotRun {
		t.Errorf("a call that was refused: %s %v", reply.Result, reply.Err)
	}
}

// Calls to pages of another node leave room for others there: one that there is no room for has not run.
func TestCrowdedCallsOfNodes(t *testing.T) {
	other, running, end := newClusterNode(t), make(chan struct{}), make(chan struct{})
	lend(t, other.join(func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		running <- struct{}{}
		<-end
		return []byte(`{"content":[]}`), nil
	}), `"title":"far"`, define("x", ""))
	n := newClusterNode(t)
	n.SetAway(1)
	n.follow(other.server)
	n.await("Title:far")
	first := make(chan bridge.Reply)
	go func() { first <- n.call("x") }()
	<-running
	if reply := n.call("x"); reply.Err == nil || !reply.Err.NotRun || !strings.Contains(reply.Err.Message, "busy") {
		t.Errorf("one more: %s %v", reply.Result, reply.Err)
	}
	close(end)
	if reply := <-first; reply.Err != nil {
		t.Error(reply.Err)
	}
}

// A call ends with the connection of the node that sent it, also if the end of its body came with the last of its JSON.
func TestLostCallOfNode(t *testing.T) {
	n, running, ended := newClusterNode(t), make(chan struct{}), make(chan struct{})
	handle := lend(t, n.join(func(ctx context.Context, _ string, _ []byte) ([]byte, *toolformat.Error) {
		close(running)
		<-ctx.Done()
		close(ended)
		return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
	}), ``, define("x", ""))
	body := fmt.Sprintf(`{"tab":%q,"principal":"","tool":"x","arguments":{}`, handle)
	body += strings.Repeat(" ", 511-len(body)) + "}\n" // a decoder reads 512 bytes first
	conn, err := net.Dial("tcp", n.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: node\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	<-running
	conn.Close()
	<-ended
}

// A long message of progress is clipped for another node.
func TestLongProgressOfNode(t *testing.T) {
	n := newClusterNode(t)
	var p mcpserver.Lender
	p = n.join(func(_ context.Context, _ string, params []byte) ([]byte, *toolformat.Error) {
		token := wire.Lookup(params, "_meta", "progressToken")
		note, err := wire.SplitParams(fmt.Appendf(nil, `{"progressToken":%s,"progress":1,"message":%q}`, token, strings.Repeat("é", 1<<20)))
		if err != nil {
			t.Error(err)
		}
		p.Notify(wire.NotificationProgress, &note)
		return []byte(`{"content":[]}`), nil
	})
	handle := lend(t, p, ``, define("x", ""))
	resp, err := http.Post(n.server.URL, "", strings.NewReader(fmt.Sprintf(`{"tab":%q,"tool":"x","arguments":{}}`, handle)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || len(got) > 5000 || !strings.Contains(string(got), `é"`) {
		t.Errorf("%d bytes: %.100s, %v", len(got), got, err)
	}
}

// The arguments of a call of another node are bounded as messages are.
func TestLongCallOfNode(t *testing.T) {
	n := newClusterNode(t)
	n.SetLimits(web.Limits{CallBytes: 200 << 10})
	p := n.join(func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return []byte(`{"content":[]}`), nil
	})
	handle := lend(t, p, ``, define("x", ""))
	for size, want := range map[int]int{190 << 10: http.StatusOK, 300 << 10: http.StatusBadRequest} {
		resp, err := http.Post(n.server.URL, "", strings.NewReader(fmt.Sprintf(`{"tab":%q,"tool":"x","arguments":{"a":%q}}`, handle, strings.Repeat("a", size))))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %s", size, resp.Status)
		}
	}
}
