package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// openaiFormat is a function of OpenAI's Chat Completions (openai-go
// ChatCompletionFunctionToolParam). strict is written only for strict mode, since its absence means
// false. The functions of old requests, and those that Acorn's configurations name, are the inner
// object alone; they are read too.
var openaiFormat = format{
	name:    FormatOpenAI,
	match:   matchOpenAI,
	write:   writeOpenAI,
	inner:   "function",
	input:   []string{"parameters"},
	ignored: map[string]string{"type": `"function"`, "strict": "false"},
	// The SDK's comment on the name; "string too long … 64": 5ire#403, mastra#6302.
	names:            openaiNames,
	needsValidSchema: true,
	dialect:          rewrite.OpenAI,
	strict:           rewrite.OpenAIStrict,
}

var openaiNames = nameRule{first: letters + digits + "_-", rest: letters + digits + "_-", max: 64, pattern: "[a-zA-Z0-9_-]{1,64}"}

func matchOpenAI(def *tree.Node) match {
	bare := def.Has("parameters") && !def.Has("type")
	switch {
	case isAcorn(def):
		return noMatch
	case def.Get("function").Is(tree.Object):
		return isMatch
	case isBare(def), bare && matchGemini(def) == isMatch:
		return mayMatch
	case bare:
		return isMatch
	}
	return noMatch
}

func writeOpenAI(d *definition, function fields) fields {
	if d.strict {
		function = append(function, field{key: "strict", val: []byte("true")})
	}
	return fields{{key: "type", val: text("function"), fallback: true}, {key: "function", in: function}}
}
