package mcpclient_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/apps"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// openAs opens a session of a caller on a server of one process.
func openAs(t *testing.T, s *peer.Server, cfg mcpclient.Config, caller *bridge.Caller) bridge.Session {
	cfg.Name = "up"
	cfg.Command, cfg.Env = s.Child(t)
	client := mcpclient.New(cfg)
	t.Cleanup(func() { client.Close() })
	session, err := client.Open(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func do(t *testing.T, s bridge.Session, method, target, params string) bridge.Reply {
	split, err := wire.SplitParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Do(ctx, &bridge.Request{Method: method, Target: target, Params: &split})
}

// On a link of one caller the server is told who that is; on a shared one it is the bridge. Both name
// the bridges in between.
func TestClientInfo(t *testing.T) {
	const mine = `{"name":"editor","version":"7","_meta":{"io.github.mcpbridge/via":[{"name":"far","id":"1"}]}}`
	for _, c := range []struct {
		sharing      mcpclient.Sharing
		client       string
		capabilities string
	}{
		{mcpclient.Session, `{"name":"editor","version":"7","_meta":{"io.github.mcpbridge/via":[{"id":"2","name":"mcpbridge"}]}}`, `{"experimental":{"com.x/z":{}},"extensions":{"io.modelcontextprotocol/ui":{}}}`},
		{mcpclient.Shared, `{"_meta":{"io.github.mcpbridge/via":[{"id":"2","name":"mcpbridge"}]},"name":"mcpbridge"}`, apps.Shows},
	} {
		t.Run(string(c.sharing), func(t *testing.T) {
			sourcetest.NoLeaks(t)
			s := peer.NewServer(peer.Legacy)
			session := openAs(t, s, mcpclient.Config{Sharing: c.sharing, ID: "2", ClientInfo: []byte(`{"name":"mcpbridge"}`)},
				&bridge.Caller{ID: "1", Info: []byte(mine), Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/ui":{}},"experimental":{"com.x/z":{}}}`)})
			session.List(t.Context(), bridge.Tools)
			params := s.Await(t, wire.MethodInitialize, 1)[0].Params.Raw
			if got := string(wire.Lookup(params, "clientInfo")); got != c.client {
				t.Errorf("clientInfo is %s, want %s", got, c.client)
			}
			if got := string(wire.Lookup(params, "capabilities")); got != c.capabilities {
				t.Errorf("capabilities are %s, want %s", got, c.capabilities)
			}
		})
	}
	t.Run("url", func(t *testing.T) {
		sourcetest.NoLeaks(t)
		s := peer.NewServer(peer.Legacy)
		client := mcpclient.New(mcpclient.Config{Name: "up", URL: s.Serve(t, nil) + "/mcp", ID: "2", Sharing: mcpclient.Shared})
		t.Cleanup(func() { client.Close() })
		for id, info := range map[string][]byte{"a": []byte(mine), "b": nil} {
			session, err := client.Open(t.Context(), &bridge.Caller{ID: id, Info: info})
			if err != nil {
				t.Fatal(err)
			}
			session.List(t.Context(), bridge.Tools)
		}
		var lengths []int
		for _, c := range s.Await(t, wire.MethodInitialize, 2) {
			n := 0
			for range wire.Elements(wire.Lookup(c.Params.Raw, "clientInfo", "_meta", "io.github.mcpbridge/via")) {
				n++
			}
			lengths = append(lengths, n)
		}
		if slices.Sort(lengths); !slices.Equal(lengths, []int{1, 2}) {
			t.Errorf("%v bridges are named, want 1 and 2", lengths)
		}
	})
}

// Callers of a shared server that come through as many bridges share a link, whichever these are, and
// one of them that the server refuses, as a loop, does not keep the others from it for long.
func TestLinksOfBridges(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Take = done
	s.Before = func(c *peer.Call) bool {
		refused := c.Method == wire.MethodInitialize && strings.Contains(string(c.Params.Raw), `"id":"itself"`)
		if refused {
			c.Fail(-32003, "a loop of bridges", "")
		}
		return refused
	}
	client := mcpclient.New(mcpclient.Config{Name: "up", URL: s.Serve(t, nil) + "/mcp", Transport: mcpclient.HTTP, ID: "2", Sharing: mcpclient.Shared, RetryMin: time.Millisecond, RetryMax: time.Millisecond})
	t.Cleanup(func() { client.Close() })
	through := func(id string) *caller {
		info := `{"name":"x","_meta":{"io.github.mcpbridge/via":[{"id":"` + id + `"}]}}`
		session, err := client.Open(t.Context(), &bridge.Caller{ID: id, Info: []byte(info)})
		if err != nil {
			t.Fatal(err)
		}
		return &caller{T: t, client: client, session: session}
	}
	looping := through("itself")
	looping.fails(looping.call("ok"), toolformat.Unavailable, "a loop of bridges")
	other := through("other")
	for end := time.Now().Add(patience); other.call("ok").Err != nil; {
		if time.Now().After(end) {
			t.Fatal("a caller through another bridge is refused")
		}
	}
	for i := range 10 {
		through(fmt.Sprint(i)).works("ok")
	}
	accepted := 0
	for _, c := range s.Seen(wire.MethodInitialize) {
		if !strings.Contains(string(c.Params.Raw), `"id":"itself"`) {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("%d links", accepted)
	}
}

// Methods and notifications of a vendor pass as they are, in both directions, and updates without a subscription reach
// the caller of a link of its own.
func TestVendor(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	heard := make(chan string, 1)
	s.Heard = func(c *peer.Call) {
		if c.Method == "notifications/vendor/y" {
			heard <- string(c.Params.Raw)
		}
	}
	s.Take = func(c *peer.Call) {
		c.Say(`{"jsonrpc":"2.0","method":"notifications/vendor/x","params":{"a":1.0}}`)
		c.Say(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"r://1"}}`)
		c.Reply(`"you":` + string(c.Params.Raw) + `,"said":` + c.Ask(peer.Question{Method: "vendor/ask", Params: `{"q":1.0}`})[0])
	}
	var notes []string
	session := openAs(t, s, mcpclient.Config{Sharing: mcpclient.Session}, &bridge.Caller{ID: "1", Only: true, Notify: func(method string, params []byte) {
		notes = append(notes, method+string(params))
	}, Ask: func(_ context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
		return []byte(`{"asked":` + string(params) + `}`), nil
	}})
	if r := do(t, session, "vendor/thing", "", `{"a":1.0}`); string(r.Result) != `{"you":{"a":1.0},"said":{"asked":{"q":1.0}}}` {
		t.Errorf("%s %v", r.Result, r.Err)
	}
	if want := []string{`notifications/vendor/x{"a":1.0}`, `notifications/resources/updated{"uri":"r://1"}`}; !slices.Equal(notes, want) {
		t.Errorf("the caller hears %v, want %v", notes, want)
	}
	do(t, session, "notifications/vendor/y", "", `{"b":2.0}`)
	select {
	case got := <-heard:
		if got != `{"b":2.0}` {
			t.Errorf("the server hears %s", got)
		}
	case <-time.After(patience):
		t.Error("the server hears nothing")
	}
}

// A server whose list cannot be read does everything else. The list is tried again, and callers
// are notified when it can be read.
func TestListFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, s := peer.NewNetwork(), peer.NewServer(peer.Legacy)
		s.Tools = `{"name":"ok"}`
		failing := true
		s.Before = func(c *peer.Call) (taken bool) {
			s.Read(func() { taken = failing && c.Method == wire.MethodToolsList })
			if taken {
				c.Fail(-32050, "cannot list", "")
			}
			return taken
		}
		s.Take = done
		c := openOn(t, network, mcpclient.Config{URL: s.Serve(t, network) + "/mcp"})
		_, err := c.session.List(t.Context(), bridge.Tools)
		if e := toolformat.AsError(err); string(e.Raw) != `{"code":-32050,"message":"cannot list"}` {
			t.Errorf("the list: %v", err)
		}
		c.works("ok")
		if st := c.client.Status(); st.State != mcpclient.Ready || !strings.Contains(st.Reason, "cannot list") {
			t.Errorf("%+v", st)
		}
		s.Update(func() { failing = false })
		<-c.changes
		if !c.lists("ok") {
			t.Error("the list is not read again")
		}
	})
}

// A tool with a hidden character in its name is left out, named, and cannot be called. Changed
// definitions are logged, and not those that are only written differently, as by a server in its other era.
func TestHiddenNames(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := growing(true)
	s.Tools = `{"name":"ec\u200bho"},{"name":"grow","description":"a\u202eb","annotations":{"readOnlyHint":true}},{"name":"same","inputSchema":{"type":"object"}}`
	take := s.Take
	s.Take = func(c *peer.Call) {
		s.Update(func() {
			s.Tools = strings.NewReplacer("a\\u202eb", "changed", `"name":"same","inputSchema":{"type":"object"}`, `"inputSchema": {"type":"object"}, "name":"same"`).Replace(s.Tools)
		})
		take(c)
	}
	logged := &logBuffer{}
	command, env := s.Child(t)
	c := open(t, mcpclient.Config{Command: command, Env: env, Untrusted: true, Log: slog.New(slog.NewTextHandler(logged, nil))})
	l, err := c.session.List(t.Context(), bridge.Tools)
	if err != nil || len(l.Items) != 2 || l.Items[0].Repeatable || !l.Items[0].Untrusted || !strings.Contains(string(l.Items[0].Raw), `a\\u202eb`) {
		t.Fatalf("the list is %+v, %v", l, err)
	}
	if extra := l.Items[0].Tool().Extra; strings.Contains(string(extra), "readOnlyHint") {
		t.Errorf("an untrusted tool has annotations: %s", extra)
	}
	c.fails(do(t, c.session, wire.MethodToolsCall, "ec\u200bho", `{"name":"ec\u200bho"}`), toolformat.NotFound, "unknown tool")
	problems := c.client.Problems()
	if len(problems) != 2 || !problems[0].LeftOut || !strings.Contains(problems[0].Text, `ec\u200bho`) || problems[1].LeftOut || !strings.Contains(problems[1].Text, "grow: it has hidden characters (bidi)") {
		t.Errorf("the problems are %+v", problems)
	}
	c.works("grow")
	if !strings.Contains(logged.String(), "definitions have changed") || !strings.Contains(logged.String(), "names=[grow]") {
		t.Errorf("the log has %s", logged)
	}
}

// A server of the legacy era is not called again for a retry with a state that it did not give out,
// and a vendor's method of the other era does not reach it.
func TestForeignRequestState(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Take = done
	session := openAs(t, s, mcpclient.Config{}, &bridge.Caller{ID: "1", Modern: true})
	c := &caller{T: t, session: session}
	c.fails(do(t, session, wire.MethodToolsCall, "ok", `{"name":"ok","requestState":"mcpbridge.X.Y"}`), toolformat.Invalid, "requestState")
	c.fails(do(t, session, "vendor/thing", "", `{}`), toolformat.Unsupported, "method not found")
	if n := len(s.Seen(wire.MethodToolsCall)) + len(s.Seen("vendor/thing")); n > 0 {
		t.Error("the server has been called")
	}
}
