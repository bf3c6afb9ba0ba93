package graphql

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxDigits bounds the digits of an integer that is written with an exponent.
const maxDigits = 40

// appendVariables appends the object of the declared variables. No error shows a value, which the
// model may not be allowed to see.
func (t *tool) appendVariables(dst []byte, arguments json.RawMessage) ([]byte, error) {
	values := maps.Collect(wire.Members(arguments)) // the last of duplicates counts, as in decoders
	dst = append(dst, '{')
	for _, v := range t.op.variables {
		value, ok := values[v.name]
		if !ok || v.typ.nonNull && isNull(value) { // null is as good as no value
			if v.required() {
				return nil, fmt.Errorf("missing argument: %s, the query's variable $%s: %s", v.name, v.name, &v.typ)
			}
			continue
		}
		var err error
		if dst, err = v.typ.appendValue(native.AppendKey(dst, v.name), value); err != nil {
			return nil, fmt.Errorf("argument %s: %w", v.name, err)
		}
	}
	return append(dst, '}'), nil
}

// appendValue appends a value converted to the type (GraphQL, September 2025, sections 3.5 and
// 3.11). Values of types other than lists and built-in scalars stay as they are.
func (t *typeRef) appendValue(dst, value []byte) ([]byte, error) {
	if isNull(value) {
		if t.nonNull {
			return nil, fmt.Errorf("expected %s, got null", t)
		}
		return append(dst, value...), nil
	}
	if t.item == nil {
		scalar, ok := t.scalar(value)
		if !ok {
			return nil, fmt.Errorf("expected %s, got %s", t, kindOf(value))
		}
		return append(dst, scalar...), nil
	}
	if value[0] != '[' { // a single value becomes a list
		dst, err := t.item.appendValue(append(dst, '['), value)
		return append(dst, ']'), err
	}
	n := 0
	dst = append(dst, '[')
	for item := range wire.Elements(value) {
		n++
		var err error
		if dst, err = t.item.appendValue(native.AppendComma(dst), item); err != nil {
			return nil, fmt.Errorf("item %d: %w", n, err)
		}
	}
	return append(dst, ']'), nil
}

// scalar converts a value to a named type. ok is false if it cannot be one.
func (t *typeRef) scalar(value []byte) (scalar []byte, ok bool) {
	text, isText := wire.Text(value)
	if !isText {
		text = string(value)
	}
	switch t.name {
	case "Int":
		whole, ok := integer(text)
		return []byte(whole), ok && (!isText || whole == text)
	case "Float":
		return []byte(text), native.IsNumber(text)
	case "Boolean":
		return []byte(text), text == "true" || text == "false"
	case "ID":
		if whole, ok := integer(text); ok && !isText {
			text = whole
		}
		return wire.AppendString(nil, text), isText || native.IsNumber(text)
	case "String":
		return wire.AppendString(nil, text), isText || native.IsNumber(text) || text == "true" || text == "false"
	}
	return value, true
}

func isNull(value []byte) bool { return string(value) == "null" }

// integer returns a JSON number without fraction and exponent, with all its digits. ok is false if
// it is not an integer.
func integer(number string) (whole string, ok bool) {
	if !native.IsNumber(number) {
		return "", false
	}
	written := strings.IndexAny(strings.TrimPrefix(number, "-"), ".eE") // digits before the point
	if written < 0 {
		return number, true
	}
	return native.Integer(number, max(maxDigits, written))
}

// kindOf names the JSON type of a value without showing it.
func kindOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}
