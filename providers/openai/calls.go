package openai

import (
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A caller makes the calls of one turn.
type caller struct {
	ids    *providers.CallIDs
	tools  *providers.ToolSet
	format toolformat.Format
}

func newCaller(req *providers.Request, format toolformat.Format) caller {
	return caller{providers.NewCallIDs(req), req.Tools, format}
}

// call returns a call of the tool that the model named.
func (c *caller) call(id, name, arguments string) *providers.Call {
	return &providers.Call{ID: id, Name: c.tools.OwnName(c.format, name), Arguments: providers.Arguments(arguments)}
}

// argumentsText returns arguments as both APIs take them: an object in a string, whatever the
// model wrote. vLLM, llama.cpp and Ollama parse those of all calls in a conversation and
// refuse a conversation with invalid JSON.
func argumentsText(arguments json.RawMessage) string {
	return string((&providers.Call{Arguments: arguments}).Object())
}

// An inner is a call in the arguments of another one.
type inner struct{ name, arguments string }

// unwrap returns the calls in a call of multi_tool_use.parallel, nil for any other call. Some
// models are trained with this tool and call it without being offered it:
// {"tool_uses":[{"recipient_name":"functions.x","parameters":{…}}]}.
func (c *caller) unwrap(name, arguments string) []inner {
	if name != "parallel" && name != "multi_tool_use.parallel" && name != "multi_tool_use_parallel" {
		return nil
	}
	if _, real := c.tools.Encoded(c.format).Find(name); real || !json.Valid([]byte(arguments)) {
		return nil
	}
	var all []inner
	for use := range wire.Elements(wire.Lookup([]byte(arguments), "tool_uses")) {
		recipient, ok := wire.Text(wire.Lookup(use, "recipient_name"))
		if !ok {
			return nil
		}
		parameters := string(wire.Lookup(use, "parameters"))
		all = append(all, inner{strings.TrimPrefix(recipient, "functions."), string(providers.Arguments(parameters))})
	}
	return all
}
