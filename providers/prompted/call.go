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
		name, ok = s.toolNamed(word)
		return name, ok || word == printWord
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
			if word, isText := c.text(); isText {
				return s.known(word)
			}
			return "", false
		case slices.Contains(argumentKeys, key):
			return "", true
		case !slices.Contains(otherKeys, key):
			return "", !f.strict
		}
		if _, isText := c.text(); !isText {
			c.word()
		}
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
