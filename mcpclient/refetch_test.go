package mcpclient_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

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

// A server that does not announce changes is asked again when a caller lists a second later, and not
// more often.
func TestListOfSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sourcetest.NoLeaks(t)
		network, s := peer.NewNetwork(), growing(false)
		c := openOn(t, network, mcpclient.Config{URL: s.Serve(t, network) + "/mcp"})
		c.works("grow")
		if c.lists("grown") {
			t.Error("the server has been asked twice within a second")
		}
		time.Sleep(1001 * time.Millisecond)
		if !c.lists("grown") || !c.lists("grown") {
			t.Error("the list does not have the tool")
		}
		if n := len(s.Seen(wire.MethodToolsList)); n != 2 {
			t.Errorf("the server has been asked %d times, want 2", n)
		}
	})
}

// A server that does not announce changes is asked once before an unknown name is refused.
func TestUnknownNameOfSilentServer(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := growing(false)
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
	before := len(s.Seen(wire.MethodToolsList))
	if r := call("up__nothing"); r.Err == nil {
		t.Error("an unknown tool has a result")
	}
	if n := len(s.Seen(wire.MethodToolsList)) - before; n != 1 {
		t.Errorf("the server has been asked %d times, want 1", n)
	}
}
