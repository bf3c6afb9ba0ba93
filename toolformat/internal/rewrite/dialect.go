package rewrite

import "slices"

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

// The dialects.
var (
	// Anthropic validates against 2020-12 and refuses combinators at the root, odd top-level
	// keys, and references to anything but definitions.
	Anthropic = Dialect{
		Name:      "Anthropic",
		Opening:   keptReferences,
		Root:      plainRoot,
		Arguments: []Pass{{"key", renameKeys(anthropicKey, topLevelKeys)}},
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

	// Ollama decodes a schema into a Go struct: a keyword without a field is lost, a value of
	// another type than the field's refuses the whole request.
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
