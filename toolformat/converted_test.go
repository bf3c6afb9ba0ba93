package toolformat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
)

// TestConvertedArguments verifies that renamed keys are restored, and that errors use those that
// the model knows.
func TestConvertedArguments(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"$top":{"type":"integer"},"filter[id]":{"type":"object","properties":{"a b":{"type":"string"}},"required":["a b"],"additionalProperties":false}},"additionalProperties":false}`)
	c := Converted{Tool: Tool{Name: "odata.query", InputSchema: schema}, Name: "odata_query", check: check.NewLazy(schema), keys: &rewrite.KeyMap{
		Original:   map[string]string{"_top": "$top", "filter_id_": "filter[id]"},
		Properties: map[string]*rewrite.KeyMap{"filter_id_": {Original: map[string]string{"a_b": "a b"}}},
	}}
	all := []Converted{c, c}
	for _, test := range []struct{ raw, want string }{
		{`{"_top":10.0,"filter_id_":"{\"a_b\":\"x\"}"}`, `{"$top":10,"filter[id]":{"a b":"x"}}`},
		{`{"_top": 1}`, `{"$top":1}`},
		{`{ }`, `{ }`},
		{`{"_top":"x"}`, `invalid arguments for tool odata_query: /_top: expected integer, got string "x"`},
		{`{"filter_id_":{"a_c":1}}`, "invalid arguments for tool odata_query:\n- /filter_id_: missing required property \"a_b\"\n- /filter_id_: unknown property \"a_c\" (known: \"a_b\")"},
		{`{"filters":{}}`, `invalid arguments for tool odata_query: unknown property "filters" (did you mean "filter_id_"?)`},
	} {
		got, err := all[1].Arguments(json.RawMessage(test.raw))
		said := string(got)
		if err != nil {
			said = err.Error()
		}
		if said != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.raw, said, test.want)
		}
	}
	var e *Error
	broken := Converted{Tool: Tool{Name: "broken", InputSchema: json.RawMessage(`[]`)}}
	if _, err := broken.Arguments(nil); !errors.As(err, &e) || e.Code != Internal || !strings.Contains(err.Error(), "tool broken: its arguments cannot be checked: expected object or boolean") {
		t.Errorf("%v", err)
	}
}
