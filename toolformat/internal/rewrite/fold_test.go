package rewrite

import "testing"

// TestFoldRootCombinators verifies that the root keeps no keyword that providers refuse.
func TestFoldRootCombinators(t *testing.T) {
	testPasses(t, []passCase{
		{"allOf", `{"type":"object","allOf":[{"properties":{"a":{"type":"string","minLength":1}},"required":["a"]},{"properties":{"a":{"maxLength":5,"pattern":"x"},"b":{"type":"integer"}},"required":["b","a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string","minLength":1,"maxLength":5,"pattern":"x"},"b":{"type":"integer"}},"required":["a","b"]}`, `
"properties": {} added
"allOf" merged into the schema: not supported by X here`},
		{"required of one", `{"type":"object","description":"Finds a page","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["c"],"anyOf":[{"required":["a"]},{"required":["b","c"]}]}`,
			`{"type":"object","description":"Finds a page. Requires one of: a; b and c.","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}},"required":["c"]}`, `
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"google calendar", `{"type":"object","properties":{"start":{"type":"object"},"calendarId":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}},"oneOf":[{"required":["timeMin"]},{"required":["timeMax"]},{"not":{"required":["timeMin"]}}]}`,
			`{"type":"object","properties":{"start":{"type":"object"},"calendarId":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}},"description":"Requires exactly one of: timeMin; timeMax; (without timeMin)."}`, `
/oneOf/2: "not" moved into the description: not supported by X here
/oneOf: "oneOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"discriminated, closed", `{"type":"object","oneOf":[{"type":"object","properties":{"kind":{"type":"string","const":"page"},"id":{"type":"string","description":"Page id"}},"required":["kind","id"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","const":"database"},"id":{"type":"string","description":"Page id"},"query":{"type":"string"}},"required":["kind"],"additionalProperties":false}]}`,
			`{"type":"object","properties":{"kind":{"type":"string","enum":["page","database"]},"id":{"type":"string","description":"Page id"},"query":{"type":"string"}},"description":"Requires exactly one of: kind \"page\" and id; kind \"database\" (optional: query).","additionalProperties":false,"required":["kind"]}`, `
"properties": {} added
/oneOf: "oneOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"open branches", `{"type":"object","anyOf":[{"properties":{"q":{"type":"string","description":"Text"}},"required":["q"]},{"properties":{"id":{"type":"integer"}},"required":["id"]}]}`,
			`{"type":"object","properties":{"q":{"description":"Text","anyOf":[{"type":"string"},{}]},"id":{"anyOf":[{"type":"integer"},{}]}},"description":"Requires one of: q; id."}`, `
"properties": {} added
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"reference", `{"$ref":"#/$defs/P","$defs":{"P":{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}}},"unused":{"type":"string"}}}`,
			`{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"object","properties":{"p":{"$ref":"#/$defs/P"}}}}}`, `
"type": "object" added
"properties": {} added
the reference #/$defs/P replaced by its target: not supported by X here`},
		{"reference in a branch", `{"type":"object","anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"$defs":{"A":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"B":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `
"properties": {} added
/anyOf/0: the reference #/$defs/A replaced by its target: not supported by X here
/anyOf/1: the reference #/$defs/B replaced by its target: not supported by X here
/anyOf: the only branch of "anyOf" that accepts an object merged into the schema: not supported by X here`},
		{"itself in not", `{"type":"object","properties":{"a":{"not":{"$ref":"#"}}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"not":{"$ref":"#/$defs/root"}}},"description":"Requires one of: a; b.","$defs":{"root":{"type":"object","properties":{"a":{"not":{"$ref":"#/$defs/root"}}},"anyOf":[{"required":["a"]},{"required":["b"]}]}}}`, `
references to the root ("#") redirected to "#/$defs/root", which is the root as it was
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"not and enum", `{"type":"object","properties":{"a":{},"b":{}},"not":{"required":["a","b"]},"enum":[{"a":1},{"b":2}]}`,
			`{"type":"object","properties":{"a":{},"b":{}},"description":"(one of {\"a\":1}, {\"b\":2}) (not together: a, b)"}`, `
"enum" moved into the description: not supported by X here
"not" moved into the description: not supported by X here`},
		{"unknown reference", `{"type":"object","allOf":[{"$ref":"#/$defs/none"}],"unevaluatedProperties":false}`,
			`{"type":"object","properties":{},"description":"(as #/$defs/none; no other properties)"}`, `
"properties": {} added
"allOf" merged into the schema: not supported by X here
"$ref", "unevaluatedProperties" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"conditions stay", `{"type":"object","allOf":[{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}},{"if":{"properties":{"a":{"const":2}}},"then":{"required":["c"]}}]}`,
			`{"type":"object","properties":{},"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"description":"(if {\"properties\":{\"a\":{\"const\":2}}} then {\"required\":[\"c\"]})"}`, `
"properties": {} added
"allOf" merged into the schema: not supported by X here
/allOf/1: "if", "then" of schemas that all apply cannot be expressed in one: moved into the description`},
		{"notion", `{"type":"object","properties":{"parent":{"oneOf":[{"type":"object","properties":{"page_id":{"type":"string"}},"required":["page_id"]},{"type":"object","properties":{"database_id":{"type":"string"}},"required":["database_id"]}]}},"required":["parent"],"anyOf":[{"required":["children"]},{"required":["properties"]}],"allOf":[{"$ref":"#/$defs/paged"}],"$defs":{"paged":{"properties":{"page_size":{"type":"integer","maximum":100}}}}}`,
			`{"type":"object","properties":{"parent":{"oneOf":[{"type":"object","properties":{"page_id":{"type":"string"}},"required":["page_id"]},{"type":"object","properties":{"database_id":{"type":"string"}},"required":["database_id"]}]},"page_size":{"type":"integer","maximum":100}},"required":["parent"],"description":"Requires one of: children; properties."}`, `
"allOf" merged into the schema: not supported by X here
the reference #/$defs/paged replaced by its target: not supported by X here
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"closed root", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"],"additionalProperties":false},{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false,"description":"Requires one of: b; a."}`, `
/anyOf: additionalProperties of schemas that all apply is not applied to the properties that another of them names
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"patterns in branches", `{"type":"object","unevaluatedProperties":false,"anyOf":[{"properties":{"a":{"type":"string"}},"additionalProperties":false},{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}]}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{}]}},"description":"Requires one of: any of a; (properties by pattern: {\"^x-\":{\"type\":\"string\"}}). (no other properties)"}`, `
"properties": {} added
/anyOf: "unevaluatedProperties" of schemas that all apply cannot be expressed in one: moved into the description
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"unions in branches", `{"type":"object","anyOf":[{"anyOf":[{"required":["a"]},{"required":["b"]}],"description":"By name."},{"required":["c"],"minProperties":2}]}`,
			`{"type":"object","properties":{},"description":"Requires one of: (By name. Requires one of: a; b); c (min properties 2)."}`, `
"properties": {} added
/anyOf/0/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"same property, other words", `{"type":"object","anyOf":[{"properties":{"a":{"type":"string","description":"One"},"n":{"type":"integer"}},"additionalProperties":false},{"properties":{"a":{"type":"string","description":"Two"},"n":{"type":"string"}},"additionalProperties":false}]}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"One / Two"},"n":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"additionalProperties":false}`, `
"properties": {} added
/anyOf: "anyOf" merged into the schema, since X does not support it here: the schema has the properties of all branches, requires what all of them require, and the description tells the rest`},
		{"properties called like keywords", `{"type":"object","properties":{"anyOf":{"type":"string"},"required":{"type":"array"}},"required":["anyOf"]}`,
			`{"type":"object","properties":{"anyOf":{"type":"string"},"required":{"type":"array"}},"required":["anyOf"]}`, ``},
	}, ObjectRoot, foldRootCombinators)
}

// TestFoldRootCombinatorsRefuses verifies the error for a schema that accepts no object.
func TestFoldRootCombinatorsRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing left", `{"type":"object","anyOf":[{"type":"string"},false]}`, `the schema accepts no object at all: its allOf, anyOf or oneOf leaves none; the arguments of a tool are an object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := afterPasses(t, c.in, ObjectRoot, foldRootCombinators); r.Err == nil || r.Err.Error() != c.want {
				t.Errorf("%v, expected\n%s", r.Err, c.want)
			}
		})
	}
}
