package rewrite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestInlineReferences(t *testing.T) {
	const copied = `replaced by a copy of its target`
	testRewrites(t, []rewriteCase{
		{"none", `{"type":"object","properties":{"$ref":{"type":"string"}},"default":{"$ref":"#"}}`, `{"type":"object","properties":{"$ref":{"type":"string"}},"default":{"$ref":"#"}}`, nil},
		{"definition", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"type":"string"}}}`,
			`{"properties":{"a":{"items":{"type":"string"}}}}`,
			[]string{`/properties/a: the reference "#/$defs/A" ` + copied, `/properties/a/items: the reference "#/$defs/B" ` + copied}},
		{"alias", `{"items":{"$ref":"#/$defs/A"},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"type":"string"}}}`, `{"items":{"type":"string"}}`, []string{`#/$defs/A`, `#/$defs/B`}},
		{"root", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"b":{"type":"string"}}}}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, []string{`: the reference "#/$defs/A"`}},
		{"used twice, noted once", `{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"}},"$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":true}}`,
			`{"properties":{"a":{"items":{}},"b":{"items":{}}}}`, []string{`/properties/a:`, `/properties/b:`, `/properties/a/items`}},
		{"annotations beside it", `{"items":{"$ref":"#/$defs/A","title":"Mine","description":"My A.","default":1},"$defs":{"A":{"title":"A","type":"integer","description":"An A."}}}`,
			`{"items":{"title":"Mine","type":"integer","description":"My A.","default":1}}`, []string{copied + `, whose description its siblings override`}},
		{"constraints beside it", `{"items":{"$ref":"#/$defs/A","maximum":5,"type":"integer"},"$defs":{"A":{"type":"integer","minimum":1}}}`,
			`{"items":{"type":"integer","minimum":1,"maximum":5}}`, []string{copied}},
		{"constraints that clash", `{"items":{"$ref":"#/$defs/A","maximum":5},"$defs":{"A":{"maximum":7}}}`, `{"items":{"maximum":5,"allOf":[{"maximum":7}]}}`, []string{copied + `, in an allOf`}},
		{"constraints that belong together", `{"items":{"allOf":[true],"$ref":"#/$defs/A","properties":{"b":{}}},"$defs":{"A":{"properties":{"a":{"$ref":"#/$defs/B"}},"additionalProperties":false},"B":{"type":"null"}}}`,
			`{"items":{"allOf":[true,{"properties":{"a":{"type":"null"}},"additionalProperties":false}],"properties":{"b":{}}}}`, []string{copied + `, in an allOf`, `/items/allOf/1/properties/a: `}},
		{"booleans", `{"properties":{"a":{"$ref":"#/$defs/T","description":"d"},"b":{"$ref":"#/$defs/F"},"c":{"$ref":"#/$defs/F","description":"d"}},"$defs":{"T":true,"F":false}}`,
			`{"properties":{"a":{"description":"d"},"b":false,"c":{"description":"d","not":{}}}}`, []string{`/a`, `/b`, `/c`}},
		{"paths, anchors and URIs", `{"$id":"http://x/root.json","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"},"c":{"$ref":"#x"},"d":{"$ref":"root.json#/properties/a"},"e":{"$ref":"http://x/other.json"},"f":{"$ref":"#/$defs/%7E1%7e0%20"}},"$defs":{"A":{"$anchor":"x","type":"null"},"O":{"$id":"other.json","items":{"$ref":"#/$defs/in"},"$defs":{"in":{"type":"integer"}}},"/~ ":{"type":"number"}}}`,
			`{"$id":"http://x/root.json","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"null"},"d":{"type":"string"},"e":{"items":{"type":"integer"}},"f":{"type":"number"}}}`,
			[]string{`/$defs/A: $anchor: "x" dropped`, `/$defs/O: $id: "other.json" dropped`, `/b: `, `/c: `, `/d: `, `/e: `, `/f: `, `/e/items: `}},
		{"meant from a root within", `{"properties":{"a":{"$defs":{"A":{"type":"string"}},"items":{"$ref":"#/$defs/A"}}}}`, `{"properties":{"a":{"items":{"type":"string"}}}}`, []string{`/properties/a/items`}},
		{"below a definition", `{"items":{"$ref":"#/$defs/A/properties/b"},"$defs":{"A":{"properties":{"b":{"type":"string"}}}}}`, `{"items":{"type":"string"}}`,
			[]string{`/items`, `/$defs: definitions that nothing refers to dropped: "A"`}},
		{"unused", `{"$defs":{"A":{},"B":{"$defs":{"C":{}}}},"items":{"$defs":{}}}`, `{"items":{}}`, []string{`/$defs: definitions that nothing refers to dropped: "A", "B"`, `/$defs/B/$defs: definitions that nothing refers to dropped: "C"`}},

		{"undefined", `{"properties":{"a":{"$ref":"#/$defs/none","type":"string"},"b":{"$ref":"#none"},"c":{"$ref":"#/$defs"},"d":{"$ref":"#/required/0"},"e":{"$ref":7}},"$defs":{},"required":["a"]}`,
			`{"properties":{"a":{"type":"string"},"b":{},"c":{},"d":{},"e":{}},"required":["a"]}`,
			[]string{`/properties/a: the reference "#/$defs/none" leads to no schema: dropped`, `"#none" leads to no schema`, `"#/$defs" leads to no schema`, `"#/required/0"`, `"7" is not a string`}},
		{"external", `{"properties":{"a":{"$ref":"http://example.com/a.json","description":"d"},"b":{"$ref":"file:///etc/passwd"},"c":{"$ref":"other.json#/a"},"d":{"$ref":"::%zz"}}}`,
			`{"properties":{"a":{"description":"d"},"b":{},"c":{},"d":{}}}`,
			[]string{`/properties/a: the reference "http://example.com/a.json" leads out of the schema, and nothing is ever loaded`, `file:///etc/passwd`, `other.json`, `::%zz`}},
		{"undefined below not", `{"not":{"$ref":"#/none"},"type":"object"}`, `{"type":"object"}`, []string{`"#/none"`, `: not: {} dropped`}},
		{"undefined below unevaluatedProperties", `{"allOf":[{"$ref":"#/none"}],"unevaluatedProperties":false,"properties":{"a":{"unevaluatedProperties":false}}}`,
			`{"allOf":[{}],"properties":{"a":{"unevaluatedProperties":false}}}`, []string{`"#/none"`, `: unevaluatedProperties: false dropped`}},
		{"a loop", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"allOf":[{"$ref":"#/$defs/A"}],"type":"string"}}}`,
			`{"properties":{"a":{}}}`, []string{`/$defs/A: the reference "#/$defs/B" leads only back to itself`, `/$defs/B/allOf/0: the reference "#/$defs/A" leads only back`, `/properties/a: `, `/$defs: definitions that nothing refers to dropped: "B"`}},
		{"a loop by way of a child", `{"$ref":"#/properties/b/anyOf/0","properties":{"b":{"anyOf":[{"allOf":[{"$ref":"#/properties/b"},{"$ref":"#/properties/b"}]}]}}}`,
			`{"allOf":[{},{}],"properties":{"b":{"anyOf":[{"allOf":[{},{}]}]}}}`, []string{`only back`, `only back`, `replaced`}},

		{"dynamic", `{"items":{"$dynamicRef":"#T","description":"d"},"$defs":{"T":{"$dynamicAnchor":"T","type":"string"}}}`, `{"items":{"type":"string","description":"d"}}`,
			[]string{`/items: $dynamicRef: "#T" replaced by a $ref: it has one possible anchor`, `$dynamicAnchor: "T" dropped`, `/items: the reference "#T" ` + copied}},
		{"dynamic with two anchors", `{"items":{"$dynamicRef":"#T"},"$defs":{"A":{"$id":"a","$dynamicAnchor":"T"},"B":{"$id":"b","$dynamicAnchor":"T"}}}`, `{"items":{}}`,
			[]string{`/items: $dynamicRef: "#T" has 2 possible anchors`, `$id: "a"`, `$dynamicAnchor`, `$id: "b"`, `$dynamicAnchor`, `"A", "B"`}},
	}, inlineReferences)
}

func TestInlineRecursion(t *testing.T) {
	const cut = `pruned, since its target contains itself: anything of the type "object" is accepted`
	testRewrites(t, []rewriteCase{
		{"direct", `{"properties":{"tree":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"kids":{"items":{"$ref":"#/$defs/N","description":"A kid."}}}}}}`,
			`{"properties":{"tree":{"type":"object","properties":{"kids":{"items":{"type":"object","properties":{"kids":{"items":{"description":"A kid. Recursive: of the same shape as tree.","type":"object"}}},"description":"A kid."}}}}}}`,
			[]string{`/properties/tree: the reference`, `/properties/tree/properties/kids/items: the reference`, `/properties/tree/properties/kids/items/properties/kids/items: the reference "#/$defs/N" ` + cut}},
		{"the root", `{"type":"object","properties":{"and":{"items":{"$ref":"#"}}}}`,
			`{"type":"object","properties":{"and":{"items":{"type":"object","properties":{"and":{"items":{"type":"object","description":"Recursive: of the same shape as the root."}}}}}}}`,
			[]string{`/properties/and/items: the reference "#" replaced`, `/properties/and/items/properties/and/items: the reference "#" ` + cut}},
		{"mutual", `{"items":{"$ref":"#/$defs/A"},"$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}}},"B":{"type":["array","null"],"prefixItems":[{"$ref":"#/$defs/A"}]}}}`,
			`{"items":{"type":"object","properties":{"b":{"type":["array","null"],"prefixItems":[{"type":"object","properties":{"b":{"type":["array","null"],"prefixItems":[{"type":"object","description":"Recursive: of the same shape as []."}]}}}]}}}}`,
			[]string{`/items: `, `/items/properties/b: `, `/items/properties/b/prefixItems/0: `, `A" ` + cut}},
		{"by a path", `{"properties":{"a":{"type":"object","additionalProperties":{"$ref":"#/properties/a"}}}}`,
			`{"properties":{"a":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"object","description":"Recursive: of the same shape as a.*."}}}}}}`,
			[]string{`/properties/a/additionalProperties: the reference "#/properties/a" replaced`, `/additionalProperties/additionalProperties: the reference "#/properties/a" ` + cut}},
		{"below oneOf", `{"items":{"$ref":"#/$defs/A"},"$defs":{"A":{"oneOf":[{"type":"null"},{"items":{"$ref":"#/$defs/A"},"unevaluatedItems":false}]}}}`,
			`{"items":{"anyOf":[{"type":"null"},{"items":{"anyOf":[{"type":"null"},{"items":{"description":"Recursive: of the same shape as []."},"unevaluatedItems":false}]},"unevaluatedItems":false}]}}`,
			[]string{`/items: `, `/items/oneOf/1/items: `, `pruned, since its target contains itself: anything is accepted`, `/items/oneOf/1/items: oneOf replaced by anyOf`, `/items: oneOf replaced by anyOf`}},
	}, inlineReferences)
}

// hostileSchemas returns small schemas that would grow without bound.
func hostileSchemas() map[string]string {
	var doubling, everyOther, aliases, wide []string
	for i := range 40 {
		doubling = append(doubling, fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1))
		all := []string{}
		for j := range 40 {
			all = append(all, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, j, j))
		}
		everyOther = append(everyOther, fmt.Sprintf(`"d%d":{"type":"object","properties":{%s}}`, i, strings.Join(all, ",")))
	}
	for i := range 2_000 {
		wide = append(wide, fmt.Sprintf(`"k%d":{"$ref":"#/$defs/d0"}`, i))
		aliases = append(aliases, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	const root = `{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{%s}}`
	long, deep := strings.Repeat("x", 100_000), `"d0":`+strings.Repeat(`{"items":`, 60)+`{"$ref":"#/$defs/d1"}`+strings.Repeat(`}`, 60)
	return map[string]string{
		"doubling": fmt.Sprintf(root, strings.Join(doubling, ",")+`,"d40":{"type":"string"}`),
		"mutual":   fmt.Sprintf(root, strings.Join(everyOther, ",")),
		"aliases":  fmt.Sprintf(root, strings.Join(aliases, ",")+`,"d2000":{"type":"string"}`),
		"paths":    strings.ReplaceAll(fmt.Sprintf(`{"properties":{%s}}`, strings.Join(doubling, ",")+`,"d40":{"type":"string"}`), "$defs", "properties"),
		"long":     fmt.Sprintf(root, `"d0":{"allOf":[`+strings.Repeat(`{"$ref":"#/$defs/d1"},`, 5_000)+`true]},"d1":{"description":"`+long+`"}`),
		"deep":     fmt.Sprintf(root, deep+`,"d1":`+strings.Repeat(`{"items":`, 60)+`{}`+strings.Repeat(`}`, 60)),
		"wide":     fmt.Sprintf(root, `"d0":{"properties":{`+strings.Join(wide, ",")+`}}`),
		"nested":   strings.Repeat(`{"properties":{"a":{"$ref":"#/properties/b/properties/b"},"b":`, 45) + `{}` + strings.Repeat(`}}`, 45),
	}
}

// TestHostileReferences verifies that what would grow without bound is pruned and noted, and takes
// little time.
func TestHostileReferences(t *testing.T) {
	for name, schema := range hostileSchemas() {
		for _, passes := range [][]func(*Schema){{UpgradeDraft, inlineReferences}, {UpgradeDraft, inlinePathReferences}} {
			r, err := New([]byte(schema), nil, "a provider")
			if err != nil {
				t.Fatal(name, err)
			}
			started := time.Now()
			for _, pass := range passes {
				pass(r)
			}
			took := time.Since(started)
			count, depth := r.Root.Size()
			t.Logf("%s: %v, %d bytes became %d, %d values, %d levels, %d notes", name, took, len(schema), len(r.Root.JSON()), count, depth, len(r.Notes))
			if count > 3*MaxNodes || depth > MaxDepth+5 {
				t.Errorf("%s: %d values in %d levels", name, count, depth)
			}
		}
	}
}

// TestPydanticSchema verifies that the schema that Pydantic makes of seed 002's NamedDiceSpecs
// becomes the one that its authors write by hand: without $ref and title.
func TestPydanticSchema(t *testing.T) {
	const name = `"\nName of the dice roll. Note that this may be duplicate across list items.\n"`
	const dice = `"\nA dice specification, such as '1d10' or '3d6+2'.\n"`
	testRewrites(t, []rewriteCase{{"NamedDiceSpecs",
		`{"$defs":{"NamedDiceSpec":{"properties":{"name":{"description":` + name + `,"title":"Name","type":"string"},"dice":{"description":` + dice + `,"title":"Dice","type":"string"}},"required":["name","dice"],"title":"NamedDiceSpec","type":"object"}},` +
			`"properties":{"specs":{"items":{"$ref":"#/$defs/NamedDiceSpec"},"minItems":1,"title":"Specs","type":"array"}},"required":["specs"],"title":"NamedDiceSpecs","type":"object"}`,
		`{"properties":{"specs":{"items":{"properties":{"name":{"description":` + name + `,"type":"string"},"dice":{"description":` + dice + `,"type":"string"}},"required":["name","dice"],"type":"object"},"minItems":1,"type":"array"}},"required":["specs"],"type":"object"}`,
		[]string{`/properties/specs/items: the reference "#/$defs/NamedDiceSpec" replaced by a copy of its target`},
	}}, UpgradeDraft, FoldNullable, inlineReferences, dropTitles)
}
