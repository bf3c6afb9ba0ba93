package completions

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// legacy are the members of a request of before OpenAI's API had tools: functions, of which a
// model calls one at a time and whose calls have no ids. They are read as tools.
type legacy struct {
	Functions json.RawMessage `json:"functions"`
	Function  json.RawMessage `json:"function_call"`

	called string // the id made for the last call of a function
}

// legacyCall is the call of a function.
type legacyCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// used reports whether a request has functions.
func (l *legacy) used() bool { return !rawjson.IsNull(l.Functions) }

// asTools sets the tools and the choice of a request that has functions.
func (l *legacy) asTools(r *request) error {
	if !l.used() {
		return nil
	}
	if !rawjson.IsNull(r.Tools) {
		return fmt.Errorf("functions: expected tools or functions, not both")
	}
	var tools [][]byte
	for function := range wire.Elements(l.Functions) {
		tools = append(tools, asTool(function))
	}
	r.Tools = rawjson.Array(tools)
	if r.Choice = l.Function; rawjson.IsObject(l.Function) {
		r.Choice = asTool(l.Function)
	}
	return nil
}

// asTool returns the tool, or the choice of a tool, for that of a function.
func asTool(function []byte) []byte {
	return append(rawjson.Raw([]byte(`{"type":"function"`), "function", function), '}')
}

// call returns the part for the call of a function in the message at an index.
func (l *legacy) call(index int, c *legacyCall) providers.Part {
	l.called = fmt.Sprintf("function_%d", index)
	return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: l.called, Name: c.Name, Arguments: providers.Arguments(c.Arguments)}}
}

// takeCalled returns the id of the call whose result a message of the role function has.
func (l *legacy) takeCalled() (string, error) {
	id := l.called
	if l.called = ""; id == "" {
		return "", fmt.Errorf("role: a message of the role function must follow one of the assistant with function_call")
	}
	return id, nil
}
