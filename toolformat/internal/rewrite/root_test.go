package rewrite

import "testing"

// TestObjectRoot verifies that the root gets the type object.
func TestObjectRoot(t *testing.T) {
	testPasses(t, []passCase{
		{"empty", `{}`,
			`{"type":"object","properties":{}}`, `
"type": "object" added
"properties": {} added`},
		{"true", `true`,
			`{"type":"object","properties":{}}`, `
no schema: replaced by "type": "object" without properties`},
		{"null", `null`,
			`{"type":"object","properties":{}}`, `
no schema: replaced by "type": "object" without properties`},
		{"nullable", `{"type":["object","null"],"properties":{"a":{}}}`,
			`{"type":"object","properties":{"a":{}}}`, `
"type": ["object","null"] replaced by "object": arguments are always an object`},
		{"typeless", `{"description":"d","properties":{"a":{}}}`,
			`{"type":"object","description":"d","properties":{"a":{}}}`, `
"type": "object" added`},
		{"itself", `{"properties":{"next":{"$ref":"#"}},"$defs":{"root":{}}}`,
			`{"type":"object","properties":{"next":{"$ref":"#/$defs/root_2"}},"$defs":{"root":{},"root_2":{"properties":{"next":{"$ref":"#/$defs/root_2"}}}}}`, `
references to the root ("#") redirected to "#/$defs/root_2", which is the root as it was
"type": "object" added`},
		{"as is", `{"type":"object","properties":{}}`,
			`{"type":"object","properties":{}}`, ``},
	}, ObjectRoot)
}

// TestObjectRootRefuses verifies the errors for schemas that accept no object.
func TestObjectRootRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"string", `{"type":"string"}`, `the schema accepts no object ("type": "string"); the arguments of a tool are an object; expected "type": "object"`},
		{"list", `{"type":["string","null"]}`, `the schema accepts no object ("type": ["string","null"]); the arguments of a tool are an object; expected "type": "object"`},
		{"false", `false`, `the schema false accepts nothing; the arguments of a tool are an object; expected "type": "object"`},
		{"array", `[]`, `the schema is an array, expected an object`},
		{"enum", `{"enum":["a",1]}`, `the schema accepts no object ("enum": ["a",1]); the arguments of a tool are an object; expected "type": "object"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := afterPasses(t, c.in, ObjectRoot); r.Err == nil || r.Err.Error() != c.want {
				t.Errorf("%v, expected\n%s", r.Err, c.want)
			}
		})
	}
}
