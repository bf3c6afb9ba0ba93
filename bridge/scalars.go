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
	for end := i + 1; ; {
		n := bytes.IndexByte(raw[end:], '"')
		if n < 0 {
			return len(raw)
		}
		end += n + 1
		before := end - 2
		for raw[before] == '\\' {
			before--
		}
		if (end-before)%2 == 0 { // else the quote is escaped
			return end
		}
	}
}

// keysIn iterates over the keys of all objects in a value, at any depth, as they are written. The value must
// have been validated. It passes each byte once, and looks at strings only.
func keysIn(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for end := 0; ; {
			n := bytes.IndexByte(raw[end:], '"')
			if n < 0 {
				return
			}
			start := end + n
			end = scalarEnd(raw, start)
			next := end
			for next < len(raw) && raw[next] <= ' ' {
				next++
			}
			if next < len(raw) && raw[next] == ':' && !yield(raw[start:end]) {
				return
			}
		}
	}
}
