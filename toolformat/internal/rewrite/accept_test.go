package rewrite

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestPassesAccept verifies that values that are valid in a schema's own draft are valid after the
// passes. jsonschema/v5 decides, without the repairs of a Checker.
func TestPassesAccept(t *testing.T) {
	chains := map[string][]func(*Schema){
		"draft": {UpgradeDraft},
		"path":  {UpgradeDraft, FoldNullable, inlinePathReferences, dropTitles},
		"copy":  {UpgradeDraft, FoldNullable, inlineReferences, dropTitles, dropBooleans},
	}
	for _, c := range []struct {
		schema    string
		instances []string // all are valid
	}{
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","definitions":{"n":{"id":"#n","minimum":0,"exclusiveMinimum":true}},"properties":{"a":{"$ref":"#n","maximum":1},"b":{"$ref":"y#/definitions/n"}},"dependencies":{"a":["b"]}}`,
			[]string{`{}`, `{"a":2,"b":1}`, `{"b":"x"}`, `7`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"},true],"additionalItems":{"$ref":"#/items/0"},"properties":{"a":{"$ref":"#","not":true}}}`,
			[]string{`[]`, `["a"]`, `["a",1,"b"]`, `{"a":["b"]}`}},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","properties":{"b":{"type":"string"}},"definitions":{"a":{"properties":{"b":{"type":"integer"},"c":{"$ref":"#/properties/b"}}}}}`,
			[]string{`{"b":1,"c":"x"}`, `{}`}},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":["object","null"],"properties":{"a":{"$recursiveRef":"#"}},"unevaluatedProperties":false}`,
			[]string{`{}`, `null`, `{"a":{"a":null}}`, `{"a":{"a":{"a":{"a":{}}}}}`}},
		{`{"oneOf":[{"type":"null"},{"type":"string","nullable":true}],"$defs":{"a":{"not":{"nullable":true,"type":"string"}}},"allOf":[{"properties":{"a":{"$ref":"#/$defs/a"}}}]}`,
			[]string{`null`, `"x"`}},
		{`{"properties":{"a":{"type":"string","nullable":true},"b":{"not":{"$ref":"#/properties/a"}},"c":{"if":{"$ref":"#/properties/a"},"then":{"minLength":2}}}}`,
			[]string{`{"a":"x"}`, `{"b":null}`, `{"c":null}`, `{"b":1,"c":"xx"}`}},
		{`{"$ref":"#/$defs/n","$defs":{"n":{"oneOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/$defs/n"},"contains":{"$ref":"#/$defs/n"},"maxContains":3}]}}}`,
			[]string{`1`, `[1]`, `[[1,2],3]`, `[[[[[4]]]]]`, `[[1,[2,[3,[4,[5]]]]]]`}},
		{`{"properties":{"a":{"$ref":"#/$defs/n"}},"unevaluatedProperties":false,"allOf":[{"$ref":"#/$defs/n"}],"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"},"a":true}}}}`,
			[]string{`{}`, `{"n":{"n":{"n":{"n":{}}}}}`, `{"a":{"n":1}}`}},
		{`{"properties":{"a":{"$ref":"#/$defs/closed","properties":{"b":true}}},"$defs":{"closed":{"properties":{"c":{"maximum":3}},"additionalProperties":{"type":"null"}}}}`,
			[]string{`{"a":{"b":null,"c":2}}`, `{"a":1}`}},
		{`{"oneOf":[{"properties":{"a":false},"required":["b"]},{"properties":{"b":false},"required":["a"]}],"prefixItems":[true,false],"not":{"properties":{"c":false}}}`,
			[]string{`{"a":1,"c":1}`, `{"b":1,"c":1}`}},
		{`{"prefixItems":[true,{"type":"string"},false],"items":false,"contains":true,"propertyNames":{"not":false},"anyOf":[false,{"minItems":1}],"if":false,"then":false}`,
			[]string{`[1]`, `[1,"a"]`, `{"a":1}`}},
	} {
		for name, passes := range chains {
			r := rewriteTwice(t, c.schema, passes...)
			before, after := jsonschema.MustCompileString("a.json", c.schema), jsonschema.MustCompileString("b.json", string(r.Root.JSON()))
			for _, instance := range c.instances {
				var value any
				if err := json.NewDecoder(strings.NewReader(instance)).Decode(&value); err != nil {
					t.Fatal(err)
				}
				if err := before.Validate(value); err != nil {
					t.Errorf("%s is not valid to begin with: %#v", instance, err)
				}
				if err := after.Validate(value); err != nil {
					t.Errorf("%s: %s\nbecame %s\nwhich refuses %s: %#v", name, c.schema, r.Root.JSON(), instance, err)
				}
			}
		}
	}
}
