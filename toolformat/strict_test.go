package toolformat

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// TestStrictRules verifies the rules of strict mode on made-up schemas, without the code that
// applies them, and that the nulls of optional properties are removed again.
func TestStrictRules(t *testing.T) {
	g := &generator{rand: rand.New(rand.NewPCG(11, 12))}
	expressed := 0
	for range 1000 {
		schema := g.objectSchema(2)
		r, err := rewrite.New(schema.JSON(), nil, "OpenAI strict")
		if err != nil {
			t.Fatal(err)
		}
		if r.Apply(rewrite.OpenAIStrict.Input()) != nil {
			continue
		}
		expressed++
		vocabulary.EachSchema(r.Root, nil, func(s *tree.Node, at *tree.Path) {
			for _, m := range s.Members {
				if !strictTakes(m) {
					t.Errorf("%s\nbecame\n%s\nwith %s at %q", schema.JSON(), r.Root.JSON(), m.Key, at)
				}
			}
			if s.Get("$ref") != nil && len(s.Members) > 1 || s.Is(tree.Object) && !s.HasAny("type", "$ref", "anyOf", "enum", "const") {
				t.Errorf("%s\nbecame\n%s\nwith %s at %q", schema.JSON(), r.Root.JSON(), s.JSON(), at)
			}
			if properties := s.Get("properties"); properties != nil {
				required := tree.NewArray()
				for _, m := range properties.Members {
					required.Items = append(required.Items, tree.NewText(m.Key))
				}
				if !required.Equal(s.Get("required")) || string(s.Get("additionalProperties").JSON()) != "false" {
					t.Errorf("%s\nbecame\n%s\nwith an open object at %q", schema.JSON(), r.Root.JSON(), at)
				}
			}
		})
		given := tree.NewObject()
		full := given.Clone()
		for name := range optionalNames(r.Keys) {
			full.Members = append(full.Members, tree.NewMember(name, &tree.Node{Raw: "null"}))
		}
		if r.Keys.Restore(full); !full.Equal(given) {
			t.Errorf("%s: %s is left of nothing given", r.Root.JSON(), full.JSON())
		}
	}
	if expressed < 100 {
		t.Errorf("only %d schemas were expressed", expressed)
	}
}

// strictTakes reports whether strict mode supports a keyword with its value (guide "Structured
// model outputs", supported schemas).
func strictTakes(m tree.Member) bool {
	switch m.Key {
	case "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum", "exclusiveMaximum", "exclusiveMinimum",
		"items", "maxItems", "maximum", "minItems", "minimum", "multipleOf", "properties", "required", "type":
		return true
	case "format":
		return slices.Contains([]string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"}, m.Value.Text())
	case "pattern":
		return !strings.Contains(m.Value.Text(), "(?=") && !strings.Contains(m.Value.Text(), "(?!") && !strings.Contains(m.Value.Text(), "(?<")
	}
	return false
}

func optionalNames(k *rewrite.KeyMap) map[string]bool {
	if k == nil {
		return nil
	}
	return k.Optional
}

// An answer in the schema that Anthropic is sent follows that of the caller, also where several schemas describe an object.
func TestAnswerSchema(t *testing.T) {
	const a, b = `"properties":{"a":{"type":"integer"}}`, `"properties":{"b":{"type":"integer"}}`
	for _, c := range []struct {
		schema string
		fails  bool
	}{
		{schema: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`},
		{schema: `{"allOf":[{"type":"object",` + a + `,"required":["a"]},{"type":"object",` + b + `,"required":["b"]}]}`},
		{schema: `{"type":"object",` + a + `,"allOf":[{"$ref":"#/$defs/B"}],"$defs":{"B":{"type":"object",` + b + `}}}`, fails: true},
		{schema: `{"type":"object",` + a + `,"$ref":"#/$defs/B","$defs":{"B":{"type":"object",` + b + `}}}`, fails: true},
		{schema: `{"type":"object",` + a + `,"anyOf":[{` + b + `},{"properties":{"c":{}}}]}`, fails: true},
		{schema: `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`},
	} {
		sent, err := AnswerSchema(json.RawMessage(c.schema), FormatAnthropic)
		if err != nil || c.fails {
			if (err != nil) != c.fails {
				t.Errorf("%s: %v, %s", c.schema, err, sent)
			}
			continue
		}
		for _, schema := range []json.RawMessage{json.RawMessage(c.schema), sent} {
			checker, _, err := NewChecker(schema)
			if err == nil {
				err = checker.Check([]byte(`{"a":1,"b":2}`))
			}
			if err != nil {
				t.Errorf("%s: %v", schema, err)
			}
		}
	}
}
