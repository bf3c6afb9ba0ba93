package mcpserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// Clients of the legacy era get schemas in the form that their SDKs take, for which they would reject the whole list.
func TestLegacyItem(t *testing.T) {
	for definition, want := range map[string]string{
		`{"name":"a","inputSchema":{"type":"object","properties":[],"required":[]}}`:                                   `{"name":"a","inputSchema":{"type":"object","properties":{},"required":[]}}`,
		`{"name":"a","inputSchema":{"required":{},"properties":null,"type":"object"}}`:                                 `{"name":"a","inputSchema":{"properties":{},"type":"object"}}`,
		`{"name":"a","inputSchema":{"properties":{"a":true,"b\"":{"type":"string"},"c":false},"x":1},"b":2}`:           `{"name":"a","inputSchema":{"type":"object","properties":{"a":{},"b\"":{"type":"string"},"c":{"not":{}}},"x":1},"b":2}`,
		`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":true}}}`:        `{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{}}}}`,
		`{"name":"a","inputSchema":{"properties":[],"type":"object"},"outputSchema":{"type":"array","properties":[]}}`: `{"name":"a","inputSchema":{"properties":{},"type":"object"}}`,
		`{"name":"a","inputSchema": {"type": "object", "properties": {"a": {"properties": {"b": true}}} }}`:            `{"name":"a","inputSchema": {"type": "object", "properties": {"a": {"properties": {"b": true}}} }}`,
		`{"name":"a"}`:                    `{"inputSchema":{"type":"object"},"name":"a"}`,
		`{"name":"a","inputSchema":true}`: `{"name":"a","inputSchema":{"type":"object"}}`,
		`{"name":"a","inputSchema":null}`: `{"inputSchema":{"type":"object"},"name":"a"}`,
		`{"title":null,"name":"a","inputSchema":{"type":"object","default":null},"annotations":null,"outputSchema":null}`: `{"name":"a","inputSchema":{"type":"object","default":null}}`,
		`{"name":"a","inputSchema":{"type":["object","null"],"oneOf":[{"properties":{}},{}]}}`:                            `{"name":"a","inputSchema":{"type":"object","oneOf":[{"properties":{}},{}]}}`,
	} {
		it, err := bridge.NewItem(bridge.Tools, []byte(definition))
		if err != nil {
			t.Fatal(err)
		}
		if it = legacyItem(bridge.Tools, it); string(it.Raw) != want {
			t.Errorf("%s became\n%s, want\n%s", definition, it.Raw, want)
		}
	}
}

// Members that are null, as encoders write what is not there, are left out of all lists, also below those that MCP defines.
func TestLegacyNull(t *testing.T) {
	for _, c := range []struct {
		kind             bridge.ListKind
		definition, want string
	}{
		{bridge.Prompts, `{"description":null,"name":"a","arguments":null,"_meta":{"b":null}}`, `{"name":"a","_meta":{"b":null}}`},
		{bridge.Prompts, `{"name":"a","arguments":[{"name":"b","title":null,"required":null}, {"name":"null","description":""}]}`,
			`{"name":"a","arguments":[{"name":"b"},{"name":"null","description":""}]}`},
		{bridge.Resources, `{"uri":"a:b","name":"a","annotations":{"audience":null,"priority":1},"icons":[{"src":"c","sizes":null}]}`,
			`{"uri":"a:b","name":"a","annotations":{"priority":1},"icons":[{"src":"c"}]}`},
		{bridge.Tools, `{"name":"a","annotations":{"title":null,"readOnlyHint":true,"idempotentHint":null},"execution":{"taskSupport":null},"inputSchema":{"type":"object","default":{"b":null}},"x":{"y":null}}`,
			`{"name":"a","annotations":{"readOnlyHint":true},"execution":{},"inputSchema":{"type":"object","default":{"b":null}},"x":{"y":null}}`},
	} {
		it, err := bridge.NewItem(c.kind, []byte(c.definition))
		if err != nil {
			t.Fatal(err)
		}
		if it = legacyItem(c.kind, it); string(it.Raw) != c.want {
			t.Errorf("%s became\n%s, want\n%s", c.definition, it.Raw, c.want)
		}
	}
}

// A definition with very many such members holds up no list.
func TestLegacyManyNull(t *testing.T) {
	var b strings.Builder
	for n := range 200_000 {
		fmt.Fprintf(&b, `"%d":null,`, n)
	}
	many := b.String()
	it, err := bridge.NewItem(bridge.Tools, []byte(`{`+many+`"name":"a","annotations":{`+many+`"title":"b"},"inputSchema":{"type":"object"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if it = legacyItem(bridge.Tools, it); string(it.Raw) != `{"name":"a","annotations":{"title":"b"},"inputSchema":{"type":"object"}}` {
		t.Errorf("%.300s", it.Raw)
	}
}
