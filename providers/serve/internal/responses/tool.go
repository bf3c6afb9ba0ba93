package responses

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// readTools reads the client's own tools: functions, and custom tools, which take a text and become
// functions with one argument. Tools that the vendor hosts are left out: clients such as Codex send
// them with every request, and no model calls a tool that it does not see.
func (r *request) readTools() error {
	if rawjson.IsNull(r.Tools) {
		return nil
	}
	if r.Tools[0] != '[' {
		return fmt.Errorf("tools: expected an array")
	}
	r.texts = map[string]bool{}
	var functions [][]byte
	at := 0
	for tool := range wire.Elements(r.Tools) {
		switch kind := rawjson.TextAt(tool, "type"); kind {
		case "function":
			functions = append(functions, tool)
		case "custom":
			name := rawjson.TextAt(tool, "name")
			if name == "" {
				return fmt.Errorf("tools[%d].name: expected the name of a tool", at)
			}
			r.texts[name] = true
			functions = append(functions, asFunction(tool))
		case "":
			return fmt.Errorf("tools[%d].type: expected function or custom", at)
		case "mcp":
			return fmt.Errorf("tools[%d]: the servers of the bridge are in its config; no other is opened for a request", at)
		}
		at++
	}
	var err error
	r.set, err = endpoint.ReadTools(rawjson.Array(functions), toolformat.FormatOpenAIResponses)
	return err
}

// asFunction returns the function for a custom tool.
func asFunction(tool []byte) []byte {
	description := rawjson.TextAt(tool, "description")
	if grammar := rawjson.TextAt(tool, "format", "definition"); grammar != "" {
		description += "\n\nThe input follows this " + rawjson.TextAt(tool, "format", "syntax") + " grammar:\n" + grammar
	}
	b := rawjson.Text([]byte(`{"type":"function"`), "name", rawjson.TextAt(tool, "name"))
	b = rawjson.Text(b, "description", description)
	return append(rawjson.Raw(b, "parameters", `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}`), '}')
}

// textArguments returns the arguments of the function for a custom tool.
func textArguments(input string) json.RawMessage {
	return append(rawjson.Text([]byte("{"), "input", input), '}')
}
