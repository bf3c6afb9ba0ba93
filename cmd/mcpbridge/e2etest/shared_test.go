package e2etest

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// sharedLinks runs a test at scripts whose callers share one connection.
func sharedLinks(t *testing.T, run func(t *testing.T, s *script, source bridge.Source)) {
	sourcetest.NoLeaks(t)
	for _, up := range upCarriers {
		for _, era := range []string{"legacy", "modern"} {
			sideBySide(t, up.name+"-"+era, func(t *testing.T) {
				s := newScript(era)
				cfg := up.config(t, s.Server)
				cfg.Sharing = mcpclient.Shared
				run(t, s, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)}))
			})
		}
	}
}

// watchers returns the number of subscriptions to a resource; the state is locked.
func (s *script) watchers(uri string) int {
	n := len(s.listeners("resourceSubscriptions", `"`+uri+`"`))
	if s.watched[uri] {
		n++
	}
	return n
}

// Callers of one link share a subscription at its server, receive only the updates that they
// subscribed to, and do not notice that the server was away.
func TestSubscriptionsShared(t *testing.T) {
	sharedLinks(t, func(t *testing.T, s *script, source bridge.Source) {
		f := newFront(t, source)
		one, two := newCaller(t, f, overWS, false, `{}`), newCaller(t, f, overHTTP, false, `{}`)
		for _, p := range []*caller{one, two} {
			p.result(p.request("resources/subscribe", `"uri":"file:///a"`, ""))
		}
		two.result(two.request("resources/subscribe", `"uri":"file:///b"`, ""))
		s.MustUntil(one, "the subscription", func() bool { return s.watchers("file:///a") == 1 && s.watchers("file:///b") == 1 })
		if s.legacy {
			if n := len(s.Seen(wire.MethodSubscribe)); n != 2 {
				t.Errorf("the server was asked for two resources %d times", n)
			}
		}
		touched := func(p *caller, uri string) {
			t.Helper()
			m := p.note(wire.NotificationResourceUpdated)
			p.same("updated", string(m.Params.Get(wire.URI)), `"`+uri+`"`)
		}
		// A modern server over HTTP has a stream for each resource, and nothing orders two streams.
		one.tool("touch", `{"uri":"file:///b"}`)
		touched(two, "file:///b")
		one.tool("touch", `{"uri":"file:///a"}`)
		touched(one, "file:///a") // and not b before
		touched(two, "file:///a")

		s.kill()
		s.MustUntil(one, "the subscription at the new connection", func() bool { return s.watchers("file:///a") == 1 && s.watchers("file:///b") == 1 })
		two.tool("touch", `{"uri":"file:///b"}`)
		touched(two, "file:///b")
		two.tool("touch", `{"uri":"file:///a"}`)
		touched(one, "file:///a")
		touched(two, "file:///a")

		one.result(one.request("resources/unsubscribe", `"uri":"file:///a"`, ""))
		one.tool("touch", `{"uri":"file:///a"}`)
		touched(two, "file:///a")
		two.result(two.request("resources/unsubscribe", `"uri":"file:///a"`, ""))
		s.MustUntil(one, "the end of the subscription", func() bool { return s.watchers("file:///a") == 0 && s.watchers("file:///b") == 1 })
		two.Close() // its HTTP session lives on
		two = newCaller(t, f, overWS, false, `{}`)
		two.result(two.request("resources/subscribe", `"uri":"file:///a"`, ""))
		two.Close()
		s.MustUntil(one, "the end of what a caller left behind", func() bool { return s.watchers("file:///a") == 0 })
		for len(one.In) > 0 {
			if m := <-one.In; strings.Contains(string(m.Raw), wire.NotificationResourceUpdated) {
				t.Errorf("nobody asked for %s", m.Raw)
			}
		}
	})
}

// The server of a link is set to the lowest level of its callers, and each caller receives its
// own levels.
func TestLogLevelsShared(t *testing.T) {
	sharedLinks(t, func(t *testing.T, s *script, source bridge.Source) {
		f := newFront(t, source)
		levels := map[string]string{"error": "error", "info": "info warning error", "warning": "warning error"}
		peers := map[string]*caller{}
		for _, level := range []string{"error", "info", "warning"} {
			peers[level] = newCaller(t, f, overWS, false, `{}`)
			peers[level].tool("await", `{"method":"none","n":0}`) // the link is up
			peers[level].result(peers[level].request("logging/setLevel", `"level":"`+level+`"`, ""))
		}
		if s.legacy {
			s.Read(func() {
				if s.level != "info" {
					t.Errorf("the server's level is %q", s.level)
				}
			})
		}
		for level, p := range peers {
			id := p.request("tools/call", `"name":"log","arguments":{}`, "")
			var got []string
			for {
				m := p.next("a log message", func(*received) bool { return true })
				if m.Kind() == wire.Response {
					p.same("the call", string(m.ID), id)
					break
				}
				word, _ := wire.Text(wire.Lookup(m.Params.Raw, "level"))
				got = append(got, word)
			}
			p.same("the log from "+level, strings.Join(got, " "), levels[level])
		}
	})
}

// A task belongs to its server and to the caller that created it.
func TestTasks(t *testing.T) {
	sourcetest.NoLeaks(t)
	a, b := newScript("legacy"), newScript("legacy")
	cfgA, cfgB := upCarriers[0].config(t, a.Server), upCarriers[1].config(t, b.Server)
	cfgA.Sharing, cfgB.Sharing = mcpclient.Shared, mcpclient.Shared
	f := newFront(t, bridge.New(bridge.Options{Settle: patience}, bridge.Member{Name: "a", Source: dial(t, cfgA)}, bridge.Member{Name: "b", Source: dial(t, cfgB)}))
	one, two := newCaller(t, f, overWS, false, `{}`), newCaller(t, f, overHTTP, false, `{}`)
	for _, p := range []*caller{one, two} {
		p.result(p.request("tools/list", "", ""))
	}
	for _, member := range []struct {
		name       string
		own, other *script
	}{{"a", a, b}, {"b", b, a}} {
		created := one.result(one.request("tools/call", `"name":"`+member.name+`__task","arguments":{"tag":"x"},"task":{"ttl":60000}`, ""))
		id, _ := wire.Text(wire.Lookup([]byte(created), "task", "taskId"))
		for _, method := range []string{"tasks/get", "tasks/result"} {
			got := one.result(one.request(method, `"taskId":"`+id+`"`, ""))
			if !strings.Contains(got, `"`+id+`"`) {
				t.Errorf("%s: %s", method, got)
			}
			if len(member.own.Seen(method)) == 0 {
				t.Errorf("%s did not reach %s", method, member.name)
			}
		}
		if member.name == "a" && len(member.other.Seen("tasks/get"))+len(member.other.Seen("tasks/result")) > 0 {
			t.Errorf("it reached the other server")
		}
		two.tool(member.name+"__finish", `{"task":"`+id+`"}`)
		m := one.note(wire.NotificationTaskStatus)
		if got, _ := m.Params.Text(wire.TaskID); got != id {
			t.Errorf("status of %q, want %q", got, id)
		}
		if m := two.response(two.request("tasks/get", `"taskId":"`+id+`"`, "")); string(wire.Lookup(m.Error, "code")) != "-32602" {
			t.Errorf("somebody else's task: %s", m.Raw)
		}
	}
	if m := one.response(one.request("tasks/get", `"taskId":"nope"`, "")); string(wire.Lookup(m.Error, "code")) != "-32602" {
		t.Errorf("an unknown task: %s", m.Raw)
	}
	for _, m := range two.held {
		if m.Method == wire.NotificationTaskStatus {
			t.Errorf("nobody asked for %s", m.Raw)
		}
	}
}

// A question on a connection whose client offered no capability is refused at once; a parked call
// is canceled at its server when its client's connection ends.
func TestQuestionsOfNobody(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range upCarriers {
		for _, era := range []string{"legacy", "modern"} {
			sideBySide(t, up.name+"-"+era, func(t *testing.T) {
				s := newScript("legacy")
				f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, up.config(t, s.Server))}))
				p := newCaller(t, f, overWS, era == "modern", `{}`)
				got := p.tool("ask_elicit", `{}`)
				if code := string(wire.Lookup([]byte(got), "answers", "color", "code")); code != "-32601" {
					t.Errorf("the server got %s", got)
				}
				other := newCaller(t, f, overWS, true, asksAll)
				id := other.request("tools/call", `"name":"ask_elicit","arguments":{}`, "")
				if got := other.result(id); !strings.Contains(got, "input_required") {
					t.Fatal(got)
				}
				other.Close()
				s.MustUntil(p, "the end of the call", func() bool { return s.UnderWay() == 0 })
			})
		}
	}
}
