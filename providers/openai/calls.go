package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A caller makes the calls of one turn of what a model wrote.
type caller struct {
	ids    *providers.CallIDs
	tools  *providers.ToolSet
	format toolformat.Format
}

func newCaller(req *providers.Request, format toolformat.Format) caller {
	return caller{providers.NewCallIDs(req), req.Tools, format}
}

// call is a call of a tool by the name that the model wrote.
func (c *caller) call(id, name, arguments string) *providers.Call {
	return &providers.Call{ID: id, Name: c.tools.OwnName(c.format, name), Arguments: providers.Arguments(arguments)}
}

// argumentsText is how these APIs want arguments: in a string, of an object whatever the
// model wrote. vLLM, llama.cpp and Ollama read those of all calls in a conversation, and
// for one that is no JSON refuse it from then on.
func argumentsText(arguments json.RawMessage) string {
	return string((&providers.Call{Arguments: arguments}).Object())
}

// isObject reports whether JSON is an object.
func isObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}

// An inner is a call that stands in the arguments of another one.
type inner struct{ name, arguments string }

// unwrap are the calls that a model has put into one call of a tool that it was never
// given, multi_tool_use.parallel: some are trained with it and write it at times
// ({"tool_uses":[{"recipient_name":"functions.x","parameters":{…}}]}); nil for any other
// call.
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
