package vocabulary

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

func parse(t *testing.T, data string) *tree.Node {
	t.Helper()
	n, err := tree.Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEachSchema verifies that every schema is visited once, parents first, and data is not.
func TestEachSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`true`: "", `{}`: "", `{"items":{}}`: " /items", `{"items":[{},true,1]}`: " /items/0 /items/1",
		`{"properties":{"a/b":{"not":false},"c":3},"enum":[{"not":{}}],"default":{"items":{}}}`:                          " /properties/a~1b /properties/a~1b/not",
		`{"allOf":[{"anyOf":[{}]},{}],"oneOf":{}}`:                                                                       " /allOf/0 /allOf/0/anyOf/0 /allOf/1",
		`{"dependencies":{"a":["b"],"c":{}},"$defs":{"d":true},"definitions":{"e":{}}}`:                                  " /dependencies/c /$defs/d /definitions/e",
		`{"x":{},"contains":{},"if":{},"then":{},"else":{},"propertyNames":{},"prefixItems":[{}],"contentSchema":{}}`:    " /contains /if /then /else /propertyNames /prefixItems/0 /contentSchema",
		`{"additionalProperties":{},"patternProperties":{"^a":{}},"unevaluatedItems":false,"dependentSchemas":{"a":{}}}`: " /additionalProperties /patternProperties/^a /unevaluatedItems /dependentSchemas/a",
	} {
		var got []string
		EachSchema(parse(t, schema), nil, func(_ *tree.Node, at *tree.Path) { got = append(got, at.String()) })
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

// TestEachSchemaSeesChanges verifies that schemas that visit adds are visited too.
func TestEachSchemaSeesChanges(t *testing.T) {
	n := parse(t, `{"items":{"x":1}}`)
	visited := 0
	EachSchema(n, nil, func(s *tree.Node, _ *tree.Path) {
		if visited++; s.Get("x") != nil {
			s.Remove("x")
			s.Set("anyOf", tree.NewArray(tree.NewObject(), tree.NewBool(true)))
		}
	})
	if visited != 4 {
		t.Errorf("%d schemas visited", visited)
	}
}

func TestEachChildKeywords(t *testing.T) {
	var got []string
	EachChild(parse(t, `{"properties":{"a":{"items":{}},"b":true},"not":{},"allOf":[{}]}`), tree.At("s"), func(keyword string, _ *tree.Node, at *tree.Path) {
		got = append(got, keyword+" "+at.String())
	})
	if want := []string{"properties /s/properties/a", "properties /s/properties/b", "not /s/not", "allOf /s/allOf/0"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestDraftOf(t *testing.T) {
	for uri, want := range map[string]struct {
		draft    Draft
		declared bool
		name     string
	}{
		`"http://json-schema.org/draft-04/schema#"`:       {4, true, "draft-04"},
		`"http://json-schema.org/draft-06/schema"`:        {6, true, "draft-06"},
		`"https://json-schema.org/draft-07/schema#"`:      {7, true, "draft-07"},
		`"https://json-schema.org/draft/2019-09/schema"`:  {2019, true, "2019-09"},
		`"http://json-schema.org/draft/2020-12/schema"`:   {2020, true, "2020-12"},
		`"http://json-schema.org/draft-03/schema#"`:       {2020, false, "2020-12"},
		`"https://json-schema.org/draft/2020-12/schema/"`: {2020, false, "2020-12"},
		`7`: {2020, false, "2020-12"},
	} {
		draft, declared := DraftOf(parse(t, `{"$schema":`+uri+`}`))
		if draft != want.draft || declared != want.declared || draft.String() != want.name {
			t.Errorf("%s: %s, declared %v", uri, draft, declared)
		}
	}
	if draft, declared := DraftOf(parse(t, `true`)); draft != LatestDraft || declared || Draft(0).String() != "an unknown dialect" {
		t.Errorf("%s, declared %v", draft, declared)
	}
}

// TestTables verifies that every keyword of the meta-schemas in jsonschema/v5 is an assertion or a
// known annotation.
func TestTables(t *testing.T) {
	annotations := []string{"$anchor", "$comment", "$defs", "$dynamicAnchor", "$id", "$schema", "$vocabulary", "contentEncoding", "contentMediaType",
		"contentSchema", "default", "definitions", "deprecated", "description", "examples", "id", "readOnly", "title", "writeOnly",
		"$recursiveAnchor", "$recursiveRef", "regexProperties"} // the last one is in the meta-schema of draft-04 alone
	for draft, url := range Drafts {
		compiler := jsonschema.NewCompiler()
		compiler.LoadURL = func(string) (io.ReadCloser, error) { t.Fatal("nothing is loaded"); return nil, nil }
		meta, err := compiler.Compile(url)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, m := range append(meta.AllOf, meta) {
			for m.Ref != nil {
				m = m.Ref
			}
			for keyword := range m.Properties {
				seen++
				if Assertions[keyword] == 0 && !slices.Contains(annotations, keyword) {
					t.Errorf("%s: %s is neither an assertion nor a known annotation", draft, keyword)
				}
			}
		}
		if seen < 25 {
			t.Errorf("%s: only %d keywords", draft, seen)
		}
	}
	for keyword := range Keywords {
		if Assertions[keyword] == 0 && !slices.Contains(annotations, keyword) {
			t.Errorf("%s holds schemas and is not an assertion", keyword)
		}
	}
	for _, keyword := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas"} {
		if !InPlace(keyword) || Assertions[keyword] == 0 {
			t.Errorf("%s does not apply in place", keyword)
		}
	}
	if InPlace("items") || InPlace("properties") || InPlace("$defs") {
		t.Error("what applies to a part applies in place")
	}
}
