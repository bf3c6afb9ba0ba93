package rewrite

import "testing"

// TestAddProperties verifies that every object schema gets properties.
func TestAddProperties(t *testing.T) {
	testPasses(t, []passCase{
		{"any depth", `{"type":"object","properties":{"properties":{"type":["object","null"]},"type":{"type":"string"}},"$defs":{"A":{"type":"object"}},"default":{"type":"object"}}`,
			`{"type":"object","properties":{"properties":{"type":["object","null"],"properties":{}},"type":{"type":"string"}},"$defs":{"A":{"type":"object","properties":{}}},"default":{"type":"object"}}`, `
/properties/properties: "properties": {} added: X refuses an object without
/$defs/A: "properties": {} added: X refuses an object without`},
	}, addProperties)
}

// TestAddItems verifies that every array schema gets items.
func TestAddItems(t *testing.T) {
	testPasses(t, []passCase{
		{"any depth", `{"type":"object","properties":{"x":{"type":"array"},"y":{"type":["array","null"],"prefixItems":[{"type":"array"}]},"z":{"type":"array","unevaluatedItems":false}}}`,
			`{"type":"object","properties":{"x":{"type":"array","items":{}},"y":{"type":["array","null"],"prefixItems":[{"type":"array","items":{}}],"items":{}},"z":{"type":"array","items":false}}}`, `
/properties/x: "items": {} added: X refuses an array without
/properties/y: "items": {} added: X refuses an array without
/properties/y/prefixItems/0: "items": {} added: X refuses an array without
/properties/z: "items": false added: X refuses an array without`},
	}, addItems)
}
