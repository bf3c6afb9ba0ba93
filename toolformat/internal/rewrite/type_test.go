package rewrite

import "testing"

func TestFoldNullable(t *testing.T) {
	const folded = `OpenAPI's nullable replaced by the type null`
	testRewrites(t, []rewriteCase{
		{"none", `{"properties":{"nullable":{"type":"string","default":{"nullable":true}}}}`, `{"properties":{"nullable":{"type":"string","default":{"nullable":true}}}}`, nil},
		{"root", `{"type":"object","nullable":true}`, `{"type":"object"}`, []string{`OpenAPI's nullable: true dropped: it changes nothing here`}},
		{"type", `{"items":{"type":"string","nullable":true}}`, `{"items":{"type":["string","null"]}}`, []string{`/items: ` + folded}},
		{"types", `{"items":{"nullable":true,"type":["string","integer"]}}`, `{"items":{"type":["string","integer","null"]}}`, []string{folded}},
		{"null already", `{"items":{"nullable":true,"type":["string","null"],"enum":[null,"a"]}}`, `{"items":{"type":["string","null"],"enum":[null,"a"]}}`, []string{folded}},
		{"enum", `{"items":{"type":"string","enum":["a"],"nullable":true}}`, `{"items":{"type":["string","null"],"enum":["a",null]}}`, []string{folded}},
		{"const", `{"items":{"const":"a","nullable":true}}`, `{"items":{"enum":["a",null]}}`, []string{folded}},
		{"const and enum", `{"items":{"const":1,"enum":[1],"description":"d","nullable":true}}`, `{"items":{"description":"d","anyOf":[{"const":1,"enum":[1]},{"type":"null"}]}}`, []string{folded}},
		{"any type", `{"items":{"nullable":true,"minLength":1}}`, `{"items":{"minLength":1}}`, []string{folded}},
		{"anyOf", `{"items":{"anyOf":[{"type":"string"},{"type":"integer"}],"nullable":true}}`, `{"items":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}}`, []string{folded}},
		{"anyOf with null", `{"items":{"anyOf":[{"type":"string","nullable":true},{"type":"integer"}],"nullable":true}}`,
			`{"items":{"anyOf":[{"type":["string","null"]},{"type":"integer"}]}}`, []string{folded, `/items/anyOf/0: ` + folded}},
		{"$ref", `{"items":{"$ref":"#/$defs/A","description":"An A.","nullable":true},"$defs":{"A":{"type":"string"}}}`,
			`{"items":{"description":"An A.","anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]},"$defs":{"A":{"type":"string"}}}`, []string{folded}},
		{"allOf of one", `{"items":{"allOf":[{"$ref":"#/$defs/A"}],"nullable":true},"$defs":{"A":{"type":"string"}}}`,
			`{"items":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]},"$defs":{"A":{"type":"string"}}}`, []string{folded}},
		{"oneOf", `{"items":{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"nullable":true}}`,
			`{"items":{"anyOf":[{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]},{"type":"null"}]}}`, []string{folded}},
		{"false", `{"items":{"type":"string","nullable":false},"not":{"nullable":"yes"}}`, `{"items":{"type":"string"},"not":{}}`, []string{`/items: OpenAPI's nullable: false dropped`, `/not: OpenAPI's nullable: "yes"`}},
		{"references follow", `{"properties":{"a":{"not":{"type":"string"},"properties":{"b":{}},"nullable":true},"c":{"$ref":"#/properties/a/properties/b"},"d":{"$ref":"#/properties/a"}}}`,
			`{"properties":{"a":{"anyOf":[{"not":{"type":"string"},"properties":{"b":{}}},{"type":"null"}]},"c":{"$ref":"#/properties/a/anyOf/0/properties/b"},"d":{"$ref":"#/properties/a"}}}`, []string{folded}},
		{"a reference within follows", `{"properties":{"a":{"allOf":[{"$ref":"#/properties/a/properties/b"},true],"properties":{"b":{}},"nullable":true}}}`,
			`{"properties":{"a":{"anyOf":[{"allOf":[{"$ref":"#/properties/a/anyOf/0/properties/b"},true],"properties":{"b":{}}},{"type":"null"}]}}}`, []string{folded}},

		// What accepts more below a keyword that refuses by it.
		{"below oneOf", `{"items":{"oneOf":[{"type":"string","nullable":true},{"type":"null"}]}}`, `{"items":{"anyOf":[{"type":["string","null"]},{"type":"null"}]}}`,
			[]string{`/items/oneOf/0: ` + folded, `/items: oneOf replaced by anyOf`}},
		{"below oneOf beside anyOf", `{"oneOf":[{"items":{"type":"string","nullable":true}},true],"anyOf":[true]}`,
			`{"anyOf":[true],"allOf":[{"anyOf":[{"items":{"type":["string","null"]}},true]}]}`, []string{folded, `: oneOf replaced by anyOf`}},
		{"below not, through a reference", `{"not":{"properties":{"a":{"$ref":"#/$defs/A"}}},"$defs":{"A":{"type":"string","nullable":true}}}`,
			`{"$defs":{"A":{"type":["string","null"]}}}`, []string{folded, `: not: {"properties":{"a":{"$ref":"#/$defs/A"}}} dropped`}},
		{"below if", `{"if":{"items":{"type":"string","nullable":true}},"then":{"minItems":1},"else":false}`, `{}`,
			[]string{folded, `: if: `, `: then: `, `: else: false dropped`}},
		{"below contains", `{"contains":{"type":"string","nullable":true},"maxContains":1,"minContains":1}`, `{"contains":{"type":["string","null"]},"minContains":1}`,
			[]string{folded, `: maxContains: 1 dropped`}},
	}, FoldNullable)
}
