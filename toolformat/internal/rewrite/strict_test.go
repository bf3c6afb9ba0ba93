package rewrite

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// TestRequireEverything verifies that every object names and requires all its properties.
func TestRequireEverything(t *testing.T) {
	testPasses(t, []passCase{
		{"optional", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":["string","null"]},"d":{"enum":["x","y"]},"e":{"const":1},"f":{"anyOf":[{"type":"string"},{"type":"integer"}]},"g":{"$ref":"#/$defs/G"}},"required":["a"],"$defs":{"G":{"type":"object","properties":{"h":{"type":"string"}},"required":["h"]},"unused":{}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"type":["string","null"]},"d":{"type":["string","null"],"enum":["x","y",null]},"e":{"type":["integer","null"],"enum":[1,null]},"f":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]},"g":{"anyOf":[{"$ref":"#/$defs/G"},{"type":"null"}]}},"required":["a","b","c","d","e","f","g"],"$defs":{"G":{"type":"object","properties":{"h":{"type":"string"}},"required":["h"],"additionalProperties":false}},"additionalProperties":false}`, `
/properties/d: "type": "string" added: X requires one
/properties/e: "type": "integer" added: X requires one
/$defs/G: "additionalProperties": false added: X requires it
"additionalProperties": false added: X requires it
"b", "c", "d", "e", "f" and "g" required, and null if not given: X allows no optional properties`},
		{"open object", `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"],"additionalProperties":{"type":"integer"}}},"required":["o"]}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"required":["o"],"additionalProperties":false}`, `
/properties/o: other properties (additionalProperties: {"type":"integer"}) cannot be given: X allows no free keys
/properties/o: "b" removed from "required": it is not a property of the object, and X allows no others
/properties/o: "additionalProperties": false added: X requires it
"additionalProperties": false added: X requires it`},
		{"no arguments", `{"type":"object","properties":{}}`,
			`{"type":"object","properties":{},"required":[],"additionalProperties":false}`, `
"additionalProperties": false added: X requires it`},
		{"siblings", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"one"},"b":{"$ref":"#/$defs/A","required":["y"]}},"required":["a","b"],"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x"]}}}`,
			`{"type":"object","properties":{"a":{"description":"one","anyOf":[{"$ref":"#/$defs/A"}]},"b":{"required":["x","y"],"properties":{"x":{"type":"string"},"y":{"type":"string"}},"type":"object","additionalProperties":false}},"required":["a","b"],"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":["string","null"]}},"required":["x","y"],"additionalProperties":false}},"additionalProperties":false}`, `
/properties/a: the reference #/$defs/A moved into an "anyOf": X allows nothing beside it
/properties/b: the reference #/$defs/A replaced by its target: X allows nothing beside it
/properties/b: "additionalProperties": false added: X requires it
/$defs/A: "additionalProperties": false added: X requires it
/$defs/A: "y" required, and null if not given: X allows no optional properties
"additionalProperties": false added: X requires it`},
		{"siblings that recur", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","minProperties":1}},"required":["a"],"$defs":{"A":{"type":"object","properties":{"x":{"$ref":"#/$defs/A","minProperties":1}},"required":["x"]}}}`,
			`{"type":"object","properties":{"a":{"minProperties":1,"properties":{"x":{"description":"(min properties 1)","anyOf":[{"$ref":"#/$defs/A"}]}},"type":"object","required":["x"],"additionalProperties":false}},"required":["a"],"$defs":{"A":{"type":"object","properties":{"x":{"minProperties":1,"properties":{"x":{"description":"(min properties 1)","anyOf":[{"$ref":"#/$defs/A"}]}},"type":"object","required":["x"],"additionalProperties":false}},"required":["x"],"additionalProperties":false}},"additionalProperties":false}`, `
/properties/a: the reference #/$defs/A replaced by its target: X allows nothing beside it
/properties/a/properties/x: "minProperties" moved into the description: X allows nothing beside the reference #/$defs/A
/properties/a/properties/x: the reference #/$defs/A moved into an "anyOf": X allows nothing beside it
/$defs/A/properties/x: the reference #/$defs/A replaced by its target: X allows nothing beside it
/$defs/A/properties/x/properties/x: "minProperties" moved into the description: X allows nothing beside the reference #/$defs/A
/$defs/A/properties/x/properties/x: the reference #/$defs/A moved into an "anyOf": X allows nothing beside it
/properties/a: "additionalProperties": false added: X requires it
/$defs/A/properties/x: "additionalProperties": false added: X requires it
/$defs/A: "additionalProperties": false added: X requires it
"additionalProperties": false added: X requires it`},
		{"union of requirements", `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}},"required":["o"]}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","null"]}},"description":"Requires one of: a; b.","required":["a","b"],"additionalProperties":false}},"required":["o"],"additionalProperties":false}`, `
/properties/o/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest
/properties/o: "additionalProperties": false added: X requires it
/properties/o: "a" and "b" required, and null if not given: X allows no optional properties
"additionalProperties": false added: X requires it`},
		{"typed union", `{"type":"object","properties":{"o":{"type":"string","anyOf":[{"format":"date"},{"pattern":"^x"}]},"p":{"anyOf":[{"type":"string"},{}]}},"required":["o","p"]}`,
			`{"type":"object","properties":{"o":{"anyOf":[{"type":"string","format":"date"},{"type":"string","pattern":"^x"}]},"p":{"anyOf":[{"type":"string"}]}},"required":["o","p"],"additionalProperties":false}`, `
/properties/o: "type": "string" moved into each branch of "anyOf": X requires a type there
/properties/p/anyOf: branches that accept anything left out: X requires a type
"additionalProperties": false added: X requires it`},
		{"open to anything", `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{}}},"required":["o"],"additionalProperties":true}`,
			`{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"required":["o"],"additionalProperties":false}`, `
other properties (additionalProperties: true) cannot be given: X allows no free keys
/properties/o: other properties (additionalProperties: {}) cannot be given: X allows no free keys
/properties/o: "additionalProperties": false added: X requires it
"additionalProperties": false added: X requires it`},
	}, requireEverything)
}

// TestRequireEverythingRefuses verifies the errors for what strict mode cannot express.
func TestRequireEverythingRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"map", `{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"}}}}`, `/properties/env: X cannot express an object with free keys: name its properties, or convert the tool without strict`},
		{"anything", `{"type":"object","properties":{"v":{"description":"Any value"}}}`, `/properties/v: a schema without a type accepts anything, which X cannot express: give it a type, or convert the tool without strict`},
		{"array of anything", `{"type":"object","properties":{"v":{"type":"array"}}}`, `/properties/v: X cannot express an array of anything: give its items a type, or convert the tool without strict`},
		{"keywords of another type", `{"type":"object","properties":{"a":{"type":"integer","properties":{"x":{}},"required":["x"],"items":{}},"no":false},"required":["a","no"]}`, `/properties/a/properties/x: a schema without a type accepts anything, which X cannot express: give it a type, or convert the tool without strict`},
		{"map of anything", `{"type":"object","properties":{"o":{"type":"object","properties":{},"additionalProperties":{}}},"required":["o"]}`, `/properties/o: X cannot express an object with free keys: name its properties, or convert the tool without strict`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := afterPasses(t, c.in, requireEverything); r.Err == nil || r.Err.Error() != c.want {
				t.Errorf("%v, expected\n%s", r.Err, c.want)
			}
		})
	}
}

// TestStrictRestore verifies that null is removed only where the conversion made a property
// nullable.
func TestStrictRestore(t *testing.T) {
	r := afterPasses(t, `{"type":"object","properties":{
		"a":{"type":"string"},
		"b":{"type":["string","null"]},
		"list":{"type":"array","items":{"$ref":"#/$defs/N"}}},
		"required":["list"],
		"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"},"v":{"type":"integer"}},"required":["v"]}}}`, requireEverything)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	n, err := tree.Parse([]byte(`{"a":null,"b":null,"list":[{"next":{"next":null,"v":2},"v":1}],"more":null}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Keys.Restore(n)
	if got, want := string(n.JSON()), `{"b":null,"list":[{"next":{"v":2},"v":1}],"more":null}`; got != want {
		t.Errorf("%s, expected %s", got, want)
	}
}
