package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// A node that cannot open whether calls are stopped runs none until they are let run, and a stop that NATS has lost
// comes back.
func TestStopOfNodes(t *testing.T) {
	nats := fleettest.NATS(t)
	node := func(name, secret string) *cluster {
		c := &cluster{name: "test", engine: fleettest.Engine(t, nats, name)}
		c.node = fleet.New(fleet.Options{Keys: fleettest.Keys(t, strings.Repeat(secret, 40)), Engine: c.engine, Name: name})
		c.stops = c.node.Book(stopBook, 0)
		t.Cleanup(func() { c.node.Close() })
		return c
	}
	stop := func(c *cluster, reason string) {
		t.Helper()
		if err := c.stopCalls(t.Context(), reason); err != nil {
			t.Fatal(err)
		}
	}
	earlier, now, pool := node("a", "1"), node("b", "2"), stack.NewPool()
	t.Cleanup(func() { pool.Close() })
	stop(earlier, "why")
	now.share(t.Context(), pool, slog.New(slog.DiscardHandler))
	if got := pool.Approvals.Stopped(); got != sealedStop || now.told.Load() || now.unready() != sealedStop {
		t.Errorf("stopped for %q, %t, %s", got, now.told.Load(), now.unready())
	}
	await := func(want string) {
		for pool.Approvals.Stopped() != want {
			if t.Context().Err() != nil {
				t.Fatal(pool.Approvals.Stopped())
			}
		}
	}
	stop(now, "")
	await("")
	if now.sealed.Load() {
		t.Error("it says that it cannot open the stop")
	}
	stop(now, "again")
	await("again")
	if _, _, err := now.stops.Change(t.Context(), stopKey, nil, 0, 0); err != nil {
		t.Fatal(err)
	}
	for value := []byte(nil); string(value) != "+again"; {
		var err error
		if value, _, err = now.stops.Get(t.Context(), stopKey); err != nil {
			t.Fatal(err)
		}
	}
}
