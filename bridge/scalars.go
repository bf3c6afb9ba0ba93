package bridge

import (
	"bytes"
	"iter"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
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
	for i++; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(raw))
}

// keysIn iterates over the decoded keys of all objects in a value, at any depth.
func keysIn(raw []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for start, end := range scalars(raw) {
			if !bytes.HasPrefix(bytes.TrimLeft(raw[end:], " \t\r\n"), []byte(":")) {
				continue
			}
			if key, isText := wire.Text(raw[start:end]); isText && !yield(key) {
				return
			}
		}
	}
}
