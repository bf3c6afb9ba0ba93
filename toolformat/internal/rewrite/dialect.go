package rewrite

import "slices"

// A Dialect is what a format takes of JSON Schema: the passes that make a schema fit. The
// zero value takes every schema as it is.
type Dialect struct {
	Name      string // the provider, as notes call it
	Opening   []Pass // for the arguments of a tool and for its structured result
	Root      []Pass // for the arguments alone, whose schema is an object's
	Schema    []Pass // for both
	Arguments []Pass // for the arguments alone
}

// Input are the passes for the arguments of a tool, in order. Each finds what those before
// it leave: for a provider the schema is of 2020-12 after the first one, and an object at
// its root after "root".
func (d *Dialect) Input() []Pass { return slices.Concat(d.Opening, d.Root, d.Schema, d.Arguments) }

// Output are the passes for a tool's structured result, where the format has a place for
// it.
func (d *Dialect) Output() []Pass { return slices.Concat(d.Opening, d.Schema) }

// What the dialects of providers begin with. Some take references, but for those that
// name a place by its path; the others need what is referred to in its place.
var (
	keptReferences = []Pass{{"draft", UpgradeDraft}, {"nullable", FoldNullable}, {"path-reference", inlinePathReferences}, {"title", dropTitles}}
	noReferences   = []Pass{{"draft", UpgradeDraft}, {"nullable", FoldNullable}, {"reference", inlineReferences}, {"title", dropTitles}}
	plainRoot      = []Pass{{"root", ObjectRoot}, {"root-combinator", foldRootCombinators}}
)

// The dialects.
var (
	// Anthropic validates against 2020-12 and refuses combinators at the root, odd
	// top-level keys, and references that are no definitions.
	Anthropic = Dialect{
		Name:      "Anthropic",
		Opening:   keptReferences,
		Root:      plainRoot,
		Arguments: []Pass{{"key", renameKeys(anthropicKey, topLevelKeys)}},
	}

	// OpenAI without strict mode, for Chat Completions and Responses: every object needs
	// properties and every array items.
	OpenAI = Dialect{
		Name:      "OpenAI",
		Opening:   keptReferences,
		Root:      plainRoot,
		Arguments: []Pass{{"properties", addProperties}, {"items", addItems}},
	}

	// OpenAI's strict mode: every property required, no others, and few keywords. It is
	// for arguments.
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

	// Gemini's parametersJsonSchema: a subset, with references to definitions in name
	// only, so that they are put in.
	Gemini = Dialect{
		Name:    "Gemini",
		Opening: noReferences,
		Root:    plainRoot,
		Schema: []Pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"const", constToEnum},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(geminiKeywords)},
		},
		Arguments: []Pass{{"key", renameKeys(geminiKey, allKeys)}},
	}

	// Ollama decodes a schema into a Go struct: what the struct has no field for is
	// lost, what has another type refuses the whole request.
	Ollama = Dialect{
		Name:    "Ollama",
		Opening: noReferences,
		Root:    plainRoot,
		Schema: []Pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"const", constToEnum},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(ollamaKeywords)},
		},
	}
)
