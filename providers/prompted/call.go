package prompted

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call is a call in a text.
type call struct {
	name      string          // the tool's own
	arguments json.RawMessage // what the model wrote, as JSON
}

// The members of a call, as named by Hermes, Llama and OpenAI, Anthropic, Cohere, ReAct, and
// small models.
var (
	nameKeys     = []string{"name", "function", "tool_name", "tool", "action"}
	argumentKeys = []string{
		"arguments", "parameters", "args", "input", "params", "kwargs",
		"tool_input", "tool_args", "tool_arguments", "tool_parameters", "action_input",
	}
	otherKeys = []string{"id", "type", "index", "tool_call_id", "call_id"}
)

// callsKey is the member with calls in an object like a message of OpenAI.
const callsKey = "tool_calls"

// calls returns the calls in JSON, or almost JSON. It returns none if one of them has no name
// or, if strict, names no tool or has no arguments. readable reports whether there is a value at
// all.
func (s *scanner) calls(value []byte, strict bool) (all []call, readable bool) {
	raw, ok := toJSON(value)
	if !ok {
		all, ok = s.pythonCalls(value, strict)
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
	if inner := wire.Lookup(object, "function"); isObject(inner) {
		object = inner
	}
	var word string
	var others []string // the keys of members that a call does not have
	unclear := false    // there are two names, or arguments twice
	for key, value := range wire.Members(object) {
		text, isText := wire.Text(value)
		switch {
		case isText && slices.Contains(nameKeys, key):
			unclear = unclear || word != "" && word != text
			word = text
		case slices.Contains(argumentKeys, key):
			unclear = unclear || c.arguments != nil
			c.arguments = value
		case !slices.Contains(otherKeys, key):
			others = append(others, key)
		}
	}
	var known bool
	if word == "" && !strict && len(others) == 1 && c.arguments == nil && isObject(wire.Lookup(object, others[0])) { // Apertus
		word, c.arguments, others = others[0], wire.Lookup(object, others[0]), nil
	}
	c.name, known = s.resolve(word)
	switch {
	case strict && unclear:
		return call{}, false
	case known && unclear:
		c.arguments = wire.AppendString(nil, object)
		return c, true
	case known && !strict:
	case known && c.arguments != nil && others == nil && !isSchema(c.arguments):
	case !known && !strict && s.mayName(word):
		c.name, others = word, nil
	default:
		return call{}, false
	}
	c.arguments = s.gathered(c, object, others)
	return c, true
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// isSchema reports whether arguments are a schema, which makes the call the definition of a tool.
func isSchema(arguments []byte) bool {
	kind, _ := wire.Text(wire.Lookup(arguments, "type"))
	return kind == "object" && wire.Lookup(arguments, "properties") != nil
}

// gathered returns the arguments of a call, of which other members of its object may be a part.
// If it is not plain whether they are, the arguments are a string, of which the model is told:
// nothing that the model wrote may be lost in silence.
func (s *scanner) gathered(c call, object []byte, others []string) json.RawMessage {
	if len(others) == 0 {
		return arguments(c.arguments)
	}
	properties := s.properties(c.name)
	isProperty := func(key string) bool { return slices.Contains(properties, key) }
	switch {
	case c.arguments != nil && slices.ContainsFunc(others, isProperty):
		return wire.AppendString(nil, object)
	case c.arguments != nil:
		return arguments(c.arguments)
	case slices.ContainsFunc(others, func(key string) bool { return !isProperty(key) }):
		return wire.AppendString(nil, object)
	}
	flat := []byte{'{'}
	for key, value := range wire.Members(object) {
		if slices.Contains(others, key) {
			if len(flat) > 1 {
				flat = append(flat, ',')
			}
			flat = append(append(wire.AppendString(flat, key), ':'), value...)
		}
	}
	return append(flat, '}')
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

// The bounds, in bytes, of what is matched before a call is known.
const (
	maxHead = 1 << 10 // the beginning of JSON
	maxName = 128
	maxGap  = 256 // white space
)

// peekJSON looks at the first keys of JSON, up to the name of a tool, so that other JSON is
// not held back for long. isCall means that it may be a call; name is its tool, if known.
func (s *scanner) peekJSON(w []byte, final bool, f form) (name string, v verdict) {
	if len(w) >= maxHead {
		w, final = w[:maxHead], true
	}
	c := cursor{w: w}
	name, ok := s.peekValue(&c, f)
	switch {
	case ok:
		return name, isCall
	case c.atEnd && !final:
		return "", undecided
	}
	return "", notCall
}

func (s *scanner) peekValue(c *cursor, f form) (name string, ok bool) {
	switch c.byte() {
	case '{':
		return s.peekObject(c, f)
	case '[':
		c.i++
		if next := c.byte(); next == '{' {
			return s.peekObject(c, f)
		}
		word := c.word()
		if c.byte() != '(' {
			return "", false
		}
		name, ok = s.resolve(word)
		return name, ok || word == printWord || !f.strict && s.mayName(word)
	}
	return "", false
}

func (s *scanner) peekObject(c *cursor, f form) (name string, ok bool) {
	c.i++
	for range len(otherKeys) + 1 {
		key := c.key()
		if c.byte() != ':' {
			return "", false
		}
		c.i++
		switch {
		case key == callsKey:
			if c.byte() != '[' {
				return "", false
			}
			return s.peekValue(c, f)
		case key == "function" && c.byte() == '{':
			return s.peekObject(c, f)
		case slices.Contains(nameKeys, key):
			word, isText := c.text()
			if name, ok = s.resolve(word); ok || !isText || f.strict || !s.mayName(word) {
				return name, ok
			}
			return word, true
		case slices.Contains(argumentKeys, key):
			return "", true
		case !slices.Contains(otherKeys, key):
			return "", !f.strict
		}
		c.key() // a string, a number or a word
		if c.byte() != ',' {
			return "", false
		}
		c.i++
	}
	return "", !f.strict
}

// A cursor reads tokens.
type cursor struct {
	w     []byte
	i     int
	atEnd bool // the end of w was reached: with more text the last token may differ
}

// byte skips white space and returns the next byte; 0 at the end.
func (c *cursor) byte() byte {
	c.i += len(c.w[c.i:]) - len(bytes.TrimLeft(c.w[c.i:], whiteSpace))
	if c.i == len(c.w) {
		c.atEnd = true
		return 0
	}
	return c.w[c.i]
}

// word reads a name or a number, which may be "".
func (c *cursor) word() string {
	c.byte()
	n := wordLen(c.w[c.i:])
	c.atEnd = c.atEnd || c.i+n == len(c.w)
	c.i += n
	return string(c.w[c.i-n : c.i])
}

// key reads a key, quoted or not.
func (c *cursor) key() string {
	if text, ok := c.text(); ok {
		return text
	}
	return c.word()
}

// text reads a short string without escapes.
func (c *cursor) text() (string, bool) {
	quote := c.byte()
	if quote != '"' && quote != '\'' {
		return "", false
	}
	rest := c.w[c.i+1:]
	n := bytes.IndexByte(rest, quote)
	if n < 0 || n > maxName {
		c.atEnd = c.atEnd || n < 0 && len(rest) <= maxName
		return "", false
	}
	c.i += n + 2
	return string(rest[:n]), true
}
