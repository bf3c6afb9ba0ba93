package rewrite

import "testing"

func TestInlinePathReferences(t *testing.T) {
	const copied = `replaced by a copy of its target`
	testRewrites(t, []rewriteCase{
		{"what providers take", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A%20b"},"b":{"items":{"$ref":"#"}}},"$defs":{"A b":{"$ref":"#/$defs/B"},"B":{},"unused":{}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A%20b"},"b":{"items":{"$ref":"#"}}},"$defs":{"A b":{"$ref":"#/$defs/B"},"B":{},"unused":{}}}`, nil},
		{"path", `{"properties":{"a":{"type":"string","description":"An a."},"b":{"$ref":"#/properties/a","description":"A b."}}}`,
			`{"properties":{"a":{"type":"string","description":"An a."},"b":{"type":"string","description":"A b."}}}`,
			[]string{`/properties/b: the reference "#/properties/a" ` + copied + `, whose description its siblings override`}},
		{"paths behind paths", `{"properties":{"a":{"$ref":"#/properties/b"},"b":{"items":{"$ref":"#/properties/c"}},"c":{"type":"string"}}}`,
			`{"properties":{"a":{"items":{"type":"string"}},"b":{"items":{"type":"string"}},"c":{"type":"string"}}}`,
			[]string{`/properties/b/items: `, `/properties/a: `}},
		{"below a definition", `{"properties":{"a":{"$ref":"#/$defs/A/properties/b"}},"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/C"}}},"C":{}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/C"}},"$defs":{"A":{"properties":{"b":{"$ref":"#/$defs/C"}}},"C":{}}}`, []string{`/properties/a: `}},
		{"recursive", `{"properties":{"filter":{"type":"object","properties":{"and":{"items":{"$ref":"#/properties/filter"}}}}}}`,
			`{"properties":{"filter":{"$ref":"#/$defs/filter"}},"$defs":{"filter":{"type":"object","properties":{"and":{"items":{"$ref":"#/$defs/filter"}}}}}}`,
			[]string{`/properties/filter/properties/and/items: the reference "#/properties/filter" rewritten as "#/$defs/filter"`, `/properties/filter: moved to the definition "filter" at the root`}},
		{"recursive by a longer way", `{"properties":{"a":{"items":{"$ref":"#/properties/b/items"}},"b":{"items":{"properties":{"c":{"$ref":"#/properties/a"}}}}},"$defs":{"b_items":{}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/a"},"b":{"items":{"properties":{"c":{"$ref":"#/$defs/a"}}}}},"$defs":{"b_items":{},"a":{"items":{"properties":{"c":{"$ref":"#/$defs/a"}}}}}}`,
			[]string{`/properties/b/items/properties/c: the reference "#/properties/a" rewritten as "#/$defs/a"`, `/properties/a/items: `, `/properties/a: moved`}},
		{"definitions elsewhere", `{"properties":{"a":{"items":{"$ref":"#/$defs/A"},"$defs":{"A":{"type":"string"},"B":{}}},"b":{"$ref":"#/properties/c/$defs/A"},"c":{"$defs":{"A":{"type":"null"}}}}}`,
			`{"properties":{"a":{"items":{"$ref":"#/$defs/A"},"$defs":{"B":{}}},"b":{"$ref":"#/$defs/A_2"},"c":{}},"$defs":{"A":{"type":"string"},"A_2":{"type":"null"}}}`,
			[]string{`/properties/b: the reference "#/properties/c/$defs/A" rewritten as "#/$defs/A_2"`, `/properties/a/$defs/A: moved to the definition "A" at the root`, `/properties/c/$defs/A: moved`}},
		{"anchors and URIs", `{"$id":"http://x/y","properties":{"a":{"$ref":"#A"},"b":{"$ref":"http://x/y#/$defs/A"},"c":{"items":{"$ref":"y"}},"d":{"$ref":"d"},"e":{"$id":"d","type":"string"}},"$defs":{"A":{"$anchor":"A"}}}`,
			`{"$id":"http://x/y","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"},"c":{"items":{"$ref":"#"}},"d":{"type":"string"},"e":{"type":"string"}},"$defs":{"A":{}}}`,
			[]string{`/properties/e: $id: "d" dropped`, `$anchor`, `/a: the reference "#A" rewritten as "#/$defs/A"`, `/b: the reference "http://x/y#/$defs/A" rewritten as`, `/c/items: the reference "y" rewritten as "#"`, `/d: the reference "d" ` + copied}},
		{"where no keyword leads", `{"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":{"items":{"$ref":"#/x/y"}}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/y"}},"x":{"y":{"items":{"$ref":"#/x/y"}}},"$defs":{"y":{"items":{"$ref":"#/$defs/y"}}}}`, []string{`"#/x/y" rewritten as "#/$defs/y"`, `"#/x/y" rewritten as "#/$defs/y"`, `/x/y: moved`}},
		{"external and undefined", `{"properties":{"a":{"$ref":"http://x/y"},"b":{"$ref":"#/$defs/B","type":"string"}}}`, `{"properties":{"a":{},"b":{"type":"string"}}}`, []string{`leads out of the schema`, `leads to no schema`}},
		{"loops", `{"properties":{"a":{"$ref":"#/properties/b"},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#/properties/c"}}}`, `{"properties":{"a":{},"b":{},"c":{}}}`,
			[]string{`/a: the reference "#/properties/b" leads only back to itself`, `/b: `, `/c: `}},
	}, inlinePathReferences)
}
