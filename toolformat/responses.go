package toolformat

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// responsesFormat is a function of OpenAI's Responses (openai-go FunctionToolParam, v3.95). strict is
// always written: where it is absent the API assumes true and rewrites the schema, as all of 14
// recorded requests show. output_schema is the "JSON value encoded in string outputs" (v3.95), which
// is what MCP's outputSchema is.
var responsesFormat = format{
	name:             FormatOpenAIResponses,
	match:            matchResponses,
	write:            writeResponses,
	input:            []string{"parameters"},
	output:           []string{"output_schema"},
	ignored:          map[string]string{"type": `"function"`, "strict": "false", "defer_loading": "false"},
	names:            openaiNames,
	needsValidSchema: true,
	dialect:          rewrite.OpenAI,
	strict:           rewrite.OpenAIStrict,
}

func matchResponses(def *tree.Node) match {
	switch {
	case def.Get("function").Is(tree.Object):
		return noMatch
	case def.Get("type").Text() == "function":
		return isMatch
	case isBare(def), !def.Has("type") && def.Has("parameters"):
		return mayMatch
	}
	return noMatch
}

func writeResponses(d *definition, function fields) fields {
	function = slices.Insert(function, 0, field{key: "type", val: text("function"), fallback: true})
	return slices.Insert(function, 4, field{key: "strict", val: []byte(strconv.FormatBool(d.strict)), fallback: !d.strict})
}
