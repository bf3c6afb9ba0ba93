package e2etest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// A call that may have run is repeated if its tool calls itself read-only, and its server is trusted: after
// the loss of a connection to the server, and after that of the daemon that had the call before.
func TestRepeatsOfUntrusted(t *testing.T) {
	for _, up := range upCarriers[:2] {
		for _, untrusted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/untrusted=%t", up.name, untrusted), func(t *testing.T) {
				sourcetest.NoLeaks(t)
				s := peer.NewServer("legacy")
				s.Tools = `{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`
				var lost atomic.Bool
				s.Take = func(c *peer.Call) {
					if c.Method == wire.MethodToolsCall && c.Argument("lose") != "" && lost.CompareAndSwap(false, true) {
						s.Kill()
						return
					}
					c.Reply(`"content":[]`)
				}
				cfg := up.config(t, s)
				cfg.Untrusted = untrusted
				source := bridge.New(bridge.Options{}, bridge.Member{Name: "one", Source: dial(t, cfg)})
				f := newFront(t, source)
				dialed := func(repeated ...string) *caller {
					return newCaller(t, f, func(_ testing.TB, f *front) *peer.Client {
						return overPipesOf(f, &mcpserver.Stream{Repeated: repeated})
					}, false, `{}`)
				}
				check := func(what string, c *caller, args string) {
					t.Helper()
					m := c.response(c.request("tools/call", `"name":"look","arguments":`+args, ""))
					if refused := m.Error != nil; refused != untrusted {
						t.Errorf("%s: %s", what, m.Raw)
					}
				}
				again := dialed("1")
				check("of a daemon before", again, `{}`)
				if m := again.response(again.request("tools/call", `"name":"look","arguments":{}`, "")); m.Error != nil {
					t.Errorf("a new call: %s", m.Raw)
				}
				check("of a lost connection", dialed(), `{"lose":"yes"}`)
				if n := len(s.Seen(wire.MethodToolsCall)); n != map[bool]int{true: 2, false: 4}[untrusted] {
					t.Errorf("the server got %d calls", n)
				}
				if list := again.result(again.request("tools/list", "", "")); !strings.Contains(list, `"readOnlyHint":true`) {
					t.Errorf("annotations are not shown: %s", list)
				}
			})
		}
	}
}
