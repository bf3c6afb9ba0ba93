package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// TestFocus: the tab that was looked at last carries calls out, and those who watch the tabs hear of it once.
func TestFocus(t *testing.T) {
	h := newLender(t, web.Limits{}, mcpserver.Options{})
	one, two, watcher := newPeer(t, h.Server, legacy, ""), newPeer(t, h.Server, modern, ""), newPeer(t, h.Server, legacy, "")
	for name, p := range map[string]*peer{"one": one, "two": two} {
		p.serve = func(m frame) { p.answer(m, `{"content":[{"type":"text","text":"`+name+`"}]}`) }
		p.lend(define("where", ""))
	}
	watcher.must("resources/subscribe", `{"uri":"mcpbridge://tabs"}`)
	heard := func() (n int) {
		watcher.must("ping", "{}") // what was sent before it has come
		watcher.mu.Lock()
		defer watcher.mu.Unlock()
		for _, m := range watcher.heard {
			if m.Method == "notifications/resources/updated" {
				n++
			}
		}
		return n
	}
	before := heard()
	for i, p := range []*peer{one, one, two, two, two, one} {
		p.send(`{"jsonrpc":"2.0","method":"notifications/mcpbridge/focused"}`)
		p.must("tools/list", "{}") // the notification has been taken
		want := map[*peer]string{one: "one", two: "two"}[p]
		if got := watcher.must("tools/call", `{"name":"where","arguments":{}}`); !strings.Contains(got, want) {
			t.Errorf("focus %d: %s, want %s", i, got, want)
		}
	}
	if n := heard() - before; n != 3 {
		t.Errorf("heard of %d changes, want 3", n)
	}
}

// An error names some tabs, however many there are and whatever their titles say.
func TestManyTabs(t *testing.T) {
	h := newLender(t, web.Limits{}, mcpserver.Options{})
	for i := range 30 {
		p := newPeer(t, h.Server, legacy, "")
		p.must("mcpbridge/lend", fmt.Sprintf(`{"page":{"id":"%d","title":"%s"},"tools":[%s]}`, i, strings.Repeat("x", 400), define("where", "")))
	}
	got := newPeer(t, h.Server, modern, "").must("tools/call", `{"name":"where","arguments":{"tab":"99"}}`)
	if len(got) > 1500 || !strings.Contains(got, `no tab \"99\" has it; those that do are 1 \"xxx`) || !strings.Contains(got, "and 20 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// A call that names a tab which is closed does not run in the one that is left, and one that names that does.
func TestClosedTab(t *testing.T) {
	h := newLender(t, web.Limits{}, mcpserver.Options{})
	caller := newPeer(t, h.Server, modern, "")
	gone, left := newPeer(t, h.Server, legacy, ""), newPeer(t, h.Server, legacy, "")
	ran := make(chan string, 1)
	left.serve = func(m frame) {
		ran <- string(m.Params)
		left.answer(m, `{"content":[]}`)
	}
	gone.lend(define("pay", ""))
	left.lend(define("pay", ""))
	gone.must("mcpbridge/lend", `{"tools":[]}`)
	if got := caller.must("tools/call", `{"name":"pay","arguments":{"tab":"1"}}`); !strings.Contains(got, `no tab \"1\" has it; those that do are 2`) || len(ran) > 0 {
		t.Errorf("a closed tab: %s", got)
	}
	for given, want := range map[string]string{`{"tab":"2","n":1}`: `{"n":1}`, `{"tab":"privacy"}`: `{"tab":"privacy"}`, `{}`: `{}`} {
		caller.must("tools/call", `{"name":"pay","arguments":`+given+`}`)
		if got := <-ran; !strings.Contains(got, `"arguments":`+want) {
			t.Errorf("%s came as %s", given, got)
		}
	}
}
