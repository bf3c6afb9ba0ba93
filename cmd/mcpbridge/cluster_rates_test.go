package main

import (
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// clusterOf returns the nodes of a cluster, which end with the test.
func clusterOf(t *testing.T, names ...string) (all []*cluster) {
	nats := fleettest.NATS(t)
	for _, name := range names {
		c := &cluster{name: "test", engine: fleettest.Engine(t, nats, name)}
		c.node = fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: c.engine, Name: name})
		t.Cleanup(func() { c.node.Close() })
		all = append(all, c)
	}
	return all
}

// A rate is one for all nodes, also for callers that a node has not seen before.
func TestRatesOfNodes(t *testing.T) {
	call := func(buckets *rates.Buckets, principal string) bool {
		session, err := buckets.Wrap(sourcetest.NewFake(), rates.Rates{Common: []rates.Rate{{Match: "*", Calls: 5, Per: time.Hour}}}).
			Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: principal}})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo"})
		defer reply.Free()
		return reply.Err == nil
	}
	var own [2]rates.Buckets
	for i, c := range clusterOf(t, "a", "b") {
		if err := c.shareRates(t.Context(), &own[i]); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if !call(&own[0], "ann") {
			t.Fatal("a call is refused for which there is room")
		}
	}
	tick := time.NewTicker(10 * ratesTime)
	defer tick.Stop()
	for passed := 0; call(&own[1], "ann"); passed++ { // until it is told of them
		if passed == 4 {
			t.Fatal("the other node does not know of the calls")
		}
		<-tick.C
	}
	if !call(&own[0], "bob") || !call(&own[1], "bob") {
		t.Error("another principal has no room")
	}
}
