package bridge

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call of a tool without hidden properties costs little more than the search for their names, and one that has
// them in its arguments themselves little more than to put them there.
func TestGuardCost(t *testing.T) {
	result := []byte("{}")
	up := newScripted(func(*Request) Reply { return Result(result, nil) },
		`{"name":"a","inputSchema":{"type":"object"}}`, `{"name":"b","inputSchema":{"type":"object","properties":{"tenant":{"type":"integer"}}}}`)
	value := func(string) ([]byte, bool) { return []byte(`"7"`), true }
	s, err := NewGuard(up, GuardOptions{Hidden: []string{"tenant", "customerid"}}).Open(t.Context(), &Caller{HiddenValue: value})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, most := range map[string]float64{"a": 1, "b": 2} {
		params, err := wire.SplitParams([]byte(`{"name":"` + name + `","arguments":{"q":"x","limit":3,"offset":1}}`))
		if err != nil {
			t.Fatal(err)
		}
		req := &Request{Method: wire.MethodToolsCall, Params: &params, Target: name}
		if reply := s.Do(t.Context(), req); string(reply.Result) != "{}" {
			t.Fatalf("%s: %s, %v", name, reply.Result, reply.Err)
		}
		if n := testing.AllocsPerRun(100, func() { s.Do(t.Context(), req) }); n > most {
			t.Errorf("a call of %s takes %v allocations, more than %v", name, n, most)
		}
	}
}
