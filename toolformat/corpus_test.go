package toolformat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/check"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// TestCorpusSchemas verifies that every real schema is valid and checked completely.
func TestCorpusSchemas(t *testing.T) {
	n := 0
	for _, tool := range corpusTools(t) {
		for _, schema := range []json.RawMessage{tool.InputSchema, tool.OutputSchema} {
			if schema == nil {
				continue
			}
			n++
			if notes := check.CheckSchema(schema, nil); notes != nil {
				t.Errorf("%s: %v", tool.Name, notes)
			}
			if _, notes, err := NewChecker(schema); err != nil || notes != nil {
				t.Errorf("%s: %v %v", tool.Name, notes, err)
			}
		}
	}
	if n < 400 {
		t.Errorf("only %d schemas", n)
	}
}

func BenchmarkCheckSchema(b *testing.B) {
	tools := corpusTools(b)
	for i := 0; b.Loop(); {
		if i = (i + 1) % len(tools); tools[i].InputSchema != nil {
			check.CheckSchema(tools[i].InputSchema, nil)
		}
	}
}

// TestCorpus verifies that every real tool is converted to every format, follows its rules, and is
// written the same twice.
func TestCorpus(t *testing.T) {
	tools := corpusTools(t)
	for _, format := range Formats() {
		set, err := Encode(tools, format, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range set.Faults {
			t.Errorf("%s: %v", format, f.Notes)
		}
		again, err := Encode(tools, format, Options{})
		if err != nil || !bytes.Equal(set.JSON(), again.JSON()) {
			t.Errorf("%s: two runs differ (%v)", format, err)
		}
		rules := map[string]int{}
		for _, c := range set.Tools {
			seen := map[string]bool{}
			for _, n := range c.Notes {
				if !seen[n.Rule] {
					rules[n.Rule]++
				}
				seen[n.Rule] = true
			}
			for _, broken := range brokenRules(format, &c) {
				t.Errorf("%s: %s: %s", format, c.Tool.Name, broken)
			}
		}
		t.Logf("%s: %d tools, %d bytes, by rule %v", format, len(set.Tools), len(set.JSON()), rules)
	}
}

// brokenRules returns the rules of a provider that a definition breaks, written without the code
// that applies them (from the issues named in internal/rewrite/schema.go).
func brokenRules(format Format, c *Converted) []string {
	n, err := tree.Parse(c.JSON)
	if err != nil {
		return []string{err.Error()}
	}
	var broken []string
	var schema *tree.Node
	switch format {
	case FormatAnthropic:
		schema = n.Get("input_schema")
	case FormatOpenAI, FormatOllama:
		schema = n.Get("function").Get("parameters")
	case FormatOpenAIResponses:
		schema = n.Get("parameters")
	case FormatGemini:
		schema = n.Get("parametersJsonSchema")
	default:
		return nil
	}
	if schema.Get("type").Text() != "object" {
		broken = append(broken, "the root is no object")
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if schema.Get(key) != nil {
			broken = append(broken, key+" at the root")
		}
	}
	if format != FormatOllama && (len(c.Name) > 64 || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:") != "") {
		broken = append(broken, "the name "+c.Name)
	}
	vocabulary.EachSchema(schema, nil, func(s *tree.Node, at *tree.Path) {
		complain := func(what string) { broken = append(broken, at.String()+": "+what) }
		if format == FormatOllama && s.Is(tree.Bool) && !strings.HasSuffix(at.String(), "additionalProperties") {
			complain("a boolean schema")
		}
		openai := format == FormatOpenAI || format == FormatOpenAIResponses
		if openai && s.Get("type").Text() == "array" && s.Get("items") == nil {
			complain("an array without items")
		}
		if openai && s.Get("type").Text() == "object" && s.Get("properties") == nil {
			complain("an object without properties")
		}
		if ref := s.Get("$ref"); ref != nil && (format == FormatGemini || format == FormatOllama || !strings.HasPrefix(ref.Text(), "#/$defs/") && ref.Text() != "#") {
			complain("the reference " + ref.Text())
		}
		if s.Get("items").Is(tree.Array) || s.Get("exclusiveMinimum").Is(tree.Bool) || s.Get("required").Is(tree.Bool) || s.Get("definitions") != nil {
			complain("a form of an old draft")
		}
	})
	return broken
}

// corpusTools returns the real tools, with their source in the name.
func corpusTools(t testing.TB) []Tool {
	t.Helper()
	dir := os.Getenv("MCPBRIDGE_CORPUS")
	if dir == "" {
		t.Skip("MCPBRIDGE_CORPUS is not set: the corpus of real tools is not there")
	}
	f, err := os.Open(filepath.Join(dir, "mcp-tools", "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var tools []Tool
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var d struct {
			Src, Name, Description    string
			InputSchema, OutputSchema json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, Tool{Name: d.Src + "__" + d.Name, Description: d.Description, InputSchema: d.InputSchema, OutputSchema: d.OutputSchema})
	}
	return tools
}

// corpusSchemas returns the schema of every n-th real tool; none without the corpus.
func corpusSchemas(t *testing.T, every int) []json.RawMessage {
	if os.Getenv("MCPBRIDGE_CORPUS") == "" {
		t.Log("MCPBRIDGE_CORPUS is not set: made-up schemas only")
		return nil
	}
	var schemas []json.RawMessage
	for i, tool := range corpusTools(t) {
		if tool.InputSchema != nil && i%every == 0 {
			schemas = append(schemas, tool.InputSchema)
		}
	}
	return schemas
}

func BenchmarkCorpus(b *testing.B) {
	tools := corpusTools(b)
	for _, format := range Formats() {
		b.Run(string(format), func(b *testing.B) {
			for b.Loop() {
				if _, err := Encode(tools, format, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
