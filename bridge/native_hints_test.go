package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// What is known of a tool is listed beside what its definition says, which counts more.
func TestNativeAnnotations(t *testing.T) {
	const extra = `{"kind":"x","annotations":`
	for _, c := range []struct {
		name       string
		tool       bridge.Tool
		want       string // annotations; "" without any
		repeatable bool
	}{
		{"nothing is known", bridge.Tool{}, ``, false},
		{"read-only", bridge.Tool{ReadOnly: true}, `{"readOnlyHint":true}`, true},
		{"idempotent", bridge.Tool{Idempotent: true}, `{"idempotentHint":true}`, true},
		{"said alone", bridge.Tool{Tool: toolformat.Tool{Extra: json.RawMessage(extra + `{"title": "T", "x": 1.0}}`), Format: toolformat.FormatAcorn}}, `{"title":"T","x":1.0}`, false},
		{"said beside", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(extra + `{"openWorldHint":false}}`), Format: toolformat.FormatInternal}}, `{"readOnlyHint":true,"openWorldHint":false}`, true},
		{"said otherwise", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(extra + `{"readOnlyHint":false}}`), Format: toolformat.FormatAnthropic}}, `{"readOnlyHint":false}`, false},
		{"said to be destructive", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(extra + `{"destructiveHint":true}}`), Format: toolformat.FormatAcorn}}, `{"destructiveHint":true}`, false},
		{"said not to be destructive", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(extra + `{"destructiveHint":false}}`), Format: toolformat.FormatAcorn}}, `{"readOnlyHint":true,"destructiveHint":false}`, true},
		{"null", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(`{"name":"t","annotations":null}`)}}, `{"readOnlyHint":true}`, true},
		{"in MCP's format", bridge.Tool{ReadOnly: true, Tool: toolformat.Tool{Extra: json.RawMessage(`{"name":"t","annotations":{ "title":"T" },"icons":[]}`)}}, `{"readOnlyHint":true, "title":"T" }`, true},
		{"in MCP's format, without", bridge.Tool{Idempotent: true, Tool: toolformat.Tool{Extra: json.RawMessage(`{"name":"t","icons":[]}`), Format: toolformat.FormatMCP}}, `{"idempotentHint":true}`, true},
		{"with context", bridge.Tool{ReadOnly: true, Hidden: []string{"who"}, Tool: toolformat.Tool{Extra: json.RawMessage(`{"name":"t","annotations":{"title":"T"},"inputSchema":{}}`)}}, `{"readOnlyHint":true,"title":"T"}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.tool.Name, c.tool.Call = "t", func(context.Context, json.RawMessage) (*toolformat.Result, error) { return nil, nil }
			n, s := open(t, bridge.NativeOptions{}, c.tool)
			defer n.Close()
			l, err := s.List(t.Context(), bridge.Tools)
			if err != nil {
				t.Fatal(err)
			}
			it := l.Items[0]
			if got := string(wire.Lookup(it.Raw, "annotations")); got != c.want || it.Repeatable != c.repeatable {
				t.Errorf("annotations %s, repeatable %v; want %s, %v", got, it.Repeatable, c.want, c.repeatable)
			}
			if wire.Valid(it.Raw) != nil || strings.Contains(string(c.tool.Extra), "icons") && wire.Lookup(it.Raw, "icons") == nil {
				t.Errorf("the definition is %s", it.Raw)
			}
		})
	}
	_, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{Client: true, Tool: toolformat.Tool{Name: "t", Format: toolformat.FormatAcorn, Extra: json.RawMessage(extra + `"readOnlyHint"}`)}})
	if want := `bridge: tool t: annotations: expected an object such as {"readOnlyHint": true}, got "readOnlyHint"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
