package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// ollamaFormat is a tool of Ollama's /api/chat (ollama api/types.go, Tool). It has the
// shape of Chat Completions, which is what such a definition is taken for when its
// format is not named. Names have no rule. Its struct for the root of a schema has no
// description, so that one goes to the tool's own.
var ollamaFormat = format{
	name:    FormatOllama,
	match:   matchOllama,
	write:   writeOllama,
	inner:   "function",
	input:   []string{"parameters"},
	idle:    map[string]string{"type": `"function"`, "strict": "false"},
	open:    "[",
	shut:    "]",
	checked: true,
	mute:    true,
	dialect: rewrite.Ollama,
}

func writeOllama(d *definition) fields {
	return fields{{key: "type", val: text("function"), weak: true}, {key: "function", in: fields{
		{key: "name", val: text(d.name)},
		{key: "description", val: text(d.description)},
		{key: "parameters", val: d.input},
	}}}
}

func matchOllama(def *tree.Node) match { return min(matchOpenAI(def), mayMatch) }
