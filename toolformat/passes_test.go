package toolformat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestNestedAcceptsWhatItAccepted does so for unions in unions, closed and half closed objects,
// references to the root, and keywords that depend on what others name.
func TestNestedAcceptsWhatItAccepted(t *testing.T) {
	most := rounds(t, 40, 100)
	for _, d := range []rewrite.Dialect{rewrite.Anthropic, rewrite.OpenAI, rewrite.Gemini, rewrite.Ollama} {
		t.Run(d.Name, func(t *testing.T) {
			g, tried := &generator{rand: rand.New(rand.NewPCG(13, 14))}, 0
			for range most {
				schema := g.nested(2)
				before, err := compiled(schema)
				if err != nil {
					continue
				}
				r, err := rewrite.New(schema.JSON(), nil, d.Name)
				if err != nil {
					t.Fatal(err)
				}
				if r.Apply(d.Input()) != nil {
					continue
				}
				after, err := compiled(r.Root)
				if err != nil && strings.Contains(err.Error(), "infinite loop") {
					continue // it was one before
				} else if err != nil {
					t.Fatalf("%s\nbecame\n%s\n%v", schema.JSON(), r.Root.JSON(), err)
				}
				for range 20 {
					instance := g.instance(schema, schema, 5)
					if !instance.Is(tree.Object) || before.Validate(value(instance)) != nil {
						continue
					}
					tried++
					renamed := instance.Clone()
					rename(renamed, r.Keys)
					if err := after.Validate(value(renamed)); err != nil {
						t.Fatalf("%s\nbecame\n%s\nand %s is not valid any more: %#v", schema.JSON(), r.Root.JSON(), renamed.JSON(), err)
					}
					if r.Keys.Restore(renamed); !renamed.Equal(instance) {
						t.Fatalf("%s came back as %s", instance.JSON(), renamed.JSON())
					}
				}
			}
			if tried < most/2 {
				t.Errorf("only %d instances were tried", tried)
			}
		})
	}
}

func compiled(schema *tree.Node) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem:///schema.json", strings.NewReader(string(schema.JSON()))); err != nil {
		return nil, err
	}
	return c.Compile("mem:///schema.json")
}

func value(n *tree.Node) any {
	var v any
	_ = json.Unmarshal(n.JSON(), &v) // it was written by us
	return v
}

// nested returns a schema with unions, conditions and references on several levels.
func (g *generator) nested(depth int) *tree.Node {
	s := g.objectSchema(2)
	if s.Remove("$defs"); depth > 0 {
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			if g.oneIn(3) {
				list := tree.NewArray()
				for range 1 + g.rand.IntN(3) {
					list.Items = append(list.Items, g.nested(depth-1))
				}
				s.Set(key, list)
			}
		}
	}
	switch g.rand.IntN(8) {
	case 0:
		s.Set("unevaluatedProperties", tree.NewBool(false))
	case 1:
		s.Set("unevaluatedProperties", g.schema(1))
	case 2:
		s.Set("additionalProperties", tree.NewBool(false))
		s.Remove("patternProperties")
	case 3:
		s.Set("propertyNames", tree.NewObject(tree.NewMember("pattern", tree.NewText("^[$a-z]"))))
	case 4:
		s.Set("enum", tree.NewArray(tree.NewObject(tree.NewMember("a", newNumber(1))), tree.NewObject(tree.NewMember("$top", newNumber(1))), tree.NewObject()))
	}
	if g.oneIn(3) {
		s.Remove("required")
	}
	if g.oneIn(6) {
		s.Remove("type")
	}
	if depth == 2 {
		g.refer(s)
	}
	return s
}

// refer adds definitions to a root, and keeps references to them and to the root.
func (g *generator) refer(root *tree.Node) {
	root.Set("$defs", tree.NewObject(tree.NewMember("D", g.nested(0)), tree.NewMember("E", g.nested(0))))
	if g.oneIn(4) {
		root.Set("$ref", tree.NewText("#/$defs/D"))
	}
	vocabulary.EachSchema(root, nil, func(s *tree.Node, _ *tree.Path) {
		if ref := s.Get("$ref").Text(); ref == "#/properties/a" || ref == "#/$defs/none" {
			s.Remove("$ref")
		}
	})
}

// TestPassesTakeAnything verifies that no pass panics on invalid schemas, and that the result is
// JSON.
func TestPassesTakeAnything(t *testing.T) {
	g := &generator{rand: rand.New(rand.NewPCG(9, 10))}
	for range rounds(t, 200, 1500) {
		schema := g.objectSchema(3)
		for range 1 + g.rand.IntN(6) {
			g.spoil(schema)
		}
		for _, d := range []rewrite.Dialect{rewrite.Anthropic, rewrite.OpenAI, rewrite.OpenAIStrict, rewrite.Gemini, rewrite.Ollama} {
			r, err := rewrite.New(schema.JSON(), nil, d.Name)
			if err != nil {
				t.Fatal(err)
			}
			if r.Apply(d.Input()) != nil {
				continue
			}
			again, err := tree.Parse(r.Root.JSON())
			if err != nil || !again.Equal(r.Root) {
				t.Fatalf("%s\nbecame\n%s\n%v", schema.JSON(), r.Root.JSON(), err)
			}
			r.Keys.Restore(g.scalar())
			r.Keys.Restore(schema.Clone())
		}
	}
}

// spoil puts a value of the wrong kind, or a keyword that does not belong there, somewhere into a
// schema.
func (g *generator) spoil(n *tree.Node) {
	for {
		switch {
		case len(n.Members) > 0 && (len(n.Items) == 0 || g.oneIn(2)):
			i := g.rand.IntN(len(n.Members))
			if next := n.Members[i].Value; !g.oneIn(4) && len(next.Members)+len(next.Items) > 0 {
				n = next
				continue
			}
			if g.oneIn(2) {
				n.Set(g.keyword(), g.garbage())
			} else {
				n.Members[i].Value = g.garbage()
			}
		case len(n.Items) > 0:
			i := g.rand.IntN(len(n.Items))
			if next := n.Items[i]; !g.oneIn(4) && len(next.Members)+len(next.Items) > 0 {
				n = next
				continue
			}
			n.Items[i] = g.garbage()
		}
		return
	}
}

func (g *generator) keyword() string {
	return pick(g, "$dynamicRef", "$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "contains", "dependencies",
		"dependentRequired", "dependentSchemas", "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items",
		"maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties",
		"minimum", "multipleOf", "not", "oneOf", "pattern", "patternProperties", "prefixItems", "properties", "propertyNames",
		"required", "then", "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "description", "default", "$defs", "examples")
}

func (g *generator) garbage() *tree.Node {
	switch g.rand.IntN(8) {
	case 0:
		return tree.NewArray()
	case 1:
		return tree.NewObject()
	case 2:
		return tree.NewArray(g.scalar(), tree.NewArray(g.scalar()), tree.NewObject(tree.NewMember("type", g.scalar())))
	case 3:
		return tree.NewObject(tree.NewMember("a", g.scalar()), tree.NewMember("$top", tree.NewArray(g.scalar())), tree.NewMember("required", g.scalar()))
	case 4:
		return g.schema(2)
	case 5:
		return tree.NewArray(g.schema(1), g.schema(1))
	}
	return g.scalar()
}

// TestPassesAreBounded verifies that schemas made to exhaust a converter take little time and do
// not grow without bound.
func TestPassesAreBounded(t *testing.T) {
	for name, schema := range map[string]string{
		"branches that each require one":  `{"type":"object","allOf":[` + repeated(9000, `{"required":["p%d"]}`) + `]}`,
		"branches with a property each":   `{"type":"object","anyOf":[` + repeated(4000, `{"properties":{"p%d":{"type":"string"}},"required":["p%[1]d"]}`) + `]}`,
		"nested branches":                 `{"type":"object","properties":{"x":{"allOf":[` + repeated(5000, `{"properties":{"p%d":{}}}`) + `]}}}`,
		"descriptions":                    `{"type":"object","allOf":[` + repeated(9000, `{"description":"d%d"}`) + `]}`,
		"patterns":                        `{"type":"object","allOf":[` + repeated(9000, `{"pattern":"p%d"}`) + `]}`,
		"illegal keys":                    `{"type":"object","properties":{` + repeated(9000, `"$%d":{"type":"string"}`) + `},"patternProperties":{` + repeated(3000, `"^p%d":{}`) + `}}`,
		"illegal keys in branches":        `{"type":"object","properties":{"x":{"anyOf":[` + repeated(3000, `{"properties":{"$%d":{"type":"string"}}}`) + `]}}}`,
		"references that double":          `{"type":"object","$ref":"#/$defs/d0","$defs":{` + repeated(60, `"d%d":{"allOf":[{"$ref":"#/$defs/d%[2]d"},{"$ref":"#/$defs/d%[2]d","properties":{"p%[1]d":{"$ref":"#/$defs/d%[2]d","minProperties":1}}}]}`) + `}}`,
		"references that meet themselves": `{"type":"object","properties":{"x":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}},"$defs":{"a":{"type":"object","properties":{"n":{"$ref":"#/$defs/a","minProperties":1}}},"b":{"type":"object","properties":{"n":{"$ref":"#/$defs/b","maxProperties":9}}}}}`,
		"unions of unions":                `{"type":"object","anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}],"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/a"}]},"b":{"oneOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"},{"required":["x"]}]}}}`,
		"values":                          `{"type":"object","properties":{"x":{"allOf":[{"enum":[` + repeated(9000, `%d`) + `]},{"enum":[` + repeated(9000, `1%d`) + `]}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range []rewrite.Dialect{rewrite.Anthropic, rewrite.OpenAI, rewrite.OpenAIStrict, rewrite.Gemini, rewrite.Ollama} {
				r, err := rewrite.New([]byte(schema), nil, d.Name)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Apply(d.Input()); err != nil {
					continue
				}
				if count, depth := r.Root.Size(); count > 3*rewrite.MaxNodes || depth > 500 {
					t.Errorf("%s: %d values, %d levels", d.Name, count, depth)
				}
			}
		})
	}
}

// repeated formats the numbers up to n, each with its successor, and joins them with commas.
func repeated(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format+"%.0[3]s", i, i+1, "")
	}
	return strings.Join(parts, ",")
}
