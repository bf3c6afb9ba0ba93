package prompted

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call is a call in a text.
type call struct {
	name      string          // the tool's own
	arguments json.RawMessage // what the model wrote, as JSON
}

// The members of a call, as named by Hermes, Llama and OpenAI, Anthropic, and small models.
var (
	nameKeys     = []string{"name", "function", "tool_name", "tool"}
	argumentKeys = []string{"arguments", "parameters", "args", "input"}
	otherKeys    = []string{"id", "type", "index"}
)

// callsKey is the member with calls in an object like a message of OpenAI.
const callsKey = "tool_calls"

// calls returns the calls in JSON, or almost JSON. It returns none if one of them names no
// tool or, if strict, has no arguments. readable reports whether there is a value at all.
func (s *scanner) calls(value []byte, strict bool) (all []call, readable bool) {
	raw, ok := toJSON(value)
	if !ok {
		all, ok = s.pythonCalls(value)
		return all, ok
	}
	if list := wire.Lookup(raw, callsKey); list != nil {
		raw = list
	}
	if raw[0] != '[' {
		if c, ok := s.call(raw, strict); ok {
			all = []call{c}
		}
		return all, true
	}
	for element := range wire.Elements(raw) {
		c, ok := s.call(element, strict)
		if !ok {
			return nil, true
		}
		all = append(all, c)
	}
	return all, true
}

// call returns the call in an object.
func (s *scanner) call(object []byte, strict bool) (c call, ok bool) {
	if inner := wire.Lookup(object, "function"); len(inner) > 0 && inner[0] == '{' {
		object = inner
	}
	for _, key := range nameKeys {
		if name, isText := wire.Text(wire.Lookup(object, key)); isText {
			c.name, ok = s.known(name)
			break
		}
	}
	for _, key := range argumentKeys {
		if c.arguments = wire.Lookup(object, key); c.arguments != nil {
			break
		}
	}
	if !ok || strict && c.arguments == nil {
		return call{}, false
	}
	c.arguments = arguments(c.arguments)
	return c, true
}

// arguments normalizes arguments: none are an empty object, and those in a string are
// unquoted.
func arguments(raw json.RawMessage) json.RawMessage {
	if text, ok := wire.Text(raw); ok {
		inner := bytes.TrimSpace([]byte(text))
		if len(inner) == 0 {
			return json.RawMessage("{}")
		}
		if value, ok := toJSON(inner); ok && value[0] == '{' {
			return value
		}
		return raw
	}
	if raw == nil || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// malformed returns a call whose arguments cannot be parsed: they are a string with what the
// model wrote.
func malformed(name string, source []byte) []call {
	return []call{{name: name, arguments: wire.AppendString(nil, bytes.TrimSpace(source))}}
}
