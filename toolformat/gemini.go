package toolformat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// geminiFormat is a functionDeclaration of Gemini's generateContent (genai FunctionDeclaration,
// v1.77). Its schemas are JSON Schema in parametersJsonSchema and responseJsonSchema; "parameters" and
// "response", an OpenAPI subset with types in capitals, are read too. A description is required (the
// API's reference of FunctionDeclaration).
var geminiFormat = format{
	name:   FormatGemini,
	match:  matchGemini,
	input:  []string{"parametersJsonSchema", "parameters_json_schema", openAPIParameters},
	output: []string{"responseJsonSchema", "response_json_schema", openAPIResponse},
	prefix: `[{"functionDeclarations":[`,
	suffix: `]}]`,
	// The documentation: "must start with a letter or an underscore", then [a-zA-Z0-9_.:-];
	// 128 in the SDK's comment, 64 in the API's errors (gemini-cli#20987, vscode#246409).
	names:            nameRule{first: letters + "_", rest: letters + digits + "_.:-", max: 64, pattern: "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"},
	needsDescription: true,
	needsValidSchema: true,
	dialect:          rewrite.Gemini,
}

// The members whose schemas are OpenAPI's.
const (
	openAPIParameters = "parameters"
	openAPIResponse   = "response"
)

// matchGemini leaves a definition with parameters alone to OpenAI, unless a type is in capitals.
func matchGemini(def *tree.Node) match {
	if def.Has("type") || def.Has("function") {
		return noMatch
	}
	switch {
	case slices.ContainsFunc([]string{"parametersJsonSchema", "parameters_json_schema", "responseJsonSchema", "response_json_schema", openAPIResponse}, def.Has),
		def.Has(openAPIParameters) && hasCapitalTypes(def.Get(openAPIParameters)):
		return isMatch
	case def.Has(openAPIParameters), isBare(def):
		return mayMatch
	}
	return noMatch
}

// hasCapitalTypes reports whether a schema writes a type as OpenAPI in protocol buffers does:
// "STRING".
func hasCapitalTypes(schema *tree.Node) bool {
	found := false
	vocabulary.EachSchema(schema, nil, func(s *tree.Node, _ *tree.Path) {
		kind := s.Get("type").Text()
		found = found || kind != "" && kind == strings.ToUpper(kind)
	})
	return found
}

// fromOpenAPI returns an OpenAPI schema as JSON Schema, with notes on what had to be changed.
func fromOpenAPI(schema json.RawMessage, at *tree.Path) (json.RawMessage, []Note, error) {
	r, err := rewrite.New(schema, at, "JSON Schema")
	if err != nil {
		return nil, nil, err
	}
	if err := r.Apply([]rewrite.Pass{{Rule: draftRule, Run: rewrite.UpgradeDraft}, {Rule: "nullable", Run: rewrite.FoldNullable}}); err != nil {
		return nil, nil, err
	}
	if len(r.Notes) == 0 {
		return schema, nil, nil
	}
	return r.Root.JSON(), r.Notes, nil
}
