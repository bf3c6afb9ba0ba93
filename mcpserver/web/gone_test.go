package web_test

import (
	"context"
	"net"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestGone: whoever learns by a call that a client has gone does not see its tools any more, although the
// server has not said yet that it has left.
func TestGone(t *testing.T) {
	lending := web.NewLending()
	lender := lending.Join(&bridge.Caller{Ask: func(context.Context, string, []byte) ([]byte, *toolformat.Error) {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the client has gone").Because(net.ErrClosed)
	}})
	if reply := lender.Lend(t.Context(), &wire.Params{Raw: []byte(`{"tools":[` + define("stay", "") + `]}`)}); reply.Err != nil {
		t.Fatal(reply.Err)
	}
	s, err := lending.Wrap(sourcetest.NewFake(), bridge.OverlayOptions{}).Open(t.Context(), &bridge.Caller{ID: "caller"})
	if err != nil {
		t.Fatal(err)
	}
	sees := func() bool {
		l, err := s.List(t.Context(), bridge.Tools)
		if err != nil {
			t.Fatal(err)
		}
		_, ok := l.Find("stay")
		return ok
	}
	if !sees() {
		t.Error("a tool that is lent is not listed")
	}
	params, err := wire.SplitParams([]byte(`{"name":"stay","arguments":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	reply := s.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "stay"})
	if reply.Err == nil || reply.Err.Code != toolformat.Unavailable || sees() {
		t.Errorf("the call: %s %v; the tool is listed: %v", reply.Result, reply.Err, sees())
	}
	lender.Leave()
	s.Close()
	lending.CheckLeftover(t)
}
