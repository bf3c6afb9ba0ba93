package e2etest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A server in PHP writes an empty object as []. What the bridge adds members to is valid all the same.
func TestEmptyObjectsOfPHP(t *testing.T) {
	sourcetest.NoLeaks(t)
	for _, p := range prefixes {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprint(p.prefix, modern), func(t *testing.T) {
				s := newToolServer("legacy", `{"name":"f","inputSchema":{"type":"object"},"_meta":[],"annotations":[]}`)
				s.Before = func(c *peer.Call) bool {
					if c.Method == wire.MethodInitialize {
						c.Reply(`"protocolVersion":"2025-11-25","capabilities":{"tools":[],"experimental":[]},"serverInfo":{"name":"php","version":"1"},"_meta":[]`)
					}
					return c.Method == wire.MethodInitialize
				}
				s.Take = func(c *peer.Call) { c.Reply(`"content":[],"_meta":[]`) }
				f := newFront(t, bridge.New(bridge.Options{Settle: patience}, p.members(dial(t, taskCarriers[0].config(t, s)))...))
				c := newCaller(t, f, overWS, modern, `{}`)
				if modern {
					c.result(c.request("server/discover", "", ""))
				}
				if got := c.result(c.request("tools/list", "", "")); !strings.Contains(got, `"`+p.prefix+`f"`) {
					t.Errorf("tools/list: %s", got)
				}
				if got := c.tool(p.prefix+"f", `{}`); !strings.Contains(got, `"content":[]`) {
					t.Errorf("tools/call: %s", got)
				}
			})
		}
	}
}
