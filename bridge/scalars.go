package bridge

import (
	"bytes"
	"iter"
)

// scalars iterates over where the strings, numbers and literals in a value begin and end, at any
// depth, keys included. The value must have been validated. Unlike a walk with wire.Members it
// passes each byte once, however deep the value is.
func scalars(raw []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for i := 0; i < len(raw); {
			if bytes.IndexByte([]byte("{}[],: \t\r\n"), raw[i]) >= 0 {
				i++
				continue
			}
			end := scalarEnd(raw, i)
			if !yield(i, end) {
				return
			}
			i = end
		}
	}
}

// scalarEnd returns the end of the scalar at i.
func scalarEnd(raw []byte, i int) int {
	if raw[i] != '"' {
		n := bytes.IndexAny(raw[i:], "}], \t\r\n")
		if n < 0 {
			return len(raw)
		}
		return i + max(n, 1)
	}
	for from := i + 1; ; {
		n := bytes.IndexByte(raw[from:], '"')
		if n < 0 {
			return len(raw)
		}
		before := raw[from : from+n]
		from += n + 1
		if escapes := len(before) - len(bytes.TrimRight(before, `\`)); escapes%2 == 0 { // else the quote is escaped
			return from
		}
	}
}

// keysIn iterates over the keys of all objects in a value, at any depth, as they are written.
func keysIn(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for start, end := range scalars(raw) {
			isKey := bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":"))
			if isKey && raw[start] == '"' && !yield(raw[start:end]) {
				return
			}
		}
	}
}
