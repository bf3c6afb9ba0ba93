package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// anthropicFormat is a custom tool of Anthropic's Messages API (tools in
// platform.claude.com/docs, Messages; anthropic-sdk-go ToolParam). type "custom" is the
// default and says nothing. There is no place for a schema of the result.
var anthropicFormat = format{
	name:  FormatAnthropic,
	match: matchAnthropic,
	write: writeAnthropic,
	input: []string{"input_schema"},
	idle:  map[string]string{"type": `"custom"`, "strict": "false", "defer_loading": "false"},
	open:  "[",
	shut:  "]",
	// The API takes 128 characters (claude-code#96152), its documentation and the
	// tool_reference block of tool search only 64 (claude-code#20830, #16425, #23149).
	names:   nameRule{first: letters + digits + "_-", rest: letters + digits + "_-", most: 64, pattern: "[a-zA-Z0-9_-]{1,64}"},
	checked: true,
	dialect: rewrite.Anthropic,
}

// matchAnthropic: what keeps the internal format's rules is taken for internal before.
func matchAnthropic(def *tree.Node) match {
	if def.Has("input_schema") {
		return isMatch
	}
	return noMatch
}

func writeAnthropic(d *definition) fields {
	return fields{
		{key: "name", val: text(d.name)},
		{key: "description", val: text(d.description)},
		{key: "input_schema", val: d.input},
	}
}
