package toolformat

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// TestUncheckedAcceptsMore verifies that a schema with unchecked keywords accepts whatever the
// whole schema accepts. An empty look-ahead changes no pattern, but Go cannot compile it.
func TestUncheckedAcceptsMore(t *testing.T) {
	g := &generator{rand: rand.New(rand.NewPCG(1, 1))}
	tried, loosened := 0, 0
	for range 1000 {
		whole := g.objectSchema(4)
		if g.oneIn(3) {
			whole.Set("unevaluatedProperties", tree.NewBool(false))
		}
		part := whole.Clone()
		vocabulary.EachSchema(part, nil, func(s *tree.Node, _ *tree.Path) {
			if p := s.Get("pattern"); p.Is(tree.Text) && g.oneIn(2) {
				s.Set("pattern", tree.NewText("(?=)"+p.Text()))
			}
			if p := s.Get("patternProperties"); p.Is(tree.Object) && g.oneIn(2) {
				p.Members[0].Key = "(?=)" + p.Members[0].Key
			}
		})
		before, _, err := NewChecker(whole.JSON())
		if err != nil {
			t.Fatal(err)
		}
		after, notes, err := NewChecker(part.JSON())
		if err != nil {
			t.Fatalf("%s: %v", part.JSON(), err)
		}
		if len(notes) == 0 {
			continue
		}
		loosened++
		for range 10 {
			instance := g.instance(whole, whole, 5)
			if before.Check(instance.JSON()) != nil {
				continue
			}
			tried++
			if err := after.Check(instance.JSON()); err != nil {
				t.Fatalf("%s\naccepts %s, but with look-aheads (%v) not: %v", whole.JSON(), instance.JSON(), notes, err)
			}
		}
	}
	if tried < 300 {
		t.Errorf("only %d instances of %d schemas", tried, loosened)
	}
}

// TestSameVerdict verifies that a checker agrees with jsonschema/v5 alone where it checks
// everything.
func TestSameVerdict(t *testing.T) {
	g := &generator{rand: rand.New(rand.NewPCG(2, 2))}
	verdicts := map[bool]int{}
	for range 1000 {
		schema := g.objectSchema(4)
		schema.Set("$schema", tree.NewText(vocabulary.Drafts[2020]))
		bare, err := jsonschema.CompileString("test:///schema", string(schema.JSON()))
		if err != nil {
			continue
		}
		checker, notes, err := NewChecker(schema.JSON())
		if err != nil {
			t.Fatalf("%s: %v", schema.JSON(), err)
		}
		if notes != nil { // about what nothing uses: the library does not look at that
			continue
		}
		for range 5 {
			instance := g.instance(schema, schema, 5)
			want, got := bare.Validate(decoded(instance)), checker.Check(instance.JSON())
			if (want == nil) != (got == nil) {
				t.Fatalf("%s\nand %s: %v, bare %v", schema.JSON(), instance.JSON(), got, want)
			}
			verdicts[got == nil]++
		}
	}
	if verdicts[true] < 500 || verdicts[false] < 500 {
		t.Errorf("%v", verdicts)
	}
}

// decoded returns a value as jsonschema/v5 takes it.
func decoded(n *tree.Node) any {
	decoder := json.NewDecoder(bytes.NewReader(n.JSON()))
	decoder.UseNumber()
	var v any
	_ = decoder.Decode(&v) // it was written by us
	return v
}

// TestBindAllocations verifies that Binder adds no allocation to those of the package that it wraps.
func TestBindAllocations(t *testing.T) {
	b, _, err := NewBinder(json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw := json.RawMessage(`{"a":"x"}`)
	wrapped := testing.AllocsPerRun(100, func() { _, err = b.Bind("t", raw, nil) })
	if direct := testing.AllocsPerRun(100, func() { _, err = b.binder.Bind("t", raw, nil) }); err != nil || wrapped != direct {
		t.Errorf("%v allocations, and %v without the wrapper (%v)", wrapped, direct, err)
	}
}
