package e2etest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// bookDays is a rates.Store for all nodes.
type bookDays struct{ book *fleet.Book }

func (d bookDays) Update(change func([]byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return fleet.Update(ctx, d.book, "days", change)
}

// A quota of a day is one for all nodes, whatever they do at once.
func TestQuotaOfNodes(t *testing.T) {
	const calls = 300
	var passed atomic.Int64
	var work sync.WaitGroup
	for _, book := range books(t, "quotas") {
		source := new(rates.Buckets).Wrap(sourcetest.NewFake(), rates.Rates{
			Common: []rates.Rate{{Match: "*", Calls: calls, Daily: true}}, Store: bookDays{book},
		})
		session, err := source.Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		for range 4 {
			work.Go(func() {
				for range calls {
					params, _ := wire.SplitParams([]byte(`{"name":"echo","arguments":{}}`))
					reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params})
					if reply.Err == nil {
						passed.Add(1)
					}
					reply.Free()
				}
			})
		}
	}
	work.Wait()
	if n := passed.Load(); n != calls { // calls enough were tried on each node to use up what it has taken
		t.Errorf("%d calls have passed, want %d", n, calls)
	}
}
