package toolformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// TestAcceptsWhatItAccepted verifies for every dialect that values that are valid for a schema,
// made up or real, are valid for the rewritten one.
func TestAcceptsWhatItAccepted(t *testing.T) {
	schemas := corpusSchemas(t, 3)
	g := &generator{rand: rand.New(rand.NewPCG(1, 2))}
	made := rounds(t, 100, 300)
	for range made {
		schemas = append(schemas, g.objectSchema(3).JSON())
	}
	for _, d := range []*rewrite.Dialect{&rewrite.Anthropic, &rewrite.OpenAI, &rewrite.Gemini, &rewrite.Ollama} {
		t.Run(d.Name, func(t *testing.T) {
			g := &generator{rand: rand.New(rand.NewPCG(3, 4))}
			valid := 0
			for _, schema := range schemas {
				valid += tryInstances(t, d, schema, g)
				if t.Failed() {
					return
				}
			}
			if valid < made {
				t.Errorf("only %d valid instances were tried", valid)
			}
		})
	}
}

// tryInstances verifies for instances of a schema that the schema that a dialect makes of it
// accepts them too, and that their keys come back. It returns how many were valid.
func tryInstances(t *testing.T, d *rewrite.Dialect, schema []byte, g *generator) int {
	before, _, err := NewChecker(schema)
	if err != nil {
		return 0
	}
	r, err := rewrite.New(schema, nil, d.Name)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if r.Apply(d.Input()) != nil {
		return 0 // it cannot be expressed, and that is said
	}
	converted := r.Root.JSON()
	after, _, err := NewChecker(converted)
	if err != nil {
		t.Fatalf("%s\nbecame\n%s\nwhich is no schema: %v", schema, converted, err)
	}
	original, _ := tree.Parse(schema)
	valid := 0
	for range 8 {
		instance := g.instance(original, original, 5)
		if !instance.Is(tree.Object) || before.Check(instance.JSON()) != nil {
			continue
		}
		valid++
		renamed := instance.Clone()
		rename(renamed, r.Keys)
		if err := after.Check(renamed.JSON()); err != nil {
			t.Errorf("%s\nbecame\n%s\nand %s is not valid any more: %v", schema, converted, renamed.JSON(), err)
		}
		r.Keys.Restore(renamed)
		if !renamed.Equal(instance) {
			t.Errorf("%s came back as %s", instance.JSON(), renamed.JSON())
		}
	}
	return valid
}

// rename is the inverse of KeyMap.Restore.
func rename(n *tree.Node, k *rewrite.KeyMap) {
	if k == nil || n == nil {
		return
	}
	for _, it := range n.Items {
		rename(it, k.Items)
	}
	for i, m := range n.Members {
		for renamed, original := range k.Original {
			if original == m.Key {
				n.Members[i].Key = renamed
			}
		}
		below := k.Properties[n.Members[i].Key]
		if below == nil {
			below = k.Additional
		}
		rename(m.Value, below)
	}
}

// TestRoundTrip verifies that a tool comes back from every format that can carry it.
func TestRoundTrip(t *testing.T) {
	g := &generator{rand: rand.New(rand.NewPCG(5, 6))}
	var tools []Tool
	for i := range 60 {
		tools = append(tools, Tool{Name: fmt.Sprintf("tool_%d", i), Description: "Does \"it\".\nThen <that> & ü.", InputSchema: g.objectSchema(3).JSON()})
		tools = append(tools, Tool{Name: fmt.Sprintf("plain_%d", i), Description: "Does it.", InputSchema: g.plainSchema(2).JSON()})
	}
	for i, schema := range corpusSchemas(t, 8) {
		tools = append(tools, Tool{Name: fmt.Sprintf("real_%d", i), Description: "d", InputSchema: schema})
	}
	for _, format := range Formats() {
		t.Run(string(format), func(t *testing.T) { roundTrip(t, tools, format) })
	}
}

func roundTrip(t *testing.T, tools []Tool, format Format) {
	internal, err := Encode(tools, FormatInternal, Options{})
	if err != nil {
		t.Fatal(err)
	}
	carried := 0
	for _, in := range internal.Tools {
		reading, err := Read(in.JSON, FormatInternal)
		if err != nil || len(reading.Tools) != 1 {
			t.Fatalf("%s: %v %v", in.JSON, err, reading)
		}
		out, err := Encode(reading.Tools, format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Tools) == 0 || len(out.Tools[0].Notes) > 0 {
			continue // it cannot carry it, and says so
		}
		back, err := Read(out.Tools[0].JSON, format)
		if err != nil || len(back.Tools) != 1 {
			t.Fatalf("%s: %v %+v", out.Tools[0].JSON, err, back)
		}
		again, err := Encode(back.Tools, FormatInternal, Options{})
		if err != nil || len(again.Tools) != 1 {
			t.Fatalf("%s: %v", out.Tools[0].JSON, err)
		}
		if want, got := canonical(t, in.JSON), canonical(t, again.Tools[0].JSON); want != got {
			t.Errorf("%s\nbecame\n%s\nand came back as\n%s", want, out.Tools[0].JSON, got)
		}
		carried++
	}
	if carried < 60 { // the plain ones at least
		t.Errorf("only %d of %d tools were carried", carried, len(tools))
	}
}

// canonical returns a definition without titles, which providers are not sent.
func canonical(t *testing.T, raw []byte) string {
	n, err := tree.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	schema := n.Get("input_schema")
	vocabulary.EachSchema(schema, nil, func(s *tree.Node, _ *tree.Path) { s.Remove("title") })
	return string(n.JSON())
}

// FuzzRead verifies that no input makes reading or converting panic or hang, and that what is
// written can be read back.
func FuzzRead(f *testing.F) {
	golden, _ := filepath.Glob("../testdata/tools/*.txtar")
	for _, name := range golden {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, data, _ = bytes.Cut(data, []byte("-- in.json --\n"))
		data, _, _ = bytes.Cut(data, []byte("\n-- "))
		f.Add(data, "")
	}
	f.Add([]byte(`[{"functionDeclarations":[{"name":"a"}]}]`), "gemini")
	f.Add([]byte(`{"tools":[1,{"type":"mcp"}]}`), "openai")
	f.Fuzz(func(t *testing.T, data []byte, from string) {
		if from != "" && !slices.Contains(Formats(), Format(from)) {
			return
		}
		reading, err := Read(data, Format(from))
		if err != nil {
			return
		}
		for _, format := range Formats() {
			set, err := Encode(reading.Tools, format, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(set.Tools)+len(set.Faults) != len(reading.Tools) {
				t.Fatalf("%s: %d tools became %d and %d faults", format, len(reading.Tools), len(set.Tools), len(set.Faults))
			}
			if again, err := Read(set.JSON(), format); err != nil || len(again.Tools) != len(set.Tools) {
				t.Fatalf("%s cannot be read back: %v %+v\n%s", format, err, again, set.JSON())
			}
		}
	})
}

// FuzzPasses verifies that no schema makes a dialect panic, hang or write invalid JSON, and that
// accepted values stay accepted.
func FuzzPasses(f *testing.F) {
	g := &generator{rand: rand.New(rand.NewPCG(7, 8))}
	for range 50 {
		f.Add([]byte(g.objectSchema(3).JSON()), uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		n, err := tree.Parse(schema)
		if err != nil || check.CheckSchema(schema, nil) != nil {
			return
		}
		if _, depth := n.Size(); depth > rewrite.MaxDepth {
			return
		}
		for _, d := range []*rewrite.Dialect{&rewrite.Anthropic, &rewrite.OpenAI, &rewrite.OpenAIStrict, &rewrite.Gemini, &rewrite.Ollama} {
			if r, err := rewrite.New(schema, nil, d.Name); err == nil && r.Apply(d.Input()) == nil && !json.Valid(r.Root.JSON()) {
				t.Fatalf("%s wrote %s", d.Name, r.Root.JSON())
			}
			if d != &rewrite.OpenAIStrict {
				tryInstances(t, d, schema, &generator{rand: rand.New(rand.NewPCG(seed, 0))})
			}
		}
	})
}

// rounds returns how many rounds a random test makes: many if MCPBRIDGE_LONG is set, else few.
func rounds(t testing.TB, few, many int) int {
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		return many
	}
	t.Logf("MCPBRIDGE_LONG is not set: %d rounds of %d", few, many)
	return few
}
