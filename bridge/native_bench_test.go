package bridge_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// BenchmarkNative is what a call costs beside its function, which does nothing here: for
// each thing that a definition can ask for.
func BenchmarkNative(b *testing.B) {
	const (
		plain    = `{"type":"object","properties":{"limit":{"type":"integer"},"name":{"type":"string"}},"required":["limit"]}`
		defaults = `{"type":"object","properties":{"limit":{"type":"integer"},"name":{"type":"string","default":"nut"}},"required":["limit"]}`
		hidden   = `{"type":"object","properties":{"limit":{"type":"integer"},"name":{"type":"string"},"customerid":{"type":"integer"}},"required":["limit","customerid"]}`
		output   = `{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}},"required":["rows"]}`
	)
	result := &toolformat.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"[{\"id\":1}]"}],"structuredContent":{"rows":[{"id":1}]}}`)}
	for _, c := range []struct {
		name string
		tool toolformat.Tool
		hide []string
	}{
		{"any arguments", toolformat.Tool{}, nil},
		{"a schema", toolformat.Tool{InputSchema: json.RawMessage(plain)}, nil},
		{"a default", toolformat.Tool{InputSchema: json.RawMessage(defaults)}, nil},
		{"context", toolformat.Tool{InputSchema: json.RawMessage(hidden)}, []string{"customerid"}},
		{"an output schema", toolformat.Tool{InputSchema: json.RawMessage(plain), OutputSchema: json.RawMessage(output)}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.tool.Name = "t"
			n, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{Tool: c.tool, Hidden: c.hide, Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
				return result, nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			defer n.Close()
			s, err := n.Open(b.Context(), &bridge.Caller{ID: "b", HiddenValue: func(string) ([]byte, bool) { return []byte("42"), true }})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			params, err := wire.SplitParams([]byte(`{"name":"t","arguments":{"limit":5}}`))
			if err != nil {
				b.Fatal(err)
			}
			req := &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "t"}
			b.ReportAllocs()
			for b.Loop() {
				if r := s.Do(b.Context(), req); len(r.Result) != len(result.JSON) {
					b.Fatalf("%s, %v", r.Result, r.Err)
				}
			}
		})
	}
}
