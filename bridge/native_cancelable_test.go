package bridge_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Cancelable tool runs where it is called from: its time and its caller's
// end are the same as for others, and so is a panic.
func TestHeeds(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(ctx context.Context) (*toolformat.Result, error)
		code toolformat.Code
		text string
	}{
		{"result", func(context.Context) (*toolformat.Result, error) { return toolformat.TextResult("done", false), nil }, 0, ""},
		{"too slow", func(ctx context.Context) (*toolformat.Result, error) { <-ctx.Done(); return nil, ctx.Err() }, toolformat.Timeout, "tool t timed out: no result or progress for 1s"},
		{"panic", func(context.Context) (*toolformat.Result, error) { panic("x") }, toolformat.Internal, "internal error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here := make(chan struct{})
				native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
					Tool: toolformat.Tool{Name: "t"}, Timeout: time.Second, Cancelable: true,
					Call: func(ctx context.Context, _ json.RawMessage) (*toolformat.Result, error) {
						close(here)
						return c.call(ctx)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				defer native.Close()
				session, err := native.Open(t.Context(), &bridge.Caller{})
				if err != nil {
					t.Fatal(err)
				}
				reply := session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "t"})
				<-here
				switch {
				case c.text == "" && (reply.Err != nil || string(wire.Lookup(reply.Result, "isError")) == "true"):
					t.Errorf("%v %s", reply.Err, reply.Result)
				case c.text != "" && (reply.Err == nil || reply.Err.Code != c.code || reply.Err.Message != c.text):
					t.Errorf("%v %s, want %s", reply.Err, reply.Result, c.text)
				}
			})
		})
	}
}
