package providers

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// CallIDs gives the calls of a turn ids that are unique in their conversation.
type CallIDs struct {
	messages, calls int
	taken           map[string]bool
}

// NewCallIDs returns ids other than those of the calls in a request's messages.
func NewCallIDs(req *Request) *CallIDs {
	ids := &CallIDs{messages: len(req.Messages), taken: map[string]bool{}}
	for i := range req.Messages {
		for _, call := range req.Messages[i].Calls() {
			ids.taken[call.ID] = true
		}
	}
	return ids
}

// Next returns the id of the turn's next call: the provider's own, or if that is "" or taken,
// one made of the number of messages in the request and of the call's index.
func (c *CallIDs) Next(own string) string {
	id := own
	for n := c.calls; id == "" || c.taken[id]; n++ {
		id = "call_" + strconv.Itoa(c.messages) + "_" + strconv.Itoa(n)
	}
	c.calls++
	c.taken[id] = true
	return id
}

// Arguments returns the arguments of a call from the text that an API has for them: {} for
// none, and a JSON string for invalid JSON.
func Arguments(text string) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return wire.AppendString(nil, text)
}

// Object returns a call's arguments for an API that takes only an object. An object in a
// string is unquoted; any other value is wrapped in an object, under the key that Anthropic
// proposes for it (fine-grained tool streaming, "Handling invalid JSON").
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
