package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// ollamaFormat is a tool of Ollama's /api/chat (ollama api/types.go, Tool). It has the shape of Chat
// Completions, and is read as that if its format is not named. Names have no rule. Its struct for the
// root of a schema has no description, so that one is added to the tool's own.
var ollamaFormat = format{
	name:              FormatOllama,
	match:             matchOllama,
	write:             writeOpenAI,
	inner:             "function",
	input:             []string{"parameters"},
	ignored:           map[string]string{"type": `"function"`, "strict": "false"},
	needsValidSchema:  true,
	noRootDescription: true,
	dialect:           rewrite.Ollama,
}

func matchOllama(def *tree.Node) match { return min(matchOpenAI(def), mayMatch) }
