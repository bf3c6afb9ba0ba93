package toolformat

// A dialect is what a provider takes of JSON Schema: the passes that make a schema fit,
// in order. A nil dialect takes every schema as it is.
type dialect struct {
	name   string // the provider, as notes call it
	input  []pass // for the arguments of a tool
	output []pass // for its structured result, where the format has a place for it
}

// The dialects. Each pass finds what those before it leave: the schema is of 2020-12
// after the first one, and an object at its root after "root".
var (
	// Anthropic validates against 2020-12 and refuses combinators at the root, odd
	// top-level keys, and references that are no definitions.
	anthropicDialect = dialect{name: "Anthropic", input: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"path-reference", inlinePathReferences},
		{"title", dropTitles},
		{"root", objectRoot},
		{"root-combinator", foldRootCombinators},
		{"key", renameKeys(anthropicKey, topLevelKeys)},
	}}

	// OpenAI without strict mode, for Chat Completions and Responses: every object needs
	// properties and every array items.
	openaiDialect = dialect{name: "OpenAI", input: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"path-reference", inlinePathReferences},
		{"title", dropTitles},
		{"root", objectRoot},
		{"root-combinator", foldRootCombinators},
		{"properties", addProperties},
		{"items", addItems},
	}, output: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"path-reference", inlinePathReferences},
		{"title", dropTitles},
	}}

	// OpenAI's strict mode: every property required, no others, and few keywords.
	openaiStrictDialect = dialect{name: "OpenAI strict", input: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"path-reference", inlinePathReferences},
		{"title", dropTitles},
		{"root", objectRoot},
		{"root-combinator", foldRootCombinators},
		{"all-of", mergeAllOf},
		{"one-of", oneOfToAnyOf},
		{"boolean", dropBooleans},
		{"keyword", describeKeywords(openaiStrictKeywords)},
		{"strict", requireEverything},
	}, output: openaiDialect.output}

	// Gemini's parametersJsonSchema: a subset, with references to definitions in name
	// only, so that they are put in.
	geminiDialect = dialect{name: "Gemini", input: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"reference", inlineReferences},
		{"title", dropTitles},
		{"root", objectRoot},
		{"root-combinator", foldRootCombinators},
		{"all-of", mergeAllOf},
		{"one-of", oneOfToAnyOf},
		{"const", constToEnum},
		{"boolean", dropBooleans},
		{"keyword", describeKeywords(geminiKeywords)},
		{"key", renameKeys(geminiKey, allKeys)},
	}, output: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"reference", inlineReferences},
		{"title", dropTitles},
		{"all-of", mergeAllOf},
		{"one-of", oneOfToAnyOf},
		{"const", constToEnum},
		{"boolean", dropBooleans},
		{"keyword", describeKeywords(geminiKeywords)},
	}}

	// Ollama decodes a schema into a Go struct: what the struct has no field for is
	// lost, what has another type refuses the whole request.
	ollamaDialect = dialect{name: "Ollama", input: []pass{
		{"draft", upgradeDraft},
		{"nullable", foldNullable},
		{"reference", inlineReferences},
		{"title", dropTitles},
		{"root", objectRoot},
		{"root-combinator", foldRootCombinators},
		{"all-of", mergeAllOf},
		{"one-of", oneOfToAnyOf},
		{"const", constToEnum},
		{"boolean", dropBooleans},
		{"keyword", describeKeywords(ollamaKeywords)},
	}}
)
