package e2etest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// two has the clients ann and bob of one bridge and the server whose connection they share.
type two struct {
	*testing.T
	script   *script
	ann, bob *caller
	up       string // the server's carrier
}

// twoPrincipals runs a test for each combination of eras and carriers.
func twoPrincipals(t *testing.T, capabilities string, run func(*two)) {
	twoCallers(t, "ann", "bob", capabilities, run)
}

// twoCallers is twoPrincipals with these principals.
func twoCallers(t *testing.T, ann, bob, capabilities string, run func(*two)) {
	sourcetest.NoLeaks(t)
	for _, up := range upCarriers {
		for _, era := range []string{"legacy", "modern"} {
			for i, a := range principalCarriers {
				for _, b := range principalCarriers[i:] {
					sideBySide(t, fmt.Sprintf("%s-%s/%s-%s", up.name, era, a.name, b.name), func(t *testing.T) {
						s := newScript(era)
						cfg := up.config(t, s.Server)
						cfg.Sharing = mcpclient.Shared
						f := newGuarded(t, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)}))
						run(&two{t, s, newCaller(t, f, a.dial(ann), a.modern, capabilities), newCaller(t, f, b.dial(bob), b.modern, capabilities), up.name})
					})
				}
			}
		}
	}
}

// heard returns what a client has received besides responses.
func (c *caller) heard() string {
	c.Helper()
	c.result(c.request("tools/list", "", "")) // it comes last, on a connection
	all := ""
	for _, m := range c.held {
		if m.Kind() != wire.Response {
			all += string(m.Raw) + "\n"
		}
	}
	c.held = nil
	return all
}

// nothing fails the test if ann or bob has received more of something.
func (t *two) nothing(of string) {
	t.Helper()
	for name, c := range map[string]*caller{"ann": t.ann, "bob": t.bob} {
		if got := c.heard(); strings.Contains(got, of) {
			t.Errorf("%s was told of %s: %s", name, of, got)
		}
	}
}

// Progress goes to the client of its call, also when both use the same token.
func TestProgressOfTwo(t *testing.T) {
	const n = 100
	twoPrincipals(t, `{}`, func(t *two) {
		peers := map[string]*caller{"ann": t.ann, "bob": t.bob}
		for tag, c := range peers {
			c.last = 100 // their ids are alike too
			c.request("tools/call", fmt.Sprintf(`"name":"progress","arguments":{"n":%d,"tag":%q}`, n, tag), `"progressToken":"same"`)
		}
		for tag, c := range peers {
			for i := range n {
				m := c.next("progress", func(m *received) bool { return m.Method == wire.NotificationProgress || string(m.ID) == "101" })
				c.same("progress", string(m.Params.Raw), fmt.Sprintf(`{"progressToken":"same","progress":%d,"message":%q}`, i, tag))
			}
			c.result("101")
		}
		t.nothing(wire.NotificationProgress)
	})
}

// A log message goes to the client of its call where that is known, and else to no client.
func TestLogsOfTwo(t *testing.T) {
	twoPrincipals(t, `{}`, func(t *two) {
		meta := map[*caller]string{}
		for _, c := range []*caller{t.ann, t.bob} {
			c.result(c.request("tools/list", "", ""))
			if c.modern {
				meta[c] = `"io.modelcontextprotocol/logLevel":"debug"`
			} else {
				c.result(c.request("logging/setLevel", `"level":"debug"`, ""))
			}
		}
		logs := func(c *caller) (n int) {
			c.Helper()
			id := c.request("tools/call", `"name":"log","arguments":{}`, meta[c])
			for {
				m := c.next("the response", func(m *received) bool { return m.Method == wire.NotificationMessage || string(m.ID) == id })
				if m.Kind() == wire.Response {
					return n
				}
				n++
			}
		}
		alone := 4 // nothing else is under way
		// A legacy server on stdio is one process for both eras; others have a connection for each.
		together := t.up != "http" && (t.ann.modern == t.bob.modern || t.up == "stdio" && t.script.legacy)
		if together && t.script.legacy && !t.ann.modern {
			alone = 0 // ann, who has set a level, uses the connection too: it may be hers
		}
		if n := logs(t.bob); n != alone {
			t.Errorf("bob alone was told of %d messages, want %d", n, alone)
		}
		begun := len(t.script.Seen(wire.MethodToolsCall))
		waiting := t.ann.request("tools/call", `"name":"silent","arguments":{}`, meta[t.ann])
		t.script.MustUntil(t, "ann's call", func() bool { return t.script.Count(wire.MethodToolsCall) > begun })
		want := 4
		if together {
			want = 0 // nobody can tell
		}
		if n := logs(t.bob); n != want {
			t.Errorf("beside ann's call bob was told of %d messages, want %d", n, want)
		}
		t.nothing(wire.NotificationMessage)
		t.ann.cancel(waiting)
	})
}

// A late log message, whose call has ended, does not go to the next caller of a connection that
// several principals have used.
func TestLateLogsOfTwo(t *testing.T) {
	twoPrincipals(t, `{}`, func(t *two) {
		if t.up == "http" || !t.script.legacy || t.ann.modern || t.bob.modern {
			return // elsewhere a log comes on the stream of its call
		}
		for _, c := range []*caller{t.ann, t.bob} {
			c.result(c.request("logging/setLevel", `"level":"debug"`, ""))
		}
		t.ann.tool("log", `{}`)
		t.ann.heard()
		t.bob.tool("log", `{}`)
		t.nothing(wire.NotificationMessage)
	})
}

// Each client receives the log from its own level on, in either era; a server of the legacy era
// is set to the lowest. On one connection, where a message names no client, both have to be one
// user.
func TestLogLevelsOfTwo(t *testing.T) {
	twoCallers(t, "ann", "ann", `{}`, func(t *two) {
		if t.ann.modern != t.bob.modern {
			return // they have a connection each, of which a script knows one level
		}
		levels := map[*caller]string{t.ann: "error", t.bob: "info"}
		want := map[string]string{"error": "error", "info": "info warning error"}
		for _, c := range []*caller{t.bob, t.ann, t.bob} {
			c.result(c.request("tools/list", "", "")) // the link is up
			meta := `"io.modelcontextprotocol/logLevel":"` + levels[c] + `"`
			if !c.modern {
				meta = ""
				c.result(c.request("logging/setLevel", `"level":"`+levels[c]+`"`, ""))
			}
			id := c.request("tools/call", `"name":"log","arguments":{}`, meta)
			var got []string
			for {
				m := c.next("the response", func(m *received) bool { return m.Method == wire.NotificationMessage || string(m.ID) == id })
				if m.Kind() == wire.Response {
					break
				}
				word, _ := wire.Text(wire.Lookup(m.Params.Raw, "level"))
				got = append(got, word)
			}
			c.same("the log from "+levels[c], strings.Join(got, " "), want[levels[c]])
		}
		t.script.Read(func() {
			if level := t.script.level; level != "" && level != "info" {
				t.Errorf("the server was told %s", level)
			}
		})
	})
}

// watch subscribes a client to a resource and returns the tag of the updates.
func (c *caller) watch(uri string) (tag string) {
	c.Helper()
	if !c.modern {
		c.result(c.request("resources/subscribe", `"uri":"`+uri+`"`, ""))
		return ""
	}
	id := c.request("subscriptions/listen", `"notifications":{"resourceSubscriptions":["`+uri+`"]}`, "")
	c.note(wire.NotificationSubscribed)
	return id
}

// Updates of a resource go to its subscribers only.
func TestUpdatesOfTwo(t *testing.T) {
	twoPrincipals(t, `{}`, func(t *two) {
		for _, c := range []*caller{t.ann, t.bob} {
			c.result(c.request("tools/list", "", ""))
		}
		tags := map[*caller]string{t.ann: t.ann.watch("file:///a"), t.bob: t.bob.watch("file:///b")}
		for range 3 {
			t.bob.tool("touch", `{"uri":"file:///a"}`)
			t.ann.tool("touch", `{"uri":"file:///b"}`)
		}
		for range 3 {
			for c, uri := range map[*caller]string{t.ann: "file:///a", t.bob: "file:///b"} {
				m := c.note(wire.NotificationResourceUpdated)
				c.same("the uri", string(m.Params.Get(wire.URI)), `"`+uri+`"`)
				c.same("the tag", tagOf(&m), tags[c])
			}
		}
		t.nothing(wire.NotificationResourceUpdated)
	})
}

// On a shared connection a question reaches a client only along its own call, where both eras
// allow that, and each client answers its own.
func TestQuestionsOfTwo(t *testing.T) {
	twoPrincipals(t, asksAll, func(t *two) {
		for round := range 2 {
			for name, c := range map[string]*caller{"ann": t.ann, "bob": t.bob} {
				if !c.modern || !t.script.modern {
					m := c.response(c.request("tools/call", `"name":"ask_elicit","arguments":{}`, ""))
					if text := string(m.Raw); !strings.Contains(text, `"code":-32601`) && !strings.Contains(text, `"code":-32021`) {
						t.Errorf("%s: %s", name, text)
					}
					continue
				}
				answer := fmt.Sprintf(`{"action":"accept","content":{"who":"%s%d"}}`, name, round)
				got := (&eraCase{c, "modern", t.up}).converse("ask_elicit", func(int, []question) []string { return []string{answer} })
				c.same("the answer", string(wire.Lookup([]byte(got), "answers", "color")), answer)
			}
		}
		for name, c := range map[string]*caller{"ann": t.ann, "bob": t.bob} {
			if got := c.heard(); got != "" {
				t.Errorf("%s was told %s", name, got)
			}
		}
	})
}

// A client can neither see nor answer a question of another client's call, nor get its result.
func TestAnswersOfTwo(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range upCarriers {
		for _, sharing := range []mcpclient.Sharing{mcpclient.Session, mcpclient.Leased} {
			sideBySide(t, fmt.Sprintf("%s-%s", up.name, sharing), func(t *testing.T) {
				cfg := up.config(t, newScript("legacy").Server)
				cfg.Sharing = sharing
				f := newGuarded(t, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)}))
				ann, bob := newCaller(t, f, byHTTP("ann"), true, asksAll), newCaller(t, f, byHTTP("bob"), true, asksAll)
				states := map[*caller]string{}
				call := func(c *caller, more string) received {
					return c.response(c.request("tools/call", peer.Members(`"name":"ask_elicit","arguments":{}`, more), ""))
				}
				for _, c := range []*caller{ann, bob} {
					m := call(c, "")
					states[c] = string(wire.Lookup(m.Result, "requestState"))
				}
				retry := func(c *caller, state, who string) received {
					return call(c, `"requestState":`+state+`,"inputResponses":{"input1":{"action":"accept","content":{"who":"`+who+`"}}}`)
				}
				if m := retry(bob, states[ann], "bob"); string(wire.Lookup(m.Error, "code")) != "-32602" || strings.Contains(string(m.Raw), "who") {
					t.Errorf("bob with ann's state: %s", m.Raw)
				}
				for c, who := range map[*caller]string{ann: "ann", bob: "bob"} {
					if m := retry(c, states[c], who); string(wire.Lookup(m.Result, "answers", "color", "content", "who")) != `"`+who+`"` {
						t.Errorf("%s: %s", who, m.Raw)
					}
				}
			})
		}
	}
}
