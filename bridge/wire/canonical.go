package wire

import (
	"bytes"
	"slices"
)

// maxRereads bounds how often the bytes of a value are read on average: those of a value are read
// again at each level above it.
const maxRereads = 100

// AppendCanonical appends a valid JSON value in the spelling of all that mean the same: with sorted members, without
// space, and with texts escaped in one way. It is to be compared, not read. Members that stand twice count twice. Numbers stay as they are written: 1 and 1.0 are equal, but not every reader
// takes them for the same. A value that is nested too deeply is appended as it is.
func AppendCanonical(dst, raw []byte) []byte {
	a := canonical{left: maxRereads * len(raw)}
	own := a.value(slices.Grow(dst, len(raw)+fewMembers), raw)
	if a.left < 0 {
		return append(own[:len(dst)], raw...)
	}
	return own
}

// fewMembers are as many as most objects have at most.
const fewMembers = 8

type canonical struct {
	left int // bytes that may yet be read
}

func (a *canonical) value(b, raw []byte) []byte {
	if a.left -= len(raw); a.left < 0 {
		return b
	}
	switch raw[0] {
	case '{':
		return a.object(b, raw)
	case '[':
		b = append(b, '[')
		for element := range Elements(raw) {
			b = append(a.value(b, element), ',')
		}
		return append(b, ']')
	case '"':
		if bytes.IndexByte(raw, '\\') < 0 { // there is one way to write it
			return append(b, raw...)
		}
		text, _ := Text(raw)
		return AppendString(b, text)
	}
	return append(b, raw...)
}

func (a *canonical) object(b, raw []byte) []byte {
	type member struct {
		key, value []byte
	}
	all := make([]member, 0, fewMembers) // on the stack
	for c := open(raw, '{'); c.next(); {
		key := c.key
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(unquote(key))
		}
		all = append(all, member{key, c.span.of(raw)})
	}
	slices.SortStableFunc(all, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	b = append(b, '{')
	for _, m := range all {
		b = append(AppendString(b, m.key), ':')
		b = append(a.value(b, m.value), ',')
	}
	return append(b, '}')
}
