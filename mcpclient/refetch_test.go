package mcpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// forgetful is growing, but it announces that it notifies and does not.
func forgetful() *peer.Server {
	s := growing(true)
	s.Take = func(c *peer.Call) {
		if c.Name() == "grow" {
			s.Update(func() { s.Tools += `,{"name":"grown","inputSchema":{}}` })
		}
		done(c)
	}
	return s
}

// growing is a server of which each call of grow adds a tool, grown. It notifies of that only if it
// announces.
func growing(announces bool) *peer.Server {
	s := peer.NewServer(peer.Legacy)
	s.Tools = `{"name":"grow","inputSchema":{}}`
	s.Before = func(c *peer.Call) bool {
		if c.Method != wire.MethodInitialize || announces {
			return false
		}
		c.Reply(`"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{}`)
		return true
	}
	s.Take = func(c *peer.Call) {
		if c.Name() == "grow" {
			s.Update(func() { s.Tools += `,{"name":"grown","inputSchema":{}}` })
			if announces {
				c.Say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			}
		}
		done(c)
	}
	return s
}

func (c *caller) lists(tool string) bool {
	c.Helper()
	l, err := c.session.List(c.Context(), bridge.Tools)
	if err != nil {
		c.Fatal(err)
	}
	_, ok := l.Find(tool)
	return ok
}

// A change that a call has caused is known, and notified of, before that call's result, to callers
// that have not listed too.
func TestChangeBeforeResult(t *testing.T) {
	for _, path := range []string{"", "/sse", "/ws"} {
		t.Run("carrier "+path, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			var cfg mcpclient.Config
			switch s := growing(true); path {
			case "":
				cfg.Command, cfg.Env = s.Child(t)
			case "/ws":
				cfg.URL = "ws" + strings.TrimPrefix(s.Serve(t, nil), "http") + path
			default:
				cfg.URL, cfg.Transport = s.Serve(t, nil)+path, mcpclient.SSE
			}
			c := open(t, cfg)
			c.works("grow")
			select {
			case <-c.changes:
			default:
				t.Error("the caller has not been notified")
			}
			if !c.lists("grown") {
				t.Error("the list does not have the tool")
			}
		})
	}
}

// A server that does not announce changes is asked again when a caller lists after a call, or a
// second later, and not more often.
func TestListOfSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, s := peer.NewNetwork(), growing(false)
		c := openOn(t, network, mcpclient.Config{URL: s.Serve(t, network) + "/mcp"})
		c.works("grow")
		for want := 2; want <= 3; want++ {
			for range 2 {
				if !c.lists("grown") {
					t.Error("the list does not have the tool")
				}
			}
			if n := len(s.Seen(wire.MethodToolsList)); n != want {
				t.Errorf("the server has been asked %d times, want %d", n, want)
			}
			time.Sleep(1001 * time.Millisecond)
		}
	})
}

// A server that announces changes and has not notified of any is asked again when a caller lists after
// a call, or ten seconds later, and not more often.
func TestListOfForgetfulServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, s := peer.NewNetwork(), forgetful()
		c := openOn(t, network, mcpclient.Config{URL: s.Serve(t, network) + "/mcp"})
		c.works("grow")
		for want := 2; want <= 3; want++ {
			for range 2 {
				if !c.lists("grown") {
					t.Error("the list does not have the tool")
				}
				time.Sleep(4 * time.Second)
			}
			if n := len(s.Seen(wire.MethodToolsList)); n != want {
				t.Errorf("the server has been asked %d times, want %d", n, want)
			}
			time.Sleep(2001 * time.Millisecond)
		}
	})
}

// A server that does not notify of changes, whether or not it announces that, is asked once before an
// unknown name is refused, also if it has no tools any more.
func TestUnknownNameOfSilentServer(t *testing.T) {
	t.Run("silent", func(t *testing.T) { unknownName(t, growing(false)) })
	t.Run("forgetful", func(t *testing.T) { unknownName(t, forgetful()) })
}

func unknownName(t *testing.T, s *peer.Server) {
	sourcetest.NoLeaks(t)
	command, env := s.Child(t)
	client := mcpclient.New(mcpclient.Config{Name: "up", Command: command, Env: env})
	t.Cleanup(func() { client.Close() })
	both := bridge.New(bridge.Options{Settle: patience}, bridge.Member{Name: "up", Source: client}, bridge.Member{Name: "other", Source: sourcetest.NewFake()})
	session, err := both.Open(t.Context(), &bridge.Caller{ID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	c := &caller{T: t, session: session}
	call := func(name string) bridge.Reply { return c.do(t.Context(), name, "{}") }
	for _, name := range []string{"up__grow", "up__grown"} {
		if r := call(name); r.Err != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	refused := func(name string) {
		before := len(s.Seen(wire.MethodToolsList))
		if r := call(name); r.Err == nil {
			t.Error("an unknown tool has a result")
		}
		if n := len(s.Seen(wire.MethodToolsList)) - before; n != 1 {
			t.Errorf("%s: the server has been asked %d times, want 1", name, n)
		}
	}
	refused("up__nothing")
	call("up__grow") // so that the list is read again
	s.Update(func() { s.Tools = "" })
	refused("up__nobody")
}

// A burst of list changes is read once.
func TestListChangeBurst(t *testing.T) {
	sourcetest.NoLeaks(t)
	var lists atomic.Int64
	burst := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			w.WriteHeader(405)
			return
		}
		buf, _ := wire.ReadBody(r.Body, r.ContentLength, 1<<20, nil)
		m, _ := wire.Split(buf.B)
		answer := func(result string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{}}`)
		case "tools/list":
			answer(fmt.Sprintf(`{"tools":[{"name":"t%d"}]}`, lists.Add(1)))
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for range 500 {
				fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", m.ID)
		default:
			w.WriteHeader(202)
		}
	}))
	t.Cleanup(burst.Close)
	c := open(t, mcpclient.Config{URL: burst.URL})
	if _, err := c.session.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	if r := c.call("x"); r.Err != nil {
		t.Fatal(r.Err)
	}
	select {
	case <-c.changes:
	case <-time.After(patience):
		t.Fatal("no change was told")
	}
	if n := lists.Load(); n != 2 {
		t.Errorf("the list was read %d times, want 2", n)
	}
	l, _ := c.session.List(t.Context(), bridge.Tools)
	if _, ok := l.Find("t2"); !ok {
		t.Errorf("the list is %s", l.Items[0].Raw)
	}
}

// Programs that tell each other of changes list again what one of them has seen, and come to an end also where a server
// shows another list each time.
func TestRelist(t *testing.T) {
	for _, varies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, network := growing(false), peer.NewNetwork()
			if varies {
				n := atomic.Int64{}
				s.Before = func(c *peer.Call) bool {
					if c.Method == wire.MethodToolsList {
						c.Reply(fmt.Sprintf(`"tools":[{"name":"grow","inputSchema":{}},{"name":"t%d","inputSchema":{}}]`, n.Add(1)))
					}
					return c.Method == wire.MethodToolsList
				}
			}
			url := s.Serve(t, network) + "/mcp"
			var all [3]*caller
			var told atomic.Int64
			for i := range all {
				all[i] = openOn(t, network, mcpclient.Config{URL: url, Sharing: mcpclient.Shared, Era: mcpclient.Legacy, Changed: func(owner string, kind bridge.ListKind, digest string) {
					told.Add(1)
					for _, c := range all {
						c.client.Relist(owner, kind, digest)
					}
				}})
				all[i].lists("grow")
			}
			all[0].call("grow")
			all[0].lists("grow")
			for _, c := range all {
				<-c.changes
			}
			time.Sleep(time.Minute) // in which a loop would go on
			synctest.Wait()
			if n := told.Load(); n != 1 {
				t.Errorf("varies: %t: changes were told %d times, want 1", varies, n)
			}
			for _, c := range all {
				c.client.Close()
			}
		})
	}
}

// What is the same when a list is read again is not looked at again, but it is what it was: in its order, with its
// hints, and with what is wrong with it.
func TestReadAgain(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := growing(true)
	const (
		hidden = `{"name":"enum","inputSchema":{"enum":["a\u200bb"]}}` // stays as it is, since it is a value
		grow   = `{"name":"grow"}`
	)
	s.Tools = `{"name":"re\u200bad"},{"name":"first","annotations":{"readOnlyHint":true}},` + hidden + `,{"name":"x","Name":"y"},` + grow + `,{"name":"last"}`
	take, moved := s.Take, false
	s.Take = func(c *peer.Call) {
		s.Update(func() {
			if !moved {
				moved = true
				s.Tools = strings.Replace(s.Tools, grow, `{"name":"grow","title":"Grow"}`, 1)
			} else {
				s.Tools = `{"name":"new"},` + hidden + `,{"name":"last","annotations":{"readOnlyHint":true}},` + grow + `,{"name":"first"},{"name":"first","title":"again"}`
			}
		})
		take(c)
	}
	command, env := s.Child(t)
	c := open(t, mcpclient.Config{Command: command, Env: env})
	read := func() (text string) {
		l, err := c.session.List(t.Context(), bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range l.Items {
			text += fmt.Sprintf("%s %v\n", it.Raw, it.Repeatable)
		}
		for _, p := range c.client.Problems() {
			text += fmt.Sprintf("%v %s\n", p.LeftOut, p.Key)
		}
		return text
	}
	for i, want := range []string{
		`{"name":"first","annotations":{"readOnlyHint":true}} true` + "\n" + hidden + " false\n" + grow + ` false` + "\n" +
			`{"name":"last"} false` + "\ntrue re\u200bad\nfalse enum\ntrue x\n",
		`{"name":"first","annotations":{"readOnlyHint":true}} true` + "\n" + hidden + " false\n" + `{"name":"grow","title":"Grow"} false` + "\n" +
			`{"name":"last"} false` + "\n" + `{"name":"grown","inputSchema":{}} false` + "\ntrue re\u200bad\nfalse enum\ntrue x\n",
		`{"name":"new"} false` + "\n" + hidden + " false\n" + `{"name":"last","annotations":{"readOnlyHint":true}} true` + "\n" + grow + " false\n" +
			`{"name":"first"} false` + "\n" + `{"name":"first","title":"again"} false` + "\n" + `{"name":"grown","inputSchema":{}} false` + "\nfalse enum\n",
	} {
		if i > 0 {
			c.works("grow")
		}
		if got := read(); got != want {
			t.Errorf("reading %d: the list is\n%swant\n%s", i+1, got, want)
		}
	}
}
