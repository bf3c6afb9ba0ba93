package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// randomSimpleSchema returns a schema of a few keywords, most of which a simpleSchema has.
func randomSimpleSchema(r *rand.Rand, depth int) string {
	types := []string{`"string"`, `"integer"`, `"number"`, `"boolean"`, `"null"`, `["string","null"]`, `["integer","number"]`, `["number","integer","string"]`}
	var parts []string
	switch k := r.IntN(12); {
	case k < 6 || depth == 0:
		parts = append(parts, `"type":`+types[r.IntN(len(types))])
	case k < 8:
		parts = append(parts, `"type":"array"`, `"items":`+randomSimpleSchema(r, depth-1))
	case k == 8:
		parts = append(parts, `"enum":["a","b","\u00e9"]`)
	case k == 9:
		parts = append(parts, `"description":"anything","default":3`)
	default:
		var properties []string
		for i := range r.IntN(4) {
			properties = append(properties, fmt.Sprintf(`"p%d":%s`, i, randomSimpleSchema(r, depth-1)))
		}
		parts = append(parts, `"type":"object"`, `"properties":{`+strings.Join(properties, ",")+`}`)
		if r.IntN(2) == 0 {
			parts = append(parts, `"required":["p0"]`)
		}
		if r.IntN(3) == 0 {
			parts = append(parts, `"additionalProperties":false`)
		}
	}
	if r.IntN(8) == 0 {
		parts = append(parts, `"minimum":2`, `"maxLength":1`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// randomInstance returns a value that is often valid.
func randomInstance(r *rand.Rand, schema *tree.Node) string {
	scalars := []string{`"a"`, `"é"`, `"\u0061"`, `"long"`, `1`, `-12`, `1.5`, `2.0`, `1e2`, `true`, `null`, `[]`, `{}`}
	properties := schema.Get("properties")
	switch items := schema.Get("items"); {
	case r.IntN(6) == 0:
	case items != nil:
		return "[" + randomInstance(r, items) + "," + randomInstance(r, items) + "]"
	case properties != nil:
		var parts []string
		for _, p := range properties.Members {
			if r.IntN(5) > 0 {
				parts = append(parts, `"`+p.Key+`":`+randomInstance(r, p.Value))
			}
		}
		if r.IntN(5) == 0 {
			parts = append(parts, `"other":1`)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return scalars[r.IntN(len(scalars))]
}

// TestSimpleSchema verifies that a value that a simpleSchema accepts is valid for jsonschema/v5,
// in every draft.
func TestSimpleSchema(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	sure, total := 0, 0
	for range 3000 {
		text := randomSimpleSchema(r, 3)
		schema, err := tree.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		o := newSimpleSchema(schema)
		for range 4 {
			instance := randomInstance(r, schema)
			n, err := tree.Parse([]byte(instance))
			if err != nil {
				t.Fatalf("%s: %v", instance, err)
			}
			if total++; !o.accepts(n) {
				continue
			}
			sure++
			for draft := range vocabulary.Drafts {
				whole := `{"$schema":"` + vocabulary.Drafts[draft] + `",` + text[1:]
				bare, err := jsonschema.CompileString("test:///schema", strings.Replace(whole, ",}", "}", 1))
				if err != nil {
					t.Fatalf("%s: %v", whole, err)
				}
				if err := bare.Validate(decode(n)); err != nil {
					t.Fatalf("%s\nis sure to accept %s: %v", whole, instance, err)
				}
			}
		}
	}
	if sure < total/5 {
		t.Errorf("sure of %d of %d", sure, total)
	}
}
