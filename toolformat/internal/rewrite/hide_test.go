package rewrite

import (
	"strings"
	"testing"
)

func TestHideProperties(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"in any letter case", `{"type":"object","properties":{"a":{},"ID":{},"b":{}},"required":["a","id","ID"]}`, `{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`},
		{"all that is required", `{"properties":{"id":{}},"required":["id"]}`, `{"properties":{}}`},
		{"nested", `{"properties":{"id":{"properties":{"id":{}}},"x":{"items":{"properties":{"id":{},"y":{}},"required":["id"]}}}}`, `{"properties":{"x":{"items":{"properties":{"y":{}}}}}}`},
		{"in combinators", `{"allOf":[{"properties":{"id":{}},"minProperties":1}],"anyOf":[{"required":["id"]},{"required":["q"]}]}`, `{"allOf":[{"properties":{}}],"anyOf":[{},{"required":["q"]}]}`},
		{"in alternatives, which may now both apply", `{"oneOf":[{"properties":{"id":{"const":1}}},{"properties":{"id":{"const":2}}}]}`, `{"anyOf":[{"properties":{}},{"properties":{}}]}`},
		{"in conditions", `{"if":{"required":["id"]},"then":{"required":["q"]},"not":{"required":["id"]}}`, `{}`},
		{"of dependencies", `{"dependentRequired":{"id":["a"],"a":["id","b"]},"dependentSchemas":{"id":{}},"dependencies":{"a":["id"]}}`, `{"dependentRequired":{"a":["b"]},"dependentSchemas":{},"dependencies":{"a":[]}}`},
		{"of patterns and names", `{"patternProperties":{"^id$":{},"^x":{}},"propertyNames":{"enum":["id","q"]}}`, `{"patternProperties":{"^x":{}},"propertyNames":{"enum":["q"]}}`},
		{"in values", `{"properties":{"o":{"default":{"id":1,"a":[{"ID":2}]},"examples":[{"id":3}]}}}`, `{"properties":{"o":{"default":{"a":[{}]},"examples":[{}]}}}`},
		{"in remarks", `{"title":"ID","description":"An id.","discriminator":{"propertyName":"id"},"x-fields":{"id":1},"format":"x"}`, `{"description":"An id.","format":"x"}`},
		{"of definitions", `{"properties":{"a":{"$ref":"#/$defs/Id"},"b":{"$ref":"#/$defs/o"}},"$defs":{"Id":{"type":"integer"},"o":{"properties":{"id":{"$ref":"#/$defs/Id"}}}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/definition"},"b":{"$ref":"#/$defs/o"}},"$defs":{"definition":{"type":"integer"},"o":{"properties":{}}}}`},
		{"of a definition that nothing uses", `{"properties":{"id":{"$ref":"#/$defs/id"}},"$defs":{"id":{"type":"integer"}}}`, `{"properties":{},"$defs":{}}`},
		{"that a reference leads through", `{"properties":{"id":{"type":"integer"},"a":{"$ref":"#/properties/id"}}}`, `{"properties":{"a":{"type":"integer"}}}`},
		{"outside of the schema", `{"$ref":"#/components/schemas/A","components":{"schemas":{"A":{"properties":{"id":{},"a":{}}}}}}`, `{"properties":{"a":{}}}`},
		{"an object that may have others", `{"properties":{"id":{}},"additionalProperties":false,"items":{"additionalProperties":false}}`, `{"properties":{},"items":{"additionalProperties":false}}`},
		{"a keyword", `{"properties":{"type":{"type":"integer"}},"type":"object"}`, `{"properties":{"type":{"type":"integer"}},"type":"object"}`},
		{"nothing", `{"required":[],"x":1.0}`, `{"required":[],"x":1.0}`},
		{"a boolean", `true`, `true`},
	} {
		got, err := HideProperties([]byte(c.schema), []string{"Id"})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s became\n%s, %v, want\n%s", c.name, c.schema, got, err, c.want)
		}
	}
	if got, err := HideProperties([]byte(`{"properties":{"type":{"type":"integer"}},"type":"object"}`), []string{"type"}); err != nil || string(got) != `{"properties":{},"type":"object"}` {
		t.Errorf("a name that is a keyword: %s, %v", got, err)
	}
	if got, err := HideProperties([]byte(`{"properties":{"o":{"enum":[1,{"id":2}]}}}`), []string{"id"}); err == nil || !strings.HasPrefix(err.Error(), "/properties/o/enum: it has a value with a property that is hidden") {
		t.Errorf("in a value of an enum: %s, %v", got, err)
	}
	for schema, want := range map[string]string{
		`{`: "unexpected end of input in an object, expected a key in quotes",
		strings.Repeat(`{"not":`, 101) + "{}" + strings.Repeat("}", 101): "nested deeper than 100 levels",
	} {
		if _, err := HideProperties([]byte(schema), nil); err == nil || err.Error() != want {
			t.Errorf("%.20s: %v", schema, err)
		}
	}
}
