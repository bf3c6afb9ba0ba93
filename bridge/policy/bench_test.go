package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// BenchmarkCall is what a policy costs beside a call of a source that does next to nothing.
func BenchmarkCall(b *testing.B) {
	schema := map[string]json.RawMessage{"/amount": []byte(`{"type":"number","minimum":100}`)}
	for _, c := range []struct {
		name  string
		rules []policy.Rule
	}{
		{"none", nil},
		{"name", []policy.Rule{{Tools: []string{"a_get"}, Verdict: policy.Deny}}},
		{"value", []policy.Rule{{Arguments: map[string]json.RawMessage{"/amount": []byte(`100`)}, Verdict: policy.Deny}}},
		{"pattern", []policy.Rule{{Arguments: map[string]json.RawMessage{"/to": []byte(`"eve*"`)}, Verdict: policy.Deny}}},
		{"schema", []policy.Rule{{Arguments: schema, Verdict: policy.Deny}}},
		{"schema of another tool", []policy.Rule{{Tools: []string{"a_get"}, Arguments: schema, Verdict: policy.Deny}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := policy.Compile(c.rules)
			if err != nil {
				b.Fatal(err)
			}
			s, err := policy.New(newGround(), policy.Options{Policy: p, Desk: policy.NewDesk(policy.DeskOptions{})}).Open(b.Context(), &bridge.Caller{})
			if err != nil {
				b.Fatal(err)
			}
			params, err := wire.SplitParams([]byte(`{"name":"a_set","arguments":{"amount":7,"currency":"EUR","to":"ann","note":"for the books of last month, as agreed","lines":[{"n":1,"text":"one"},{"n":2,"text":"two"}]}}`))
			if err != nil {
				b.Fatal(err)
			}
			req := &bridge.Request{Method: wire.MethodToolsCall, Target: "a_set", Params: &params}
			b.ReportAllocs()
			for b.Loop() {
				if reply := s.Do(b.Context(), req); reply.Err != nil {
					b.Fatal(reply.Err)
				}
			}
		})
	}
}
