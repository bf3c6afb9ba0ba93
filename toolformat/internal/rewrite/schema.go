package rewrite

import (
	"fmt"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// The bounds of a schema. A hostile server can write a few hundred bytes whose references expand
// to billions of values; no honest tool comes near these.
const (
	MaxDepth = 100
	MaxNodes = 100_000
)

// A Schema is taken through the passes of a dialect, which change Root in place.
type Schema struct {
	Root  *tree.Node
	Notes []wording.Note
	Keys  *KeyMap // how to undo renamed keys in arguments; nil if none was renamed
	Err   error   // why the schema cannot be expressed; no further pass runs

	dialect string     // the provider, as notes call it: "OpenAI"
	base    *tree.Path // place of the schema in the definition
	rule    string     // rule of the running pass
	budget  int        // cost of the copies that may still be added: see costOf
}

// A Pass is one step of a dialect.
type Pass struct {
	Rule string // name in notes: one stable word
	Run  func(*Schema)
}

// An Error says why a schema cannot be expressed.
type Error struct {
	At   *tree.Path
	Text string
}

func (e *Error) Error() string { return wording.Note{Path: e.At.String(), Text: e.Text}.String() }

// New parses a schema that stands at base in its definition, for a dialect.
func New(schema []byte, base *tree.Path, dialect string) (*Schema, error) {
	root, err := tree.Parse(schema)
	if err != nil {
		return nil, err
	}
	if err := CheckSize(root); err != nil {
		return nil, &Error{base, err.Error()}
	}
	count, _ := root.Size()
	return &Schema{Root: root, base: base, dialect: dialect, budget: MaxNodes - count}, nil
}

// Of returns a Schema of a root that CheckSize accepts.
func Of(root *tree.Node, dialect string) *Schema {
	return &Schema{Root: root, dialect: dialect, budget: MaxNodes}
}

// CheckSize returns an error for a schema that is too large or too deep.
func CheckSize(root *tree.Node) error {
	switch count, depth := root.Size(); {
	case depth > MaxDepth:
		return fmt.Errorf("nested deeper than %d levels", MaxDepth)
	case count > MaxNodes:
		return fmt.Errorf("more than %d values", MaxNodes)
	}
	return nil
}

// Apply runs passes in order, up to one that finds that the schema cannot be expressed.
func (r *Schema) Apply(passes []Pass) error {
	for _, p := range passes {
		r.rule = p.Rule
		if p.Run(r); r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// note adds what the pass did at a place.
func (r *Schema) note(at *tree.Path, format string, args ...any) {
	r.Notes = append(r.Notes, wording.Note{Path: at.String(), Rule: r.rule, Text: fmt.Sprintf(format, args...)})
}

// fail records why the schema cannot be expressed; the first reason counts.
func (r *Schema) fail(at *tree.Path, format string, args ...any) {
	if r.Err == nil {
		r.Err = &Error{at, fmt.Sprintf(format, args...)}
	}
}

// each visits every schema of the root: see [vocabulary.EachSchema].
func (r *Schema) each(visit func(s *tree.Node, at *tree.Path)) {
	vocabulary.EachSchema(r.Root, r.base, visit)
}

// bytesPerNode is how many bytes of text cost as much as one value, so that a bound on the cost
// bounds bytes too.
const bytesPerNode = 64

// costOf returns the cost of a copy, in values and text.
func costOf(n *tree.Node) (cost int) {
	vocabulary.AnyValue(n, func(n *tree.Node) bool {
		cost += 1 + len(n.Raw)/bytesPerNode
		for _, m := range n.Members {
			cost += len(m.Key) / bytesPerNode
		}
		return false
	})
	return cost
}

// reserve takes the cost of a copy from the budget; false means that it is not left.
func (r *Schema) reserve(n *tree.Node) bool {
	cost := costOf(n)
	if cost > r.budget {
		return false
	}
	r.budget -= cost
	return true
}

// A Dialect says what a format takes of JSON Schema: the passes that make a schema fit. The zero
// Dialect takes every schema as it is.
type Dialect struct {
	Name      string // the provider, as notes call it
	Opening   []Pass // run first, on the arguments of a tool and on its structured result
	Root      []Pass // run on the arguments, whose schema is that of an object
	Schema    []Pass // run on both
	Arguments []Pass // run last, on the arguments
}

// Input returns the passes for the arguments of a tool. Each relies on those before it: for a
// provider the schema is of 2020-12 after "draft", and an object after "root".
func (d *Dialect) Input() []Pass { return slices.Concat(d.Opening, d.Root, d.Schema, d.Arguments) }

// Output returns the passes for the structured result of a tool.
func (d *Dialect) Output() []Pass { return slices.Concat(d.Opening, d.Schema) }

// The openings of providers: some take references to definitions, the others none.
var (
	keptReferences = []Pass{{"draft", UpgradeDraft}, {"nullable", FoldNullable}, {"path-reference", inlinePathReferences}, {"title", dropTitles}}
	noReferences   = []Pass{{"draft", UpgradeDraft}, {"nullable", FoldNullable}, {"reference", inlineReferences}, {"title", dropTitles}}
	plainRoot      = []Pass{{"root", ObjectRoot}, {"root-combinator", foldRootCombinators}}
)

// withoutCombinators returns the passes for a provider that knows few keywords.
func withoutCombinators(set keywordSet) []Pass {
	return []Pass{{"all-of", mergeAllOf}, {"one-of", oneOfToAnyOf}, {"const", constToEnum}, {"boolean", dropBooleans}, {"keyword", describeKeywords(set)}}
}

// The dialects.
var (
	// Anthropic validates against 2020-12 and refuses combinators at the root, odd top-level
	// keys, and references to anything but definitions.
	Anthropic = Dialect{
		Name:      "Anthropic",
		Opening:   keptReferences,
		Root:      plainRoot,
		Arguments: []Pass{{"key", renameKeys(anthropicKey)}},
	}

	// AnthropicAnswer is for output_config.format, the schema of an answer: closed objects, and few
	// keywords (platform.claude.com/docs, "Structured outputs").
	AnthropicAnswer = Dialect{
		Name:    "Anthropic",
		Opening: keptReferences,
		Schema:  []Pass{{"all-of", mergeAllOf}, {"one-of", oneOfToAnyOf}, {"keyword", describeKeywords(anthropicAnswerKeywords)}, {"closed", closeObjects}},
	}

	// OpenAI is for Chat Completions and Responses without strict mode: every object needs
	// properties and every array items.
	OpenAI = Dialect{
		Name:      "OpenAI",
		Opening:   keptReferences,
		Root:      plainRoot,
		Arguments: []Pass{{"properties", addProperties}, {"items", addItems}},
	}

	// OpenAIStrict is OpenAI's strict mode, for arguments: every property required, no others,
	// and few keywords.
	OpenAIStrict = Dialect{
		Name:    "OpenAI strict",
		Opening: keptReferences,
		Root:    plainRoot,
		Arguments: []Pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(openaiStrictKeywords)},
			{"strict", requireEverything},
		},
	}

	// Gemini is for parametersJsonSchema: a subset of JSON Schema. References are documented
	// and do not work, so that they are replaced.
	Gemini = Dialect{
		Name:      "Gemini",
		Opening:   noReferences,
		Root:      plainRoot,
		Schema:    withoutCombinators(geminiKeywords),
		Arguments: []Pass{{"key", renameKeys(geminiKey)}},
	}

	// Ollama decodes a schema into a Go struct: a keyword without a field is lost, a value of
	// another type than the field's refuses the whole request.
	Ollama = Dialect{
		Name:    "Ollama",
		Opening: noReferences,
		Root:    plainRoot,
		Schema:  withoutCombinators(ollamaKeywords),
	}
)
