package rewrite

import "testing"

// TestDescribeKeywordsForGemini verifies that keywords that Gemini does not list are described.
func TestDescribeKeywordsForGemini(t *testing.T) {
	testPasses(t, []passCase{
		{"all", `{"type":"object","properties":{"a":{"type":"string","description":"The city.","minLength":1,"pattern":"^[a-z]+$","default":"x"},"b":{"type":"integer","minimum":1,"exclusiveMaximum":10,"multipleOf":2},"c":{"type":"array","uniqueItems":true,"contains":{"type":"string"},"minContains":2,"prefixItems":[{"type":"string"}]},"d":{"not":{"type":"string"},"examples":["a",1],"deprecated":true,"readOnly":true,"$comment":"hm","x-order":3}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"The city. (min length 1; pattern ^[a-z]+$; default \"x\")"},"b":{"type":"integer","minimum":1,"description":"(less than 10; multiple of 2)"},"c":{"type":"array","prefixItems":[{"type":"string"}],"description":"(unique items; contains string at least 2 times)"},"d":{"description":"(not string; examples: \"a\", 1; deprecated; read-only)"}}}`, `
/properties/a: "minLength", "pattern", "default" moved into the description: not supported by X here
/properties/b: "exclusiveMaximum", "multipleOf" moved into the description: not supported by X here
/properties/c: "uniqueItems", "contains", "minContains" moved into the description: not supported by X here
/properties/d: "not", "examples", "deprecated", "readOnly" moved into the description: not supported by X here
/properties/d: "$comment", "x-order" left out: tells a model nothing, and not supported by X`},
		{"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},"else":false,"dependentRequired":{"a":["b","c"]},"dependentSchemas":{"a":{"required":["b"]}},"propertyNames":{"pattern":"^[a-z]"},"minProperties":1}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"description":"(if {\"properties\":{\"a\":{\"const\":\"x\"}}} then {\"required\":[\"b\"]} else nothing; a requires b, c; with each of these properties: {\"a\":{\"required\":[\"b\"]}}; property names: {\"pattern\":\"^[a-z]\"}; min properties 1)"}`, `
"if", "then", "else", "dependentRequired", "dependentSchemas", "propertyNames", "minProperties" moved into the description: not supported by X here`},
		{"patterns relax", `{"type":"object","properties":{"a":{"type":"string"}},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"description":"(properties by pattern: {\"^x-\":{\"type\":\"string\"}}; no other properties)"}`, `
"patternProperties", "additionalProperties" moved into the description: not supported by X here`},
		{"required undeclared", `{"type":"object","properties":{"a":{}},"required":["a","b"],"additionalProperties":{"type":"string"}}`,
			`{"type":"object","properties":{"a":{},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":{"type":"string"}}`, `
the required property "b" declared: X refuses one that is not`},
		{"long", `{"type":"object","properties":{"a":{"default":"ääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää"}}}`,
			`{"type":"object","properties":{"a":{"description":"(default \"äääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääääää…)"}}}`, `
/properties/a: "default" moved into the description, shortened: not supported by X here`},
		{"data", `{"type":"object","properties":{"pattern":{"type":"string"},"default":{"enum":[{"minLength":1}]}}}`,
			`{"type":"object","properties":{"pattern":{"type":"string"},"default":{"enum":[{"minLength":1}]}}}`, ``},
		{"vacuous", `{"type":"object","properties":{"a":{"type":"array","uniqueItems":false}}}`,
			`{"type":"object","properties":{"a":{"type":"array"}}}`, `
/properties/a: "uniqueItems" left out: restricts nothing here, and not supported by X`},
	}, describeKeywords(geminiKeywords))
}

// TestDescribeKeywordsForOllama verifies that keywords without a field in Ollama's struct are
// described.
func TestDescribeKeywordsForOllama(t *testing.T) {
	testPasses(t, []passCase{
		{"struct", `{"type":"object","description":"Root.","properties":{"a":{"type":"object","properties":{"b":{"type":"string","format":"date"}},"required":["b"],"additionalProperties":false},"t":{"type":"array","prefixItems":[{"type":"number"},{"type":"string"}],"items":false,"minItems":2,"maxItems":2},"u":{"type":"array","prefixItems":[{"type":"number"}]},"e":{"type":"string","enum":["x"]},"m":{"type":"object","additionalProperties":{"type":"string"}},"o":{"type":"object","additionalProperties":true}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","description":"Root. (no other properties)","properties":{"a":{"type":"object","properties":{"b":{"type":"string","description":"(format date)"}},"required":["b"],"description":"(no other properties; required: b)"},"t":{"type":"array","items":{"anyOf":[{"type":"number"},{"type":"string"}]},"description":"(items in order: number, string; min items 2; max items 2; no further items)"},"u":{"type":"array","items":{"anyOf":[{"type":"number"},{}]},"description":"(items in order: number)"},"e":{"type":"string","enum":["x"]},"m":{"type":"object","description":"(other properties: string)"},"o":{"type":"object","description":"(other properties allowed)"}},"required":["a"]}`, `
"additionalProperties" moved into the description: not supported by X here
/properties/a: "additionalProperties" moved into the description: not supported by X here
/properties/a/properties/b: "format" moved into the description: not supported by X here
/properties/t: "prefixItems", "minItems", "maxItems" moved into the description: not supported by X here
/properties/u: "prefixItems" moved into the description: not supported by X here
/properties/m: "additionalProperties" moved into the description: not supported by X here
/properties/o: "additionalProperties" moved into the description: not supported by X here`},
		{"tuple without more", `{"type":"object","properties":{"t":{"type":"array","prefixItems":[{"type":"number"}],"items":false}}}`,
			`{"type":"object","properties":{"t":{"type":"array","items":{"type":"number"},"description":"(items in order: number; no further items)"}}}`, `
/properties/t: "prefixItems" moved into the description: not supported by X here`},
	}, describeKeywords(ollamaKeywords))
}

// TestDescribeKeywordsForOpenAI verifies that strict mode keeps some formats and no look-around.
func TestDescribeKeywordsForOpenAI(t *testing.T) {
	testPasses(t, []passCase{
		{"formats and patterns", `{"type":"object","properties":{"a":{"type":"string","format":"uri","pattern":"^(?!x)"},"b":{"type":"string","format":"date-time","pattern":"^x"},"c":{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"(format uri; pattern ^(?!x))"},"b":{"type":"string","format":"date-time","pattern":"^x"},"c":{"type":"array","items":{"type":"string"},"minItems":1,"description":"(unique items)"}}}`, `
/properties/a: "format", "pattern" moved into the description: not supported by X here
/properties/c: "uniqueItems" moved into the description: not supported by X here`},
	}, describeKeywords(openaiStrictKeywords))
}

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
