// Package canonical spells JSON values that mean the same in the same way. canonical.go is all of it.
package canonical

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxRereads bounds how often the bytes of a value are read on average: those of a value are read
// again at each level above it.
const maxRereads = 100

// Append appends a valid JSON value with sorted members, without space, and with texts escaped in one way.
// Members that stand twice count twice. Numbers stay as they are written: 1 and 1.0 are equal, but not every reader
// takes them for the same. A value that is nested too deeply is appended as it is.
func Append(dst, raw []byte) []byte {
	a := appender{left: maxRereads * len(raw)}
	own := a.value(slices.Grow(dst, len(raw)+fewMembers), raw)
	if a.left < 0 {
		return append(own[:len(dst)], raw...)
	}
	return own
}

// fewMembers are as many as most objects have at most.
const fewMembers = 8

type appender struct {
	left int // bytes that may yet be read
}

func (a *appender) value(b, raw []byte) []byte {
	if a.left -= len(raw); a.left < 0 {
		return b
	}
	switch raw[0] {
	case '{':
		return a.object(b, raw)
	case '[':
		b = append(b, '[')
		for element := range wire.Elements(raw) {
			b = append(a.value(b, element), ',')
		}
		return append(b, ']')
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 { // there is one way to write it
			return append(b, raw...)
		}
		text, _ := wire.Text(raw)
		return wire.AppendString(b, text)
	}
	return append(b, raw...)
}

func (a *appender) object(b, raw []byte) []byte {
	type member struct {
		key   string
		value []byte
	}
	all := make([]member, 0, fewMembers) // on the stack
	for key, value := range wire.Members(raw) {
		all = append(all, member{key, value})
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	b = append(b, '{')
	for _, m := range all {
		b = append(wire.AppendString(b, m.key), ':')
		b = append(a.value(b, m.value), ',')
	}
	return append(b, '}')
}
