package prompted

import "github.com/mcpbridge/mcpbridge/bridge/wire"

// brackets tracks the open brackets and strings of a value that is still being written, from
// one scan to the next. The value is JSON or a literal of Python, whose strings may be in
// single quotes; strings may have line breaks.
type brackets struct {
	offset  int    // the bytes scanned so far
	open    []byte // the closing brackets of those that are open, innermost last
	quote   byte   // that closes the open string; 0 outside of strings
	escaped bool
	done    bool // the value ends at offset
}

// An extent is how much of a value is there.
type extent uint8

const (
	incomplete extent = iota
	complete
	invalid // the byte at offset cannot be part of a value
)

// scan scans more of the value: w is what it was given before, and more. A value begins with
// a bracket.
func (b *brackets) scan(w []byte) extent {
	for ; b.offset < len(w) && !b.done; b.offset++ {
		c := w[b.offset]
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
			b.open = append(b.open, c+2)
		case c == '(':
			b.open = append(b.open, ')')
		case c == '}', c == ']', c == ')':
			if len(b.open) == 0 || b.open[len(b.open)-1] != c {
				return invalid
			}
			b.open = b.open[:len(b.open)-1]
			b.done = len(b.open) == 0
			continue
		case !outsideStrings(c):
			return invalid
		}
		if len(b.open) == 0 || len(b.open) > wire.MaxDepth {
			return invalid
		}
	}
	if b.done {
		return complete
	}
	return incomplete
}

// outsideStrings reports whether a byte may stand outside strings: in a number, a word, white
// space, or between two values.
func outsideStrings(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '=', '+', '-', '.', '_':
		return true
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// closed returns the value with its open brackets closed.
func (b *brackets) closed(w []byte) []byte {
	whole := append(make([]byte, 0, b.offset+len(b.open)), w[:b.offset]...)
	for i := len(b.open) - 1; i >= 0; i-- {
		whole = append(whole, b.open[i])
	}
	return whole
}
