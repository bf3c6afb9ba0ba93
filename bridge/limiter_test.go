package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
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
		reply := <-first
		if reply.Queued != 0 {
			t.Errorf("the first call waited for %v", reply.Queued)
		}
		wantResult(t, reply, `{"content":[]}`)
		if reply = <-third; reply.Queued != 30*time.Second {
			t.Errorf("the third call waited for %v", reply.Queued)
		}
		wantError(t, reply, toolformat.Unavailable, "shop is busy: 1 calls have been under way for 30s; try again later (concurrency in its config)")
		release <- struct{}{}
		if reply = <-second; reply.Queued != time.Second {
			t.Errorf("the second call waited for %v", reply.Queued)
		}
		wantResult(t, reply, `{"content":[]}`)
	})
}

// The time for which a Tool's function waits for a Limiter of its own is the call's queue time, and does not count
// towards its timeout.
func TestLimiterOfFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bridge.NewLimiter("the page is", 1, 1)
		if err := l.Enter(t.Context(), bridge.Principal{}, time.Minute); err != nil {
			t.Fatal(err)
		}
		tool, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
			Tool: toolformat.Tool{Name: "tool"}, Timeout: time.Minute,
			Call: func(ctx context.Context, _ json.RawMessage) (*toolformat.Result, error) {
				if err := l.Enter(ctx, bridge.Principal{}, time.Minute); err != nil {
					return nil, err
				}
				defer l.Leave(bridge.Principal{})
				time.Sleep(59 * time.Second)
				return nil, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer tool.Close()
		s, err := tool.Open(t.Context(), &bridge.Caller{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		waiting := calls(s, "tool", 1)
		time.Sleep(59 * time.Second)
		l.Leave(bridge.Principal{})
		reply := <-waiting
		if reply.Queued != 59*time.Second {
			t.Errorf("the call waited for %v", reply.Queued)
		}
		wantResult(t, reply, `{"content":[]}`)
	})
}

// A principal whose calls fill a limit and its queue does not shut out another: that takes the place
// of one that waits, and its turn is the next.
func TestLimiterTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bridge.NewLimiter("it is", 2, 4)
		var order []string
		refused := map[string]int{}
		enter := func(who string) {
			go func() {
				if err := l.Enter(t.Context(), bridge.Principal{Name: who}, time.Hour); err != nil {
					refused[who]++
				} else {
					order = append(order, who)
				}
			}()
			synctest.Wait()
		}
		for range 10 {
			enter("ann")
		}
		for range 3 {
			enter("bob")
		}
		if refused["ann"] != 6 || refused["bob"] != 1 { // ann has 2 of 4 places left, bob the others
			t.Errorf("refused: %v", refused)
		}
		for range 6 {
			l.Leave(bridge.Principal{})
			synctest.Wait()
		}
		if got, want := fmt.Sprint(order), "[ann ann ann bob ann bob]"; got != want {
			t.Errorf("the turns are %s, want %s", got, want)
		}
		for range 2 {
			enter("ann")
		}
		if len(order) != 8 {
			t.Error("a limit that all have left is not free")
		}
	})
}

// Of several principals each runs half of the calls, rounded up, whatever it has waiting; a
// principal without a name is bounded by the limit alone.
func TestLimiterShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow, err := bridge.NewNative(bridge.NativeOptions{Concurrency: 3, Principals: 2}, bridge.Tool{
			Tool: toolformat.Tool{Name: "slow"}, Timeout: time.Minute,
			Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) { <-release; return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		b := bridge.New(bridge.Options{Principals: 2}, bridge.Member{Name: "shop", Source: slow, Concurrency: 9})
		as := func(name string) bridge.Session {
			s, err := b.Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: name}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		ann, bob := as("ann"), as("bob")
		anns := calls(ann, "slow", 5) // all of ann's share of shop
		synctest.Wait()
		wantError(t, call(t.Context(), ann, "slow", `{}`, nil), toolformat.Unavailable,
			"shop is busy: 5 calls of this token have been under way for 30s; try again later (concurrency in its config)")
		bobs := calls(bob, "slow", 1)
		synctest.Wait()
		for range 3 {
			release <- struct{}{}
		}
		wantResult(t, <-bobs, `{"content":[]}`) // before three of ann's that wait
		for range 3 {
			release <- struct{}{}
		}
		for range 5 {
			wantResult(t, <-anns, `{"content":[]}`)
		}
		unnamed := calls(as(""), "slow", 3)
		synctest.Wait()
		for range 3 {
			release <- struct{}{}
			wantResult(t, <-unnamed, `{"content":[]}`)
		}
	})
}

// A call that gives up as its turn comes passes that on: whatever happens, no turn is lost.
func TestLimiterGivesUp(t *testing.T) {
	const limit = 3
	l := bridge.NewLimiter("it is", limit, 5)
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 2000 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n%7)*time.Microsecond)
				if l.Enter(ctx, bridge.Principal{Name: fmt.Sprint(i % 3)}, time.Duration(n%5+1)*time.Microsecond) == nil {
					runtime.Gosched()
					l.Leave(bridge.Principal{Name: fmt.Sprint(i % 3)})
				}
				cancel()
			}
		})
	}
	work.Wait()
	for n := range limit + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Enter(ctx, bridge.Principal{}, time.Hour); (err == nil) != (n < limit) {
			t.Errorf("call %d: %v", n, err)
		}
	}
}
