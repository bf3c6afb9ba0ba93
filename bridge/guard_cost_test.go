package bridge

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call of a tool takes no memory for hidden properties, whether it has some or not.
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
	for _, name := range []string{"a", "b"} {
		params, err := wire.SplitParams([]byte(`{"name":"` + name + `","arguments":{"q":"x","limit":3,"offset":1}}`))
		if err != nil {
			t.Fatal(err)
		}
		req := &Request{Method: wire.MethodToolsCall, Params: &params, Target: name}
		if reply := s.Do(t.Context(), req); string(reply.Result) != "{}" {
			t.Fatalf("%s: %s, %v", name, reply.Result, reply.Err)
		}
		if n := testing.AllocsPerRun(100, func() { s.Do(t.Context(), req) }); n > 0 {
			t.Errorf("a call of %s takes %v allocations", name, n)
		}
	}
}

// A hidden name is found in keys of any length, letter case and spelling, and nowhere else.
func TestMentioned(t *testing.T) {
	g := NewGuard(nil, GuardOptions{Hidden: []string{"Tenant_ID", "kö"}})
	long := strings.Repeat(`{"a":"b\\\"","c":`, 40)
	for value, want := range map[string]bool{
		`{}`: false, `{"a":"tenant_id"}`: false, `{"tenant_i":1}`: false, `{"tenant id":1,"tenant` + "\x7f" + `id":2}`: false, `{"tenant_id":1}`: true, `{"TENANT_ID":1}`: true,
		`{"a":[{"x_Tenant_Id_y":{}}]}`: true, `{"t\u0065nant_id":1}`: true, `{"\u212aÖ":1}`: true, `{"kÖ":1}`: true, `{"ko":1}`: false, `{"a":"\\","tenant_id":1}`: true,
		long + `1` + strings.Repeat("}", 40): false, long + `{"tenant_id":"x"}` + strings.Repeat("}", 40): true,
		long + `"tenant_id"` + strings.Repeat("}", 40): false, long + `{"` + strings.Repeat("x", 300) + `Tenant_id":1}` + strings.Repeat("}", 40): true,
	} {
		if got := g.isMentioned([]byte(value)); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
}
