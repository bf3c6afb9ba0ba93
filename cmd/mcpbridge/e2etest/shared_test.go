package e2etest

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// sharedLinks are the ways to a script over one connection for all callers.
func sharedLinks(t *testing.T, run func(t *testing.T, s *script, source bridge.Source)) {
	sourcetest.NoLeaks(t)
	for _, up := range scriptCarriers {
		for _, era := range []string{"legacy", "modern"} {
			sideBySide(t, up.name+"-"+era, func(t *testing.T) {
				s := newScript(era)
				cfg := up.config(t, s)
				cfg.Sharing = mcpclient.Shared
				run(t, s, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)}))
			})
		}
	}
}

// wait waits until the script is as ok wants it; ok is called with its lock held.
func (c *peer) wait(s *script, what string, ok func() bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	if !s.until(ctx, ok) {
		c.Fatalf("%s does not happen", what)
	}
}

// watchers is how many watch a resource; s.mu is held.
func (s *script) watchers(uri string) int {
	n := len((&scriptCall{script: s}).listeners("resourceSubscriptions", `"`+uri+`"`))
	if s.watched[uri] {
		n++
	}
	return n
}

// Callers of one link subscribe once at its server, are told of what they asked for and
// of nothing else, and do not notice that the server was away.
func TestSubscriptionsShared(t *testing.T) {
	sharedLinks(t, func(t *testing.T, s *script, source bridge.Source) {
		f := newFront(t, source)
		one, two := newPeer(t, f, overWS, false, `{}`), newPeer(t, f, overHTTP, false, `{}`)
		for _, p := range []*peer{one, two} {
			p.result(p.request("resources/subscribe", `"uri":"file:///a"`, ""))
		}
		two.result(two.request("resources/subscribe", `"uri":"file:///b"`, ""))
		one.wait(s, "the subscription", func() bool { return s.watchers("file:///a") == 1 && s.watchers("file:///b") == 1 })
		if s.legacy {
			s.mu.Lock()
			if n := s.count(wire.MethodSubscribe); n != 2 {
				t.Errorf("the server was asked for two resources %d times", n)
			}
			s.mu.Unlock()
		}
		touched := func(p *peer, uri string) {
			t.Helper()
			m := p.note(wire.NotificationResourceUpdated)
			p.same("updated", string(m.Params.Get(wire.URI)), `"`+uri+`"`)
		}
		// A modern server over HTTP tells of each resource on a stream of its own, and
		// nothing orders two streams.
		one.tool("touch", `{"uri":"file:///b"}`)
		touched(two, "file:///b")
		one.tool("touch", `{"uri":"file:///a"}`)
		touched(one, "file:///a") // and not b before
		touched(two, "file:///a")

		s.kill()
		one.wait(s, "the subscription at the new connection", func() bool { return s.watchers("file:///a") == 1 && s.watchers("file:///b") == 1 })
		two.tool("touch", `{"uri":"file:///b"}`)
		touched(two, "file:///b")
		two.tool("touch", `{"uri":"file:///a"}`)
		touched(one, "file:///a")
		touched(two, "file:///a")

		one.result(one.request("resources/unsubscribe", `"uri":"file:///a"`, ""))
		one.tool("touch", `{"uri":"file:///a"}`)
		touched(two, "file:///a")
		two.result(two.request("resources/unsubscribe", `"uri":"file:///a"`, ""))
		one.wait(s, "the end of the subscription", func() bool { return s.watchers("file:///a") == 0 && s.watchers("file:///b") == 1 })
		two.end() // its HTTP session lives on
		two = newPeer(t, f, overWS, false, `{}`)
		two.result(two.request("resources/subscribe", `"uri":"file:///a"`, ""))
		two.end()
		one.wait(s, "the end of what a caller left behind", func() bool { return s.watchers("file:///a") == 0 })
		for len(one.in) > 0 {
			if m := <-one.in; m.Method == wire.NotificationResourceUpdated {
				t.Errorf("nobody asked for %s", m.Raw)
			}
		}
	})
}

// Of the levels that the callers of a link want, its server is told the lowest, and
// each sees its own.
func TestLogLevelsShared(t *testing.T) {
	sharedLinks(t, func(t *testing.T, s *script, source bridge.Source) {
		f := newFront(t, source)
		levels := map[string]string{"error": "error", "info": "info warning error", "warning": "warning error"}
		peers := map[string]*peer{}
		for _, level := range []string{"error", "info", "warning"} {
			peers[level] = newPeer(t, f, overWS, false, `{}`)
			peers[level].tool("await", `{"method":"none","n":0}`) // the link is up
			peers[level].result(peers[level].request("logging/setLevel", `"level":"`+level+`"`, ""))
		}
		if s.legacy {
			s.mu.Lock()
			if s.level != "info" {
				t.Errorf("the server's level is %q", s.level)
			}
			s.mu.Unlock()
		}
		for level, p := range peers {
			id := p.request("tools/call", `"name":"log","arguments":{}`, "")
			var got []string
			for {
				m := p.next("a log message", func(*said) bool { return true })
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

// A task belongs to the server that runs it and to the caller that created it.
func TestTasks(t *testing.T) {
	sourcetest.NoLeaks(t)
	a, b := newScript("legacy"), newScript("legacy")
	cfgA, cfgB := relayed(t, a), mcpclient.Config{URL: serveScript(t, b), Sharing: mcpclient.Shared}
	cfgA.Sharing = mcpclient.Shared
	f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: dial(t, cfgA)}, bridge.Member{Name: "b", Source: dial(t, cfgB)}))
	one, two := newPeer(t, f, overWS, false, `{}`), newPeer(t, f, overHTTP, false, `{}`)
	for _, p := range []*peer{one, two} {
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
			member.own.mu.Lock()
			if n := member.own.count(method); n == 0 {
				t.Errorf("%s did not reach %s", method, member.name)
			}
			member.own.mu.Unlock()
		}
		member.other.mu.Lock()
		if member.name == "a" && member.other.count("tasks/get")+member.other.count("tasks/result") > 0 {
			t.Errorf("it reached the other server")
		}
		member.other.mu.Unlock()
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

// A question on a connection that was offered nothing is refused at once; a parked call
// ends with its client's connection, and its server learns of it.
func TestQuestionsOfNobody(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, up := range scriptCarriers {
		for _, era := range []string{"legacy", "modern"} {
			sideBySide(t, up.name+"-"+era, func(t *testing.T) {
				s := newScript("legacy")
				f := newFront(t, bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, up.config(t, s))}))
				p := newPeer(t, f, overWS, era == "modern", `{}`)
				got := p.tool("ask_elicit", `{}`)
				if code := string(wire.Lookup([]byte(got), "answers", "color", "code")); code != "-32601" {
					t.Errorf("the server got %s", got)
				}
				other := newPeer(t, f, overWS, true, asksAll)
				id := other.request("tools/call", `"name":"ask_elicit","arguments":{}`, "")
				if got := other.result(id); !strings.Contains(got, "input_required") {
					t.Fatal(got)
				}
				other.end()
				p.wait(s, "the end of the call", func() bool { return len(s.calls) == 0 })
			})
		}
	}
}
