package openai

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// What is sent is appended to a slice of bytes: what comes from elsewhere (schemas, raw
// items) stands there as it is. Whether a comma is due is seen from the last byte, since a
// value never ends in an opening bracket.

// member appends the beginning of a member.
func member(b []byte, name string) []byte {
	return append(wire.AppendString(element(b), name), ':')
}

// element makes room for an element of an array.
func element(b []byte) []byte {
	if last := b[len(b)-1]; last == '{' || last == '[' {
		return b
	}
	return append(b, ',')
}

// textMember appends a member that is a string.
func textMember(b []byte, name, value string) []byte {
	return wire.AppendString(member(b, name), value)
}

// numberMember appends a member that is a number.
func numberMember(b []byte, name string, value float64) []byte {
	return strconv.AppendFloat(member(b, name), value, 'f', -1, 64)
}

// rawMember appends a member that is JSON already.
func rawMember[T ~string | ~[]byte](b []byte, name string, value T) []byte {
	return append(member(b, name), value...)
}

// numberAt is the whole number at a path of an object; 0 when there is none, and for a
// negative one.
func numberAt(object []byte, path ...string) int {
	return max(index(wire.Lookup(object, path...)), 0)
}

// index is a whole number; -1 for anything else, and for a negative one.
func index(raw []byte) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return -1
	}
	return max(n, -1)
}

// textAt is the string at a path of an object; "" when there is none.
func textAt(object []byte, path ...string) string { return textOf(wire.Lookup(object, path...)) }

// textOf is a JSON string; "" for anything else.
func textOf(raw []byte) string {
	s, _ := wire.Text(raw)
	return s
}

// isNull reports whether a member is not there, or nothing.
func isNull(value []byte) bool { return len(value) == 0 || string(value) == "null" }
