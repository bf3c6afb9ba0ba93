package web_test

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// TestTaken: a client that lends a tool is told if its name is another's, but not of its own, lent again or
// by another client.
func TestTaken(t *testing.T) {
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			b := bridge.New(bridge.Options{}, bridge.Member{Name: "shop", Source: sourcetest.NewFake()}, bridge.Member{Name: "away", Source: sourcetest.NewFake()})
			lending := web.NewLending()
			h := newHost(t, lending.Wrap(b, bridge.OverlayOptions{Reserved: b.Owner}), mcpserver.Options{Lend: lending.Join})
			one, two := newPeer(t, h, era, ""), newPeer(t, h, era, "")
			for _, p := range []*peer{one, two, one} {
				p.must("tools/list", "{}")
				got := p.lend(define("shop__echo", ""), define("away__x", ""), define("own", ""))
				want := `"refused":[{"name":"shop__echo","reason":"server shop has a tool of this name"},{"name":"away__x","reason":"names with this prefix are those of server away"}]`
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			if got := one.must("tools/list", "{}"); !strings.Contains(got, `"name":"own"`) {
				t.Errorf("what may be lent is not listed: %s", got)
			}
		})
	}
}
