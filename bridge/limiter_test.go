package bridge_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The calls of a member run up to its Concurrency, and those that wait for their turn have a
// bound in number and in time.
func TestMemberConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
			Tool: toolformat.Tool{Name: "slow"}, Timeout: time.Hour,
			Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) { <-release; return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		s, err := bridge.New(bridge.Options{Queue: 2}, bridge.Member{Name: "shop", Source: slow, Concurrency: 1}).Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		first := calls(s, "slow", 1)
		synctest.Wait()
		second := calls(s, "slow", 1)
		synctest.Wait()
		time.Sleep(time.Second)
		third := calls(s, "slow", 1)
		synctest.Wait()
		wantError(t, call(t.Context(), s, "slow", `{}`, nil), toolformat.Unavailable,
			"shop is busy: 1 calls are under way and 2 wait already; try again later (concurrency in its config)")
		release <- struct{}{}
		wantResult(t, <-first, `{"content":[]}`)
		wantError(t, <-third, toolformat.Unavailable, "shop is busy: 1 calls have been under way for 30s; try again later (concurrency in its config)")
		release <- struct{}{}
		wantResult(t, <-second, `{"content":[]}`)
	})
}
