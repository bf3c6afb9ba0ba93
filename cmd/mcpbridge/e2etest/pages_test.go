package e2etest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A page that is connected to one node lends tools to the clients of all, of the same principal and of either era. Of
// several pages the one that was looked at last is called, wherever. A page that connects to another node is there
// for all, and one whose node is lost for nobody.
func TestPagesOfNodes(t *testing.T) {
	for _, c := range principalCarriers {
		t.Run(c.name, func(t *testing.T) {
			all := placedNodes(t, 3, `{"cluster": {"name": "test", "nats": "nats://localhost", "secrets": ["x"]}, "lending": true,
				"policy": {"rules": [{"tools": ["show"], "decision": "ask"}]}}`)
			a, b := all[0], all[1]
			ann := newCaller(t, all[2].front, c.dial("ann"), c.modern, `{"elicitation":{"form":{}}}`)
			bob := newCaller(t, all[2].front, c.dial("bob"), c.modern, `{}`)
			one := openPage(t, a, c.modern, "one")
			ann.await("one", "")

			if got := ann.callAsked("show", "x", allows, 1); !strings.Contains(got, "one") {
				t.Error(got)
			}
			id := ann.request(wire.MethodToolsCall, `"name":"work","arguments":{"to":3}`, `"progressToken":"p"`)
			for n := range 3 {
				m := ann.note(wire.NotificationProgress)
				if got := fmt.Sprint(string(m.Params.Get(wire.ProgressToken)), string(wire.Lookup(m.Params.Raw, "progress"))); got != fmt.Sprint(`"p"`, n+1) {
					t.Errorf("progress %d: %s", n+1, got)
				}
			}
			if got := ann.result(id); !strings.Contains(got, "one") {
				t.Error(got)
			}
			id = ann.request(wire.MethodToolsCall, `"name":"work","arguments":{"to":1,"wait":true}`, `"progressToken":"q"`)
			ann.note(wire.NotificationProgress)
			ann.cancel(id)
			<-one.canceled
			if got := bob.result(bob.request("tools/list", "", "")); strings.Contains(got, `"where"`) {
				t.Errorf("another principal sees %s", got)
			}
			if m := bob.response(bob.request(wire.MethodToolsCall, `"name":"where","arguments":{}`, "")); m.Error == nil {
				t.Errorf("another principal calls: %s", m.Result)
			}

			two := openPage(t, b, !c.modern, "two")
			ann.await("two", "")
			one.focus()
			ann.await("one", "")
			two.focus()
			ann.await("two", "")
			tabs := ann.result(ann.request("resources/read", `"uri":"mcpbridge://tabs"`, ""))
			handle := one.handle
			if !strings.Contains(tabs, handle) || !strings.Contains(tabs, two.handle) {
				t.Errorf("%s has not both %s and %s", tabs, handle, two.handle)
			}
			ann.await("one", handle)
			elsewhere := newCaller(t, b.front, c.dial("ann"), c.modern, `{}`)
			elsewhere.await("one", handle)

			again := openPage(t, b, c.modern, "one") // before the other node knows that the page has gone
			if again.handle != handle {
				t.Errorf("the page is tab %s, and was %s", again.handle, handle)
			}
			for one.answers(ann, handle) { // the call, until the new connection is known
			}
			one.Close()
			ann.await("one", handle)
			again.Close()
			ann.await("two", "")
			one = openPage(t, a, c.modern, "one")
			ann.await("one", one.handle)

			id = ann.request(wire.MethodToolsCall, `"name":"work","arguments":{"to":1,"wait":true,"tab":"`+one.handle+`"}`, `"progressToken":"r"`)
			for m := ann.note(wire.NotificationProgress); string(m.Params.Get(wire.ProgressToken)) != `"r"`; m = ann.note(wire.NotificationProgress) {
			}
			a.kill()
			if m := ann.response(id); !strings.Contains(string(m.Error), "unknown whether the call ran") {
				t.Errorf("of a node that was lost: %s %s", m.Result, m.Error)
			}
			ann.await("two", "")
			two.Close()
			ann.awaitNone()
		})
	}
}

// page is a client that lends tools.
type page struct {
	*caller
	name, handle string
	canceled     chan struct{} // receives one for each call that is canceled

	mu  sync.Mutex // guards ran, and is held while it sends
	ran int
}

// openPage has a page of ann's lend tools.
func openPage(t *testing.T, n *placedNode, modern bool, name string) *page {
	p := &page{caller: newCaller(t, n.front, byWS("ann"), modern, `{}`), name: name, canceled: make(chan struct{}, 9)}
	tools := ""
	for _, tool := range []string{"show", "work", "where"} {
		tools += fmt.Sprintf(`,{"name":%q,"description":"Does <it>.","inputSchema":{"type":"object"}}`, tool)
	}
	lent := p.result(p.request("mcpbridge/lend", `"page":{"id":"`+name+`","title":"`+name+`","focused":true},"tools":[`+tools[1:]+`]`, ""))
	p.handle, _ = wire.Text(wire.Lookup([]byte(lent), "tab"))
	go p.serve()
	return p
}

// serve answers calls with the page's name.
func (p *page) serve() {
	for raw := range p.In {
		if raw.Err != nil {
			return
		}
		m, _ := wire.Split(raw.Raw)
		switch m.Method {
		case "notifications/cancelled":
			p.canceled <- struct{}{}
		case wire.MethodToolsCall:
			p.mu.Lock()
			p.ran++
			p.mu.Unlock()
			to := 0
			fmt.Sscan(string(wire.Lookup(m.Params.Raw, "arguments", "to")), &to)
			for n := range to {
				p.say(`"method":"notifications/progress","params":{"progressToken":%s,"progress":%d}`, m.Params.Get(wire.MetaProgressToken), n+1)
			}
			if wire.Lookup(m.Params.Raw, "arguments", "wait") == nil {
				p.say(`"id":%s,"result":{"content":[{"type":"text","text":%q}]}`, m.ID, p.name)
			}
		}
	}
}

// say sends a message, with these members.
func (p *page) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0",`+format+`}`, args...), nil)
}

func (p *page) focus() { p.say(`"method":"notifications/mcpbridge/focused"`) }

// answers reports whether this connection of the page carries out the call of a tab.
func (p *page) answers(c *caller, handle string) bool {
	p.mu.Lock()
	before := p.ran
	p.mu.Unlock()
	c.call(handle)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ran > before
}

// call calls the tool of a tab, "" for that which was looked at last.
func (c *caller) call(handle string) received {
	arguments := `{}`
	if handle != "" {
		arguments = fmt.Sprintf(`{"tab":%q}`, handle)
	}
	return c.response(c.request(wire.MethodToolsCall, `"name":"where","arguments":`+arguments, ""))
}

// await calls until a page answers.
func (c *caller) await(name, handle string) {
	c.Helper()
	c.until("page "+name, func() bool { return strings.Contains(string(c.call(handle).Result), `"text":"`+name+`"`) })
}

// awaitNone lists tools until no page lends any.
func (c *caller) awaitNone() {
	c.Helper()
	c.until("no page", func() bool { return !strings.Contains(c.result(c.request("tools/list", "", "")), `"where"`) })
}

func (c *caller) until(what string, is func() bool) {
	c.Helper()
	limit := time.Now().Add(patience)
	for range time.Tick(5 * time.Millisecond) {
		if is() {
			return
		}
		if time.Now().After(limit) {
			c.Fatalf("there was not: %s", what)
		}
	}
}
