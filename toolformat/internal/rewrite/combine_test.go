package rewrite

import "testing"

// TestMergeAllOf verifies that what one schema can express is merged, and the rest described.
func TestMergeAllOf(t *testing.T) {
	testPasses(t, []passCase{
		{"nested", `{"type":"object","properties":{"x":{"description":"Outer","allOf":[{"type":"number","minimum":1,"maximum":9},{"type":"integer","minimum":3},{"allOf":[{"maximum":5,"multipleOf":2}]}]}}}`,
			`{"type":"object","properties":{"x":{"description":"Outer","type":"integer","minimum":3,"maximum":5,"multipleOf":2}}}`, `
/properties/x/allOf/2: "allOf" merged into the schema: not supported by X
/properties/x: "allOf" merged into the schema: not supported by X`},
		{"lone reference", `{"properties":{"x":{"description":"d","allOf":[{"$ref":"#/$defs/A"}]}},"$defs":{"A":{"type":"string"}}}`,
			`{"properties":{"x":{"description":"d","$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X`},
		{"enum", `{"properties":{"x":{"allOf":[{"enum":["a","b","c"]},{"enum":["c","b"]}]},"y":{"allOf":[{"enum":["a"]},{"enum":["b"]}]},"z":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"properties":{"x":{"enum":["b","c"]},"y":{"enum":["a"]},"z":{"type":"string"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/y: "allOf" merged into the schema: not supported by X
/properties/y/allOf/1: ["a"] and ["b"] contradict each other, so that nothing is accepted: the first is kept
/properties/z: "allOf" merged into the schema: not supported by X
/properties/z/allOf/1: the types "string" and "integer" contradict each other, so that nothing is accepted: the first is kept`},
		{"closed halves", `{"properties":{"x":{"allOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}},"additionalProperties":false}]}}}`,
			`{"properties":{"x":{"properties":{"a":{},"b":{}},"additionalProperties":false}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/1: additionalProperties of schemas that all apply is not applied to the properties that another of them names`},
		{"patterns", `{"properties":{"x":{"type":"string","pattern":"^a","allOf":[{"pattern":"b$"},{"format":"uri","default":"ab"}]}}}`,
			`{"properties":{"x":{"type":"string","pattern":"^a","description":"(pattern b$)","format":"uri","default":"ab"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/0: "pattern" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"two references", `{"properties":{"x":{"allOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]}},"$defs":{"A":{"properties":{"n":{"$ref":"#/$defs/A"}}},"B":{"properties":{"n":{"$ref":"#/$defs/B"}},"required":["n"]}}}`,
			`{"properties":{"x":{"$ref":"#/$defs/A","properties":{"n":{"$ref":"#/$defs/B"}},"required":["n"]}},"$defs":{"A":{"properties":{"n":{"$ref":"#/$defs/A"}}},"B":{"properties":{"n":{"$ref":"#/$defs/B"}},"required":["n"]}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X`},
		{"below not", `{"properties":{"x":{"not":{"allOf":[{"type":"string"},{"pattern":"a"}]}}},"default":{"allOf":[{}]}}`,
			`{"properties":{"x":{"not":{"allOf":[{"type":"string"},{"pattern":"a"}]}}},"default":{"allOf":[{}]}}`, ``},
		{"tuples", `{"properties":{"x":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"},"allOf":[{"prefixItems":[{"minLength":1}],"items":{"minimum":0}},{"items":{"maximum":9}}]}}}`,
			`{"properties":{"x":{"prefixItems":[{"type":"string","minLength":1}],"items":{"type":"integer","minimum":0},"description":"(items: {\"maximum\":9})"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/1: "items" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"unevaluated", `{"properties":{"x":{"unevaluatedProperties":false,"anyOf":[{"properties":{"a":{}}}],"allOf":[{"anyOf":[{"properties":{"b":{}}}]}]}}}`,
			`{"properties":{"x":{"anyOf":[{"properties":{"a":{}}}],"description":"(any of: {\"properties\":{\"b\":{}}}; no other properties)"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/0: "anyOf", "unevaluatedProperties" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"bounds", `{"properties":{"x":{"minLength":1,"maxLength":9,"minItems":1e9999,"exclusiveMinimum":1.5,"allOf":[{"minLength":2,"maxLength":12,"minItems":2,"exclusiveMinimum":15e-1,"uniqueItems":true},{"uniqueItems":false,"deprecated":true}]}}}`,
			`{"properties":{"x":{"minLength":2,"maxLength":9,"minItems":1e9999,"exclusiveMinimum":1.5,"uniqueItems":true,"description":"(min items 2)","deprecated":true}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/0: "minItems" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"dependencies", `{"properties":{"x":{"dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"minProperties":1}},"propertyNames":{"minLength":1},"allOf":[{"dependentRequired":{"a":["c","b"],"d":["a"]},"dependentSchemas":{"a":{"minProperties":2}},"propertyNames":{"maxLength":9}}]}}}`,
			`{"properties":{"x":{"dependentRequired":{"a":["b","c"],"d":["a"]},"dependentSchemas":{"a":{"minProperties":2}},"propertyNames":{"minLength":1,"maxLength":9}}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X`},
		{"unevaluated twice", `{"properties":{"x":{"unevaluatedProperties":{"type":"object"},"allOf":[{"unevaluatedProperties":{"type":"string"}}]}}}`,
			`{"properties":{"x":{"description":"(other properties: object)","unevaluatedProperties":{"type":"string"}}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/0: "unevaluatedProperties" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"contains twice", `{"properties":{"x":{"contains":{"type":"string"},"minContains":2,"allOf":[{"contains":{"type":"integer"}},{"contains":{"type":"string"},"minContains":2}]}}}`,
			`{"properties":{"x":{"contains":{"type":"string"},"minContains":2,"description":"(contains integer)"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/0: "contains" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"booleans", `{"properties":{"x":{"allOf":[true,false,{"properties":{"a":true,"b":{"type":"string"},"c":{}}},{"properties":{"a":{"type":"string"},"b":false,"c":{"minimum":1}}}]}}}`,
			`{"properties":{"x":{"properties":{"a":{"type":"string"},"b":false,"c":{"minimum":1}}}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/1: the branch false left out: it refuses everything`},
		{"descriptions", `{"properties":{"x":{"description":"A city","allOf":[{"description":"A place"},{"description":"A place"},{"title":"T","$comment":"c","default":"x"},{"default":"y"}]}}}`,
			`{"properties":{"x":{"description":"A city. A place (default \"y\")","default":"x"}}}`, `
/properties/x: "allOf" merged into the schema: not supported by X
/properties/x/allOf/3: "default" of schemas that all apply cannot be expressed in one: moved into the description`},
	}, mergeAllOf)
}

// TestOneOfToAnyOf verifies that exclusion is described where the branches do not show it.
func TestOneOfToAnyOf(t *testing.T) {
	testPasses(t, []passCase{
		{"apart by type", `{"properties":{"x":{"oneOf":[{"type":"string"},{"type":["integer","null"]}]}}}`,
			`{"properties":{"x":{"anyOf":[{"type":"string"},{"type":["integer","null"]}]}}}`, `
/properties/x: "oneOf" replaced by "anyOf": not supported by X`},
		{"apart by constant", `{"properties":{"x":{"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}}}`,
			`{"properties":{"x":{"anyOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"b"}},"required":["k"]}]}}}`, `
/properties/x: "oneOf" replaced by "anyOf": not supported by X`},
		{"may overlap", `{"properties":{"x":{"oneOf":[{"type":"number"},{"type":"integer"}],"description":"A number."}}}`,
			`{"properties":{"x":{"anyOf":[{"type":"number"},{"type":"integer"}],"description":"A number. (exactly one of the alternatives)"}}}`, `
/properties/x: "oneOf" replaced by "anyOf", and the description tells that exactly one may match: not supported by X`},
		{"beside anyOf", `{"properties":{"x":{"anyOf":[{"type":"string"}],"oneOf":[{"minLength":1},{"maxLength":3}]}}}`,
			`{"properties":{"x":{"anyOf":[{"type":"string"}],"description":"(exactly one of: {\"minLength\":1} | {\"maxLength\":3})"}}}`, `
/properties/x: "oneOf" of schemas that all apply cannot be expressed in one: moved into the description`},
	}, oneOfToAnyOf)
}

// TestConstToEnum verifies that a constant becomes an enum of one value, and data is left alone.
func TestConstToEnum(t *testing.T) {
	testPasses(t, []passCase{
		{"alone", `{"properties":{"x":{"const":"a","description":"d"},"y":{"const":1.0},"z":{"const":null}}}`,
			`{"properties":{"x":{"enum":["a"],"description":"d","type":"string"},"y":{"enum":[1.0],"type":"integer"},"z":{"enum":[null],"type":"null"}}}`, `
/properties/x: "const" replaced by an "enum" of one value: not supported by X
/properties/y: "const" replaced by an "enum" of one value: not supported by X
/properties/z: "const" replaced by an "enum" of one value: not supported by X`},
		{"with enum", `{"properties":{"x":{"const":"a","enum":["a","b"]},"y":{"type":"string","const":"a","enum":["b"]}}}`,
			`{"properties":{"x":{"enum":["a"],"type":"string"},"y":{"type":"string","enum":["a"]}}}`, `
/properties/y: const "a" and enum ["b"] contradict each other, so that nothing is accepted: const is kept`},
		{"data", `{"properties":{"const":{"type":"string","default":{"const":1}}},"default":{"const":"x"}}`,
			`{"properties":{"const":{"type":"string","default":{"const":1}}},"default":{"const":"x"}}`, ``},
	}, constToEnum)
}
