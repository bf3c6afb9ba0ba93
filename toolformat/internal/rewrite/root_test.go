package rewrite

import "testing"

// TestObjectRoot: the root says that it is an object.
func TestObjectRoot(t *testing.T) {
	testPasses(t, []passCase{
		{"empty", `{}`,
			`{"type":"object","properties":{}}`, `
"type": "object" added
"properties": {} added`},
		{"true", `true`,
			`{"type":"object","properties":{}}`, `
no schema: now "type": "object" without properties`},
		{"null", `null`,
			`{"type":"object","properties":{}}`, `
no schema: now "type": "object" without properties`},
		{"nullable", `{"type":["object","null"],"properties":{"a":{}}}`,
			`{"type":"object","properties":{"a":{}}}`, `
"type": ["object","null"] is "object" now: arguments are always an object`},
		{"typeless", `{"description":"d","properties":{"a":{}}}`,
			`{"type":"object","description":"d","properties":{"a":{}}}`, `
"type": "object" added`},
		{"itself", `{"properties":{"next":{"$ref":"#"}},"$defs":{"root":{}}}`,
			`{"type":"object","properties":{"next":{"$ref":"#/$defs/root_2"}},"$defs":{"root":{},"root_2":{"properties":{"next":{"$ref":"#/$defs/root_2"}}}}}`, `
references to the root ("#") are now to "#/$defs/root_2", which is the root as it was
"type": "object" added`},
		{"as is", `{"type":"object","properties":{}}`,
			`{"type":"object","properties":{}}`, ``},
	}, ObjectRoot)
}

// TestObjectRootRefuses names what keeps objects out.
func TestObjectRootRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"string", `{"type":"string"}`, `the schema takes no object ("type": "string"); a tool's arguments are an object, so that "type": "object" is expected`},
		{"list", `{"type":["string","null"]}`, `the schema takes no object ("type": ["string","null"]); a tool's arguments are an object, so that "type": "object" is expected`},
		{"false", `false`, `the schema false accepts nothing; a tool's arguments are an object, so that "type": "object" is expected`},
		{"array", `[]`, `the schema is an array, expected an object`},
		{"enum", `{"enum":["a",1]}`, `the schema takes no object ("enum": ["a",1]); a tool's arguments are an object, so that "type": "object" is expected`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := afterPasses(t, c.in, ObjectRoot); r.Err == nil || r.Err.Error() != c.want {
				t.Errorf("%v, expected\n%s", r.Err, c.want)
			}
		})
	}
}
