package toolformat

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// anthropicFormat is a custom tool of Anthropic's Messages API (tools in platform.claude.com/docs,
// Messages; anthropic-sdk-go ToolParam). type "custom" is the default. There is no place for the
// schema of the result.
var anthropicFormat = format{
	name:    FormatAnthropic,
	match:   matchAnthropic,
	input:   []string{"input_schema"},
	ignored: map[string]string{"type": `"custom"`, "strict": "false", "defer_loading": "false"},
	// The API takes 128 characters (claude-code#96152), its documentation and the
	// tool_reference block of tool search only 64 (claude-code#20830, #16425, #23149).
	names:            nameRule{first: letters + digits + "_-", rest: letters + digits + "_-", max: 64, pattern: "[a-zA-Z0-9_-]{1,64}"},
	needsValidSchema: true,
	dialect:          rewrite.Anthropic,
}

// matchAnthropic comes after matchInternal, which takes what follows the rules of that format.
func matchAnthropic(def *tree.Node) match {
	if def.Has("input_schema") {
		return isMatch
	}
	return noMatch
}
