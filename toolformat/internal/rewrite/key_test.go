package rewrite

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// TestRenameTopLevelKeys verifies the rule of Anthropic, for the keys of the arguments themselves.
func TestRenameTopLevelKeys(t *testing.T) {
	testPasses(t, []passCase{
		{"odata", `{"type":"object","properties":{"$top":{"type":"integer"},"filter[id]":{"type":"string","description":"Filter."},"@microsoft.graph.conflictBehavior":true,"ok-1.x":{"type":"object","properties":{"$skip":{}}}},"required":["$top"],"dependentRequired":{"$top":["filter[id]"]},"dependentSchemas":{"filter[id]":{"required":["$top"]}}}`,
			`{"type":"object","properties":{"top_81bf98e4":{"type":"integer","description":"(key: $top)"},"filter_id_665d001d":{"type":"string","description":"Filter. (key: filter[id])"},"microsoft.graph.conflictBehavior_d5bddb68":true,"ok-1.x":{"type":"object","properties":{"$skip":{}}}},"required":["top_81bf98e4"],"dependentRequired":{"top_81bf98e4":["filter_id_665d001d"]},"dependentSchemas":{"filter_id_665d001d":{"required":["top_81bf98e4"]}}}`, `
/properties/$top: the property "$top" renamed to "top_81bf98e4": the key is not allowed by X
/properties/filter[id]: the property "filter[id]" renamed to "filter_id_665d001d": the key is not allowed by X
/properties/@microsoft.graph.conflictBehavior: the property "@microsoft.graph.conflictBehavior" renamed to "microsoft.graph.conflictBehavior_d5bddb68": the key is not allowed by X`},
		{"condition", `{"type":"object","properties":{"$a":{}},"if":{"properties":{"$a":{"const":1}}},"then":{"required":["$a"]},"propertyNames":{"pattern":"^.a"},"patternProperties":{"^\\$":{"type":"string"}}}`,
			`{"type":"object","properties":{"a_7a0eec4b":{"description":"(key: $a)"}},"if":{"properties":{"a_7a0eec4b":{"const":1,"description":"(key: $a)"}}},"then":{"required":["a_7a0eec4b"]},"description":"(property names: {\"pattern\":\"^.a\"}; properties by pattern: {\"^\\\\$\":{\"type\":\"string\"}})"}`, `
/properties/$a: the property "$a" renamed to "a_7a0eec4b": the key is not allowed by X
/if/properties/$a: the property "$a" renamed to "a_7a0eec4b": the key is not allowed by X
"propertyNames", "patternProperties" moved into the description: properties have other names now`},
		{"itself", `{"type":"object","properties":{"$a":{"$ref":"#"},"b":{"type":"object","properties":{"$c":{}}}}}`,
			`{"type":"object","properties":{"a_7a0eec4b":{"$ref":"#","description":"(key: $a)"},"b":{"type":"object","properties":{"c_564fe12e":{"description":"(key: $c)"}}}}}`, `
/properties/$a: the property "$a" renamed to "a_7a0eec4b": the key is not allowed by X
/properties/b/properties/$c: the property "$c" renamed to "c_564fe12e": the key is not allowed by X`},
		{"legal", `{"type":"object","properties":{"a.b-C_1":{"type":"object","properties":{"$x":{}}}}}`,
			`{"type":"object","properties":{"a.b-C_1":{"type":"object","properties":{"$x":{}}}}}`, ``},
	}, renameKeys(anthropicKey))
}

// TestRenameAllKeys verifies the rule of Gemini, for every key.
func TestRenameAllKeys(t *testing.T) {
	testPasses(t, []passCase{
		{"deep", `{"type":"object","properties":{"a-b":{"type":"array","items":{"type":"object","properties":{"1x":{}},"required":["1x"]}},"m":{"type":"object","additionalProperties":{"type":"object","properties":{"名前":{"type":"string"}}}},"u":{"anyOf":[{"type":"object","properties":{"x.y":{}}},{"type":"string"}]},"default":{"default":{"a-b":1},"enum":[{"a-b":1}]}}}`,
			`{"type":"object","properties":{"a_b_d44362d6":{"type":"array","items":{"type":"object","properties":{"_1x_a048e640":{"description":"(key: 1x)"}},"required":["_1x_a048e640"]},"description":"(key: a-b)"},"m":{"type":"object","additionalProperties":{"type":"object","properties":{"key_7ec26292":{"type":"string","description":"(key: 名前)"}}}},"u":{"anyOf":[{"type":"object","properties":{"x_y_b24ca9b7":{"description":"(key: x.y)"}}},{"type":"string"}]},"default":{"default":{"a-b":1},"description":"(one of {\"a-b\":1})"}}}`, `
/properties/a-b: the property "a-b" renamed to "a_b_d44362d6": the key is not allowed by X
/properties/a-b/items/properties/1x: the property "1x" renamed to "_1x_a048e640": the key is not allowed by X
/properties/m/additionalProperties/properties/名前: the property "名前" renamed to "key_7ec26292": the key is not allowed by X
/properties/u/anyOf/0/properties/x.y: the property "x.y" renamed to "x_y_b24ca9b7": the key is not allowed by X
/properties/default: "enum" moved into the description: properties have other names now`},
		{"collision", `{"type":"object","properties":{"$a":{},"a_d07208f0":{},"@a":{}}}`,
			`{"type":"object","properties":{"a_7a0eec4b":{"description":"(key: $a)"},"a_d07208f0":{},"a_5e75a6ff":{"description":"(key: @a)"}}}`, `
/properties/$a: the property "$a" renamed to "a_7a0eec4b": the key is not allowed by X
/properties/@a: the property "@a" renamed to "a_5e75a6ff": the key is not allowed by X`},
		{"long", `{"type":"object","properties":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{},"properties":{"type":"string"},"":{}},"required":["properties",""]}`,
			`{"type":"object","properties":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_574c61e5":{"description":"(key: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)"},"properties":{"type":"string"},"key_e3b0c442":{"description":"(key: ) (key: )"}},"required":["properties","key_e3b0c442"]}`, `
/properties/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: the property "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" renamed to "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_574c61e5": the key is not allowed by X
/properties/: the property "" renamed to "key_e3b0c442": the key is not allowed by X
/properties/: the property "" renamed to "key_e3b0c442": the key is not allowed by X`},
	}, renameKeys(geminiKey))
}

// TestRestore verifies that arguments get the tool's own keys back, in place and in order.
func TestRestore(t *testing.T) {
	const schema = `{"type":"object","properties":{
		"filter[id]":{"type":"string"},
		"$top":{"type":"array","items":{"type":"object","properties":{"x.y":{}}}},
		"m":{"type":"object","properties":{"own":{"type":"object"}},"additionalProperties":{"type":"object","properties":{"a-b":{}}}},
		"u":{"anyOf":[{"type":"object","properties":{"c d":{"type":"object","properties":{"e f":{}}}}},{"type":"string"}]}}}`
	r := afterPasses(t, schema, renameKeys(geminiKey))
	names := map[string]string{}
	for _, note := range r.Notes {
		quoted := strings.Split(note.Text, `"`)
		names[quoted[1]] = quoted[3]
	}
	for _, c := range []struct{ name, in, want string }{
		{"top level", `{"m":1,"<filter[id]>":"f"}`, `{"m":1,"filter[id]":"f"}`},
		{"items", `{"<$top>":[{"z":1,"<x.y>":2},3]}`, `{"$top":[{"z":1,"x.y":2},3]}`},
		{"free keys", `{"m":{"k":{"<a-b>":1},"own":{"<a-b>":1}}}`, `{"m":{"k":{"a-b":1},"own":{"<a-b>":1}}}`},
		{"branches", `{"u":{"<c d>":{"<e f>":1}}}`, `{"u":{"c d":{"e f":1}}}`},
		{"own key", `{"filter[id]":1,"$top":[{"x.y":1,"more":2}]}`, `{"filter[id]":1,"$top":[{"x.y":1,"more":2}]}`},
		{"both", `{"filter[id]":1,"<filter[id]>":2}`, `{"filter[id]":2}`},
		{"new below own", `{"$top":[{"<x.y>":1}]}`, `{"$top":[{"x.y":1}]}`},
		{"no object", `["<$top>"]`, `["<$top>"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, want := c.in, c.want
			for key, name := range names {
				in, want = strings.ReplaceAll(in, "<"+key+">", name), strings.ReplaceAll(want, "<"+key+">", name)
			}
			n, err := tree.Parse([]byte(in))
			if err != nil {
				t.Fatal(err)
			}
			if r.Keys.Restore(n); string(n.JSON()) != want {
				t.Errorf("%s, expected %s", n.JSON(), want)
			}
		})
	}
}

// TestRenameIsPure verifies that the name of a key depends on the key alone, except in a
// collision.
func TestRenameIsPure(t *testing.T) {
	for _, rule := range []keyRule{anthropicKey, geminiKey} {
		names := map[string]string{}
		for _, key := range []string{"", "$", "$$", "$top", "top", "a b", "a_b", "a.b", "1", "-", "_", "ä", "名前", "名 前", strings.Repeat("long", 40), strings.Repeat("long", 41), "a\x00b"} {
			name := rule.rename(key, nil)
			if !rule.allows(name) {
				t.Errorf("%q became %q, which is not legal", key, name)
			}
			if other, ok := names[name]; ok {
				t.Errorf("%q and %q both became %q", key, other, name)
			}
			names[name] = key
			if again := rule.rename(key, map[string]bool{name: true}); again == name || !rule.allows(again) {
				t.Errorf("%q became %q, which is taken", key, again)
			}
		}
	}
}
