package toolformat

import "slices"

// A dialect is what a format takes of JSON Schema: the passes that make a schema fit. The
// zero value takes every schema as it is.
type dialect struct {
	name      string // the provider, as notes call it
	opening   []pass // for the arguments of a tool and for its structured result
	root      []pass // for the arguments alone, whose schema is an object's
	schema    []pass // for both
	arguments []pass // for the arguments alone
}

// input are the passes for the arguments of a tool, in order. Each finds what those before
// it leave: for a provider the schema is of 2020-12 after the first one, and an object at
// its root after "root".
func (d *dialect) input() []pass { return slices.Concat(d.opening, d.root, d.schema, d.arguments) }

// output are the passes for a tool's structured result, where the format has a place for
// it.
func (d *dialect) output() []pass { return slices.Concat(d.opening, d.schema) }

// What the dialects of providers begin with. Some take references, but for those that
// name a place by its path; the others need what is referred to in its place.
var (
	keptReferences = []pass{{"draft", upgradeDraft}, {"nullable", foldNullable}, {"path-reference", inlinePathReferences}, {"title", dropTitles}}
	noReferences   = []pass{{"draft", upgradeDraft}, {"nullable", foldNullable}, {"reference", inlineReferences}, {"title", dropTitles}}
	plainRoot      = []pass{{"root", objectRoot}, {"root-combinator", foldRootCombinators}}
)

// The dialects.
var (
	// Anthropic validates against 2020-12 and refuses combinators at the root, odd
	// top-level keys, and references that are no definitions.
	anthropicDialect = dialect{
		name:      "Anthropic",
		opening:   keptReferences,
		root:      plainRoot,
		arguments: []pass{{"key", renameKeys(anthropicKey, topLevelKeys)}},
	}

	// OpenAI without strict mode, for Chat Completions and Responses: every object needs
	// properties and every array items.
	openaiDialect = dialect{
		name:      "OpenAI",
		opening:   keptReferences,
		root:      plainRoot,
		arguments: []pass{{"properties", addProperties}, {"items", addItems}},
	}

	// OpenAI's strict mode: every property required, no others, and few keywords. It is
	// for arguments.
	openaiStrictDialect = dialect{
		name:    "OpenAI strict",
		opening: keptReferences,
		root:    plainRoot,
		arguments: []pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(openaiStrictKeywords)},
			{"strict", requireEverything},
		},
	}

	// Gemini's parametersJsonSchema: a subset, with references to definitions in name
	// only, so that they are put in.
	geminiDialect = dialect{
		name:    "Gemini",
		opening: noReferences,
		root:    plainRoot,
		schema: []pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"const", constToEnum},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(geminiKeywords)},
		},
		arguments: []pass{{"key", renameKeys(geminiKey, allKeys)}},
	}

	// Ollama decodes a schema into a Go struct: what the struct has no field for is
	// lost, what has another type refuses the whole request.
	ollamaDialect = dialect{
		name:    "Ollama",
		opening: noReferences,
		root:    plainRoot,
		schema: []pass{
			{"all-of", mergeAllOf},
			{"one-of", oneOfToAnyOf},
			{"const", constToEnum},
			{"boolean", dropBooleans},
			{"keyword", describeKeywords(ollamaKeywords)},
		},
	}
)
