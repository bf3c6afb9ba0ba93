package e2etest

import (
	"context"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// books returns the book of a name of each of three nodes.
func books(t *testing.T, name string) (all []*fleet.Book) {
	nats := fleettest.NATS(t)
	for _, node := range []string{"a", "b", "c"} {
		own := fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: fleettest.Engine(t, nats, node), Name: node})
		t.Cleanup(func() { own.Close() })
		all = append(all, own.Book(name, time.Hour))
	}
	return all
}

// Of equal calls on several nodes as many run as a person has approved, on whatever node that was.
func TestApprovalsOfNodes(t *testing.T) {
	rules, err := policy.Compile([]policy.Rule{{Name: "all", Verdict: policy.Ask}})
	if err != nil {
		t.Fatal(err)
	}
	fake := sourcetest.NewFake()
	var desks []*policy.Desk
	var sessions []bridge.Session
	for _, book := range books(t, "approvals") {
		desk := policy.NewDesk(policy.DeskOptions{})
		desk.Share(t.Context(), book)
		session, err := policy.New(fake, policy.Options{Policy: rules, Desk: desk}).Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		desks, sessions = append(desks, desk), append(sessions, session)
	}
	const calls = 3 // on each node
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	replies := make(chan bridge.Reply)
	for range calls {
		for _, session := range sessions {
			go func() {
				params, _ := wire.SplitParams([]byte(`{"name":"echo","arguments":{"a":1}}`))
				replies <- session.Do(ctx, &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params})
			}()
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	decided := map[string]bool{}
	for n, ended := 0, 0; ended < calls*len(sessions); {
		select {
		case reply := <-replies:
			if reply.Err != nil {
				t.Fatal(reply.Err)
			}
			ended++
		case <-tick.C:
			desk := desks[n%len(desks)]
			n++
			for _, a := range desk.Approvals() {
				if a.State != policy.Pending || decided[a.ID] {
					continue
				}
				if _, err := desk.Decide(a.ID, policy.Answer{Approve: true}, "op"); err == nil {
					decided[a.ID] = true
				}
			}
		}
		if ran := fake.Calls("echo"); ran > len(decided) {
			t.Fatalf("%d calls have run, and %d were approved", ran, len(decided))
		}
	}
	if ran := fake.Calls("echo"); ran != len(decided) || ran != calls*len(sessions) {
		t.Errorf("%d calls have run, and %d were approved", ran, len(decided))
	}
}
