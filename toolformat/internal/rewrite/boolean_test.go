package rewrite

import "testing"

func TestDropBooleans(t *testing.T) {
	testRewrites(t, []rewriteCase{
		{"kept", `{"additionalProperties":false,"unevaluatedProperties":true,"unevaluatedItems":false,"default":{"items":true}}`,
			`{"additionalProperties":false,"unevaluatedProperties":true,"unevaluatedItems":false,"default":{"items":true}}`, nil},
		{"properties", `{"properties":{"a":true,"b":false,"c":{"type":"string"}},"required":["a","b"]}`,
			`{"properties":{"a":{},"c":{"type":"string"}},"required":["a"],"description":"Must not be given: \"b\"."}`,
			[]string{`/properties/b: false dropped`, `/properties/a: true replaced by {}`, `/required: "b" dropped`}},
		{"a closed object", `{"description":"d","properties":{"b":false},"additionalProperties":false}`, `{"description":"d","properties":{},"additionalProperties":false}`,
			[]string{`/properties/b: false dropped`}},
		{"either or", `{"description":"One of both.","oneOf":[{"properties":{"b":false}},{"properties":{"a":false}}]}`,
			`{"description":"One of both.","anyOf":[{"properties":{},"description":"Must not be given: \"b\"."},{"properties":{},"description":"Must not be given: \"a\"."}]}`,
			[]string{`/oneOf/0/properties/b`, `/oneOf/1/properties/a`, `: oneOf replaced by anyOf`}},
		{"items", `{"items":true}`, `{"items":{}}`, []string{`/items: true replaced by {}`}},
		{"no items", `{"items":false,"maxItems":3}`, `{"maxItems":0}`, []string{`/items: false replaced by maxItems 0`}},
		{"tuple", `{"prefixItems":[true,{"type":"string"}],"items":false}`, `{"prefixItems":[{},{"type":"string"}],"maxItems":2}`,
			[]string{`/prefixItems/0: true`, `/items: false replaced by maxItems 2`}},
		{"tuple with a lower limit", `{"prefixItems":[{},{}],"items":false,"maxItems":1.0}`, `{"prefixItems":[{},{}],"maxItems":1.0}`, []string{`/items`}},
		{"tuple that ends", `{"prefixItems":[{},false,true],"items":{}}`, `{"prefixItems":[{}],"items":{},"maxItems":1}`, []string{`/prefixItems/1: false replaced by maxItems 1`}},
		{"tuple that never starts", `{"prefixItems":[false]}`, `{"maxItems":0}`, []string{`maxItems 0`}},
		{"anyOf", `{"anyOf":[false,{"type":"string"},true]}`, `{"anyOf":[{"type":"string"},{}]}`, []string{`/anyOf/0: false dropped`, `/anyOf/2: true`}},
		{"oneOf", `{"oneOf":[false,false]}`, `{"oneOf":[{"not":{}}]}`, []string{`/oneOf/0`, `/oneOf/1`}},
		{"allOf", `{"allOf":[true,{"type":"string"}],"not":{"allOf":[true]},"if":{"allOf":[false]}}`, `{"allOf":[{"type":"string"}],"not":{},"if":{"allOf":[{"not":{}}]}}`,
			[]string{`/allOf/0: true dropped`, `/not/allOf/0: true dropped`, `/if/allOf/0: false replaced by {"not":{}}`}},
		{"not", `{"not":false,"properties":{"a":{"not":true}}}`, `{"properties":{"a":{"not":{}}}}`, []string{`/not: false dropped`, `/properties/a/not: true replaced by {}`}},
		{"below not", `{"not":{"properties":{"a":false}}}`, `{}`, []string{`/not/properties/a`, `: not: {"properties":{},"description":`}},
		{"names", `{"propertyNames":false}`, `{"maxProperties":0}`, []string{`/propertyNames: false replaced by maxProperties 0`}},
		{"others", `{"if":true,"then":false,"else":true,"contains":false,"propertyNames":true,"patternProperties":{"a":false},"dependentSchemas":{"b":true},"$defs":{"c":false}}`,
			`{"if":{},"then":{"not":{}},"else":{},"contains":{"not":{}},"propertyNames":{},"patternProperties":{"a":{"not":{}}},"dependentSchemas":{"b":{}},"$defs":{"c":{"not":{}}}}`,
			[]string{`/if: true`, `/then: false`, `/else: true`, `/contains: false`, `/propertyNames: true`, `/patternProperties/a: false`, `/dependentSchemas/b: true`, `/$defs/c: false`}},
	}, dropBooleans)
}

func TestDropTitles(t *testing.T) {
	testRewrites(t, []rewriteCase{
		{"everywhere", `{"title":"T","properties":{"title":{"title":"Title","type":"string","default":{"title":"d"},"enum":[{"title":"e"}],"const":{"title":"c"},"examples":[{"title":"x"}]}},"$defs":{"A":{"title":"A","anyOf":[{"title":"B"}]}}}`,
			`{"properties":{"title":{"type":"string","default":{"title":"d"},"enum":[{"title":"e"}],"const":{"title":"c"},"examples":[{"title":"x"}]}},"$defs":{"A":{"anyOf":[{}]}}}`, nil},
		{"no title at all", `{"title":{"type":"string"}}`, `{}`, []string{`: title: {"type":"string"} dropped: it is an object, expected a string`}},
	}, dropTitles)
}
