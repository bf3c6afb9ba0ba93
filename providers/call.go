package providers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// CallIDs gives the calls of a turn ids that no other call of their conversation has.
type CallIDs struct {
	messages, calls int
	taken           map[string]bool
}

// NewCallIDs knows the ids of the calls in a request's messages.
func NewCallIDs(req *Request) *CallIDs {
	ids := &CallIDs{messages: len(req.Messages), taken: map[string]bool{}}
	for i := range req.Messages {
		for _, call := range req.Messages[i].Calls() {
			ids.taken[call.ID] = true
		}
	}
	return ids
}

// Next is the id of the turn's next call: the provider's own, or one that is made of the
// number of the request's messages and of the call's place, where that is "" or taken.
func (c *CallIDs) Next(own string) string {
	id := own
	for n := c.calls; id == "" || c.taken[id]; n++ {
		id = "call_" + strconv.Itoa(c.messages) + "_" + strconv.Itoa(n)
	}
	c.calls++
	c.taken[id] = true
	return id
}

// Arguments are those of a call where an API has them as a text: nothing is {}, and what is
// no JSON becomes a JSON string.
func Arguments(text string) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return wire.AppendString(nil, text)
}

// Object is a call's arguments for an API that takes nothing but an object. One that is
// written in a string is that one; what else is none stands in one, under the key that
// Anthropic proposes for it (fine-grained tool streaming, "Handling invalid JSON").
func (c *Call) Object() json.RawMessage {
	args := bytes.TrimSpace(c.Arguments)
	switch {
	case len(args) == 0 || string(args) == "null":
		return json.RawMessage("{}")
	case args[0] == '{':
		return args
	}
	if text, ok := wire.Text(args); ok && strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return append(append([]byte(`{"INVALID_JSON":`), args...), '}')
}
