package prompted

import "github.com/mcpbridge/mcpbridge/bridge/wire"

// A balance follows the brackets and the strings of a value that is still being written,
// from where it stood. It is at home in JSON and in Python's literals, whose strings may
// stand in single quotes, and lets strings have line breaks.
type balance struct {
	at      int    // up to where it has looked
	stack   []byte // the brackets that would close what is open, innermost last
	quote   byte   // that closes the string that is open; 0 for none
	escaped bool
	done    bool // the end is at
}

// An extent is what a balance knows of a value's end.
type extent uint8

const (
	unended extent = iota // the end has not come
	ended                 // it is at
	broken                // at is something that no value has
)

// scan looks at what has come of the value, which is all that it was given before and
// more. A value begins with a bracket.
func (b *balance) scan(w []byte) extent {
	for ; b.at < len(w) && !b.done; b.at++ {
		c := w[b.at]
		switch {
		case b.escaped:
			b.escaped = false
		case b.quote != 0:
			if c == b.quote {
				b.quote = 0
			}
			b.escaped = c == '\\'
		case c == '"', c == '\'':
			b.quote = c
		case c == '{', c == '[':
			b.stack = append(b.stack, c+2)
		case c == '(':
			b.stack = append(b.stack, ')')
		case c == '}', c == ']', c == ')':
			if len(b.stack) == 0 || b.stack[len(b.stack)-1] != c {
				return broken
			}
			b.stack = b.stack[:len(b.stack)-1]
			b.done = len(b.stack) == 0
			continue
		case !betweenStrings(c):
			return broken
		}
		if len(b.stack) == 0 || len(b.stack) > wire.MaxDepth {
			return broken
		}
	}
	if b.done {
		return ended
	}
	return unended
}

// betweenStrings reports whether a byte may stand outside strings: in a number, a word,
// white space, or between two values.
func betweenStrings(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '=', '+', '-', '.', '_':
		return true
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// closed is the value with all that is open in it closed.
func (b *balance) closed(w []byte) []byte {
	whole := append(make([]byte, 0, b.at+len(b.stack)), w[:b.at]...)
	for i := len(b.stack) - 1; i >= 0; i-- {
		whole = append(whole, b.stack[i])
	}
	return whole
}
