package bridge

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call of a tool without hidden properties costs little more than the search for their names.
func TestGuardCost(t *testing.T) {
	up := newScripted(func(*Request) Reply { return Result([]byte("{}"), nil) }, `{"name":"a","inputSchema":{"type":"object"}}`)
	s, err := NewGuard(up, GuardOptions{Hidden: []string{"tenant", "customerid"}}).Open(t.Context(), &Caller{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params, err := wire.SplitParams([]byte(`{"name":"a","arguments":{"q":"x","limit":3,"offset":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	req := &Request{Method: wire.MethodToolsCall, Params: &params, Target: "a"}
	if n := testing.AllocsPerRun(100, func() { s.Do(t.Context(), req) }); n > 3 {
		t.Errorf("a call takes %v allocations", n)
	}
}
