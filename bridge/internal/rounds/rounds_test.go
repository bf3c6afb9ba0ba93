package rounds

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call is known for a while, for a number of retries, and one of many of its principal.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ann, bob := &bridge.Caller{Principal: bridge.Principal{Name: "ann"}}, &bridge.Caller{Principal: bridge.Principal{Name: "bob"}}
		var calls Calls[int]
		retry := func(state int) *bridge.Request {
			params, err := wire.SplitParams(fmt.Appendf(nil, `{"name":"a","requestState":"%d","inputResponses":{}}`, state))
			if err != nil {
				t.Fatal(err)
			}
			return &bridge.Request{Method: wire.MethodToolsCall, Target: "a", Params: &params}
		}
		keep := func(caller *bridge.Caller, state int, call Call[int]) {
			calls.Keep(caller, retry(0), &bridge.Reply{Result: fmt.Appendf(nil, `{"requestState":"%d"}`, state)}, call)
		}
		expect := func(caller *bridge.Caller, state int, want bool) (call Call[int]) {
			t.Helper()
			call, ok := calls.Take(caller, retry(state))
			if ok != want {
				t.Errorf("%s, state %d: %t", caller.Principal.Name, state, ok)
			}
			return call
		}
		keep(ann, 1, Call[int]{Known: 7})
		time.Sleep(life)
		if call := expect(ann, 1, true); call.Known != 7 {
			t.Error(call)
		}
		expect(ann, 1, false)
		keep(ann, 1, Call[int]{})
		time.Sleep(life + 1)
		expect(ann, 1, false)

		var call Call[int]
		for range maxCall {
			keep(ann, 1, call)
			call = expect(ann, 1, true)
		}
		keep(ann, 1, call)
		expect(ann, 1, false)

		keep(bob, 0, Call[int]{})
		for i := range maxEach + 1 {
			keep(ann, i, Call[int]{})
		}
		expect(ann, 0, false)
		expect(ann, 1, true)
		expect(ann, maxEach, true)
		expect(bob, 0, true)
	})
}
