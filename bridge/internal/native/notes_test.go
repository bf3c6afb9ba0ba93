package native

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The properties of a definition are those that any subschema of the root adds; what the root
// requires is what applies to every call.
func TestNotes(t *testing.T) {
	n := NewNotes(toolformat.Tool{Name: "t", InputSchema: []byte(`{
		"properties": {"a/b": {}, "d": {"default": 1}, "twice": {"title": "first"}}, "required": ["a/b"],
		"allOf": [{"properties": {"all": {}}, "required": ["all"]}, {"$ref": "#/$defs/far%20off"}],
		"anyOf": [{"properties": {"any": {}, "twice": {"title": "second"}}, "required": ["any"]}, {"$ref": "https://example.com/#/x"}],
		"if": {"properties": {"if": {}}}, "then": {"required": ["d"]},
		"$defs": {"far off": {"$ref": "#/$defs/far%20off", "properties": {"far": {}}, "required": ["far"]}}}`)}, nil)
	if got := n.Names(); !slices.Equal(got, []string{"a/b", "all", "any", "d", "far", "if", "twice"}) {
		t.Errorf("properties %q", got)
	}
	if got := string(n.Properties["twice"]); got != `{"title": "first"}` {
		t.Errorf("twice is %s", got)
	}
	var optional []string
	for _, name := range n.Names() {
		if n.IsOptional(name) {
			optional = append(optional, name)
		}
		n.AddProperty(name, "rule", "%s", name)
	}
	if !slices.Equal(optional, []string{"any", "if", "twice"}) {
		t.Errorf("optional are %q", optional)
	}
	n.Add("/rest", "rule", "text %d", 1)
	var got []string
	for _, note := range n.All {
		got = append(got, note.String())
	}
	want := []string{
		"t: /input_schema/properties/a~1b: a/b", "t: /input_schema/allOf/0/properties/all: all", "t: /input_schema/anyOf/0/properties/any: any", "t: /input_schema/properties/d: d",
		"t: /input_schema/$defs/far%20off/properties/far: far", "t: /input_schema/if/properties/if: if", "t: /input_schema/properties/twice: twice", "t: /rest: text 1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nwant %q", got, want)
	}
}
