package mcpclient_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The bytes of the URIs that a caller watches are bounded, each and together.
func TestWatchedBytes(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Before = func(c *peer.Call) bool {
		known := c.Method == wire.MethodSubscribe || c.Method == wire.MethodUnsubscribe
		if known {
			c.Reply("")
		}
		return known
	}
	c := open(t, mcpclient.Config{URL: s.Serve(t, nil) + "/mcp", Transport: mcpclient.HTTP})
	watch := func(method, uri string) bridge.Reply { return c.reply(c.ask(t.Context(), method, uri)) }
	c.fails(watch(wire.MethodSubscribe, strings.Repeat("x", 8<<10+1)), toolformat.Invalid, "more than 8192")
	uri := func(i int) string { return fmt.Sprintf("x:%03d", i) + strings.Repeat("x", 8<<10-5) }
	for i := range 32 {
		c.agreed(c.ask(t.Context(), wire.MethodSubscribe, uri(i)))
	}
	c.fails(watch(wire.MethodSubscribe, "x:y"), toolformat.Unavailable, "unsubscribe from some")
	c.agreed(c.ask(t.Context(), wire.MethodUnsubscribe, uri(3)))
	c.agreed(c.ask(t.Context(), wire.MethodSubscribe, "x:y"))
}

// A question that would take too much memory until it is answered is refused, and others are put.
func TestQuestionBytes(t *testing.T) {
	answers := make(chan string, 2)
	o := newOdd(t, func(x *exchange) bool {
		switch {
		case x.Kind() == wire.Response:
			answers <- string(x.Result) + string(x.Error)
			x.w.WriteHeader(202)
		case x.Method == wire.MethodToolsCall:
			for i, size := range []int{9 << 20, 1 << 10} {
				x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"message":"%s"}}`, i, strings.Repeat("x", size)))
				if answer := <-answers; strings.Contains(answer, "accept") != (i == 1) || strings.Contains(answer, "8388608 bytes") != (i == 0) {
					t.Errorf("question %d: %s", i, answer)
				}
			}
			x.result(`"content":[]`)
		default:
			return false
		}
		return true
	})
	c := asking(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP}, `{"elicitation":{}}`, func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return []byte(`{"action":"accept"}`), nil
	})
	if r := c.call("x"); r.Err != nil {
		t.Error(r.Err)
	}
}

// Of a description that is too large the large members are left out; one of many small ones is an error.
func TestDescriptionBytes(t *testing.T) {
	for name, c := range map[string]struct{ more, want string }{
		"large members": {`"experimental":{"x":"` + strings.Repeat("x", 200<<10) + `"}},"_meta":{"x":"` + strings.Repeat("x", 200<<10) + `"}`, ""},
		"many members":  {`"experimental":{}}` + strings.Repeat(`,"x":1`, 50_000), "its description of itself has"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOdd(t, func(x *exchange) bool {
				if x.Method == wire.MethodInitialize {
					x.result(`"protocolVersion":"2025-06-18","serverInfo":{"name":"large"},"capabilities":{"tools":{},` + c.more)
				}
				return x.Method == wire.MethodInitialize
			})
			up := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Era: mcpclient.Legacy})
			if c.want != "" {
				up.fails(up.call("ok"), toolformat.Unavailable, c.want)
				return
			}
			up.works("ok")
			r := up.session.Do(t.Context(), &bridge.Request{Method: wire.MethodDiscover})
			if got := string(r.Result); len(got) > 1<<10 || !strings.Contains(got, `"large"`) || !strings.Contains(got, `"tools"`) {
				t.Errorf("%d bytes: %.200s", len(got), got)
			}
		})
	}
}

// Of what a server calls itself commands show the beginning.
func TestLongNameOfServer(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodInitialize {
			x.result(`"protocolVersion":"2025-06-18","serverInfo":{"name":"` + strings.Repeat("é", 10_000) + `","version":"` + strings.Repeat("1", 10_000) + `"},"capabilities":{"tools":{}}`)
		}
		return x.Method == wire.MethodInitialize
	})
	up := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Era: mcpclient.Legacy})
	up.works("ok")
	if got := up.client.Status().Server; got != strings.Repeat("é", 100)+" "+strings.Repeat("1", 100) {
		t.Errorf("the server is %q", got)
	}
}

// A list that is not an array is said to be none, unless it is what some languages write for an empty one.
func TestListIsNoArray(t *testing.T) {
	for tools, bad := range map[string]bool{
		`"tools":"x"`: true, `"tools":{"0":{"name":"ok"}}`: true, `"tools":1`: true,
		`"tools":{}`: false, `"tools":null`: false, `"tools":[]`: false, `"x":1`: false,
	} {
		o := newOdd(t, func(x *exchange) bool {
			if x.Method == wire.MethodToolsList {
				x.result(tools)
			}
			return x.Method == wire.MethodToolsList
		})
		up := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		if l, err := up.session.List(t.Context(), bridge.Tools); err != nil || len(l.Items) > 0 {
			t.Errorf("%s: %v, %v", tools, l, err)
		}
		if p := up.client.Problems(); (len(p) == 1 && p[0].LeftOut && p[0].Text == "tools/list has no array of tools: none is shown") != bad || len(p) > 1 {
			t.Errorf("%s: %v", tools, p)
		}
	}
}

// One principal's tasks do not push out those of another, and of its own the oldest go first.
func TestTasksOfPrincipals(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Legacy)
	s.Tools = `{"name":"task","inputSchema":{}}`
	s.Take = func(c *peer.Call) {
		if c.Method == wire.MethodTasksGet {
			c.Reply(`"status":"working"`)
			return
		}
		c.Reply(`"task":{"taskId":"` + c.Argument("id") + `","status":"working"}`)
	}
	c := open(t, mcpclient.Config{URL: "ws" + strings.TrimPrefix(s.Serve(t, nil), "http") + "/ws", Transport: mcpclient.WebSocket, Sharing: mcpclient.Shared})
	alice := c.also(bridge.Caller{ID: "a", Principal: bridge.Principal{Name: "alice"}})
	bob := c.also(bridge.Caller{ID: "b", Principal: bridge.Principal{Name: "bob"}})
	create := func(c *caller, id string) {
		params, _ := wire.SplitParams([]byte(`{"name":"task","arguments":{"id":"` + id + `"},"task":{}}`))
		if r := c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "task"}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	knows := func(c *caller, id string) bool {
		params, _ := wire.SplitParams([]byte(`{"taskId":"` + id + `"}`))
		return c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodTasksGet, Params: &params}).Err == nil
	}
	create(bob, "bob")
	for i := range wire.MaxTasks + 1 {
		create(alice, fmt.Sprint(i))
	}
	if !knows(bob, "bob") || knows(alice, "bob") || knows(alice, "0") || !knows(alice, "1") || !knows(alice, fmt.Sprint(wire.MaxTasks)) {
		t.Error("the wrong tasks are forgotten")
	}
}
