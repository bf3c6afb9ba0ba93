// Package rawjson writes and reads JSON as the providers need it: bodies are appended to a
// slice of bytes, so that what comes from elsewhere (schemas, raw items) stays unchanged, and
// members are looked up without decoding the rest. Its functions share no state.
//
// Whether a comma is due follows from the last byte: a value never ends in an opening bracket.
package rawjson

import (
	"bytes"
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Member appends the name of a member.
func Member(b []byte, name string) []byte {
	return append(wire.AppendString(Element(b), name), ':')
}

// Element appends a comma, unless an element or member is the first.
func Element(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

// Behind returns what add appends to b. It writes nothing behind b, which others may append to.
func Behind(b []byte, add func([]byte) []byte) []byte {
	last := bytes.Clone(b[len(b)-1:]) // all that Element looks at
	return add(last)[1:]
}

// Text appends a member that is a string.
func Text(b []byte, name, value string) []byte {
	return wire.AppendString(Member(b, name), value)
}

// Number appends a member that is a number.
func Number(b []byte, name string, value float64) []byte {
	return strconv.AppendFloat(Member(b, name), value, 'f', -1, 64)
}

// Raw appends a member whose value, or the beginning of it, is JSON already.
func Raw[T ~string | ~[]byte](b []byte, name string, value T) []byte {
	return append(Member(b, name), value...)
}

// Quote returns the JSON string of the bytes between its quotes. Such bytes of several
// strings can be joined, with no loss of an escape sequence that spans two of them.
func Quote(inner []byte) []byte {
	b := make([]byte, 0, len(inner)+2)
	return append(append(append(b, '"'), inner...), '"')
}

// Array returns the array of values.
func Array(values [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// NumberAt returns the natural number at a path of an object; 0 for anything else.
func NumberAt(object []byte, path ...string) int {
	return max(Index(wire.Lookup(object, path...)), 0)
}

// Index returns a natural number; -1 for anything else.
func Index(raw []byte) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return -1
	}
	return max(n, -1)
}

// TextAt returns the string at a path of an object; "" for anything else.
func TextAt(object []byte, path ...string) string { return TextOf(wire.Lookup(object, path...)) }

// TextOf returns the value of a JSON string; "" for anything else.
func TextOf(raw []byte) string {
	s, _ := wire.Text(raw)
	return s
}

// Written returns the arguments of a call as the model has written them: those that are not JSON are a JSON string.
func Written(arguments []byte) string {
	if text, isText := wire.Text(arguments); isText && wire.Valid([]byte(text)) != nil {
		return text
	}
	return string(arguments)
}

// Override returns an object, or an empty one for anything else, with those members of another
// object that are not null.
func Override(object, members []byte) []byte {
	object = Object(object)
	for key, value := range wire.Members(members) {
		if string(value) != "null" {
			object = wire.SetMember(object, key, value)
		}
	}
	return object
}

// Strings returns the array of strings.
func Strings(values []string) []byte {
	all := make([][]byte, len(values))
	for i, value := range values {
		all[i] = wire.AppendString(nil, value)
	}
	return Array(all)
}

// Object returns an object, or an empty one for anything else.
func Object(raw []byte) []byte {
	if !IsObject(raw) {
		return []byte("{}")
	}
	return raw
}

// IsNull reports whether a member is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// IsObject reports whether a value is an object.
func IsObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}
