package bridge_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A reply names the member that the request went to, whether or not it has a result; of nested Bridges
// the outermost has the last word.
func TestReplyMember(t *testing.T) {
	fake := func() bridge.Source { return sourcetest.NewFake() }
	inner := bridge.New(bridge.Options{}, bridge.Member{Name: "x", Source: fake()}, bridge.Member{Name: "y", Source: fake()})
	several := bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: fake()}, bridge.Member{Name: "b", Source: inner})
	only := bridge.New(bridge.Options{}, bridge.Member{Name: "only", Source: fake()})
	for _, c := range []struct {
		source         bridge.Source
		method, target string
		want           string
	}{
		{several, wire.MethodToolsCall, "a__echo", "a"},
		{several, wire.MethodToolsCall, "a__error", "a"},
		{several, wire.MethodToolsCall, "b__x__echo", "b"},
		{several, wire.MethodToolsCall, "nobody__echo", ""},
		{several, wire.MethodDiscover, "", ""},
		{several, "vendor/method", "", ""},
		{only, wire.MethodToolsCall, "echo", "only"},
		{only, wire.MethodToolsCall, "no-such-tool", "only"},
		{only, "vendor/method", "", "only"},
	} {
		session, err := c.source.Open(t.Context(), &bridge.Caller{ID: t.Name()})
		if err != nil {
			t.Fatal(err)
		}
		params, err := wire.SplitParams([]byte(`{"name":"` + c.target + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		reply := session.Do(t.Context(), &bridge.Request{Method: c.method, Params: &params, Target: c.target})
		if reply.Member != c.want {
			t.Errorf("%s %s: %q, want %q (%v)", c.method, c.target, reply.Member, c.want, reply.Err)
		}
		session.Close()
	}
}
