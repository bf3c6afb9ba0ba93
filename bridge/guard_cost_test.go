package bridge

import (
	"fmt"
	"strconv"
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

// Only a definition that may have a hidden name, in any spelling, is parsed.
func TestMentionedInDefinition(t *testing.T) {
	g := NewGuard(nil, GuardOptions{Hidden: []string{"Task_ID", "kö"}})
	schema := func(properties string) string {
		return `{"name":"a","inputSchema":{"type":"object","properties":{` + properties + `}}}`
	}
	for definition, want := range map[string]bool{
		schema(``): false, schema(`"task":{"const":"id"}`): false, schema(`"a":{"description":"x\n\"y\""}`): false,
		schema(`"TASK_id":{}`): true, schema(`"filter[task_id]":{}`): true, schema(`"a":{"required":["Task_id"]}`): true,
		schema(`"t\u0061sk_id":{}`): true, schema(`"ta` + "ſ" + `k_id":{}`): true, schema(`"tas` + "\u212a" + `_id":{}`): true, schema(`"KÖ":{}`): true,
	} {
		_, tool, err := g.tool(Item{Key: "a", Raw: []byte(definition)})
		if err != nil || (tool.hidden != g.without) != want || tool.has != want {
			t.Errorf("%s: parsed %v, hidden properties %v, %v", definition, tool.hidden != g.without, tool.has, err)
		}
	}
}

// A list is looked through for hidden properties that few tools have.
func BenchmarkGuardedList(b *testing.B) {
	list := NewList(Tools, nil)
	for i := range 1000 {
		list.Items = append(list.Items, Item{Key: strconv.Itoa(i), Raw: fmt.Appendf(nil, `{"name":"%d","description":"%s","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"%[2]s"},"limit":{"type":"integer"}},"required":["query"]}}`, i, strings.Repeat("What it does. ", 10))})
	}
	for b.Loop() {
		g := NewGuard(nil, GuardOptions{Hidden: []string{"tenant", "customerid"}})
		if v := g.guarded(list); len(v.list.Items) != 1000 {
			b.Fatal(len(v.list.Items))
		}
	}
}
