package scan

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// text is a JSON value as it is read: without hidden characters, and with escapes undone but for that of the
// quote, so that quotes are where texts begin and end.
type text struct {
	plain  []byte
	jumps  []jump // where plain does not go on as the value does, in order
	hidden []span // in the value
}

// jump says which place of the value, raw, belongs to a place of plain, and to those after it until the next jump.
type jump struct{ plain, raw int }

type span struct{ from, to int }

// special has the bytes that may begin an escape, or a character that is hidden.
var special = [256]bool{'\\': true, 0x7f: true, 0xc2: true, 0xcd: true, 0xd8: true, 0xe1: true, 0xe2: true, 0xe3: true, 0xef: true, 0xf3: true}

// read reads valid JSON.
func read(raw []byte) text {
	t := text{plain: raw}
	copied := 0
	for i := 0; i < len(raw); {
		if !special[raw[i]] {
			i++
			continue
		}
		c, size := character(raw[i:])
		before := raw[:i]
		if i == copied {
			before = t.plain[:len(t.plain)*min(1, len(t.jumps))] // none at the beginning
		}
		hidden := isHidden(c, before, raw[i+size:])
		if !hidden && raw[i] != '\\' {
			i += size
			continue
		}
		if copied == 0 && len(t.jumps) == 0 {
			t.plain = make([]byte, 0, len(raw))
		}
		t.plain = append(t.plain, raw[copied:i]...)
		if hidden {
			t.hidden = append(t.hidden, span{i, i + size})
		} else {
			t.plain = utf8.AppendRune(t.plain, c)
		}
		i += size
		copied = i
		t.jumps = append(t.jumps, jump{len(t.plain), i})
	}
	if len(t.jumps) > 0 {
		t.plain = append(t.plain, raw[copied:]...)
	}
	return t
}

// at returns the place in the value of a place in plain.
func (t *text) at(plain int) int {
	i, found := slices.BinarySearchFunc(t.jumps, plain, func(j jump, p int) int { return j.plain - p })
	for found && i+1 < len(t.jumps) && t.jumps[i+1].plain == plain { // the last of those that stand at one place
		i++
	}
	if !found {
		i--
	}
	if i < 0 {
		return plain
	}
	return t.jumps[i].raw + plain - t.jumps[i].plain
}

// quoted stands for a quote in a text.
const quoted = 0

// character returns the character that b begins with, and its length.
func character(b []byte) (c rune, size int) {
	if b[0] != '\\' || len(b) < 2 {
		return utf8.DecodeRune(b)
	}
	switch b[1] {
	case 'u':
	case '"':
		return quoted, 2
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 2
	default:
		return rune(b[1]), 2
	}
	switch c = hex(b[2:]); c {
	case '"':
		return quoted, 6
	case '\n', '\r', '\t', '\b', '\f':
		return ' ', 6
	case quoted: // is a control character like those after it
		return 1, 6
	}
	if utf16.IsSurrogate(c) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if pair := utf16.DecodeRune(c, hex(b[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return c, min(6, len(b))
}

// hex reads four digits.
func hex(b []byte) (c rune) {
	for _, digit := range b[:min(4, len(b))] {
		switch {
		case digit <= '9':
			digit -= '0'
		default:
			digit = digit | 0x20 - 'a' + 10
		}
		c = c<<4 | rune(digit)
	}
	return c
}

// isHidden reports whether a character shows nothing, or changes how others are shown. A joiner of emoji and of
// Persian and Indic words is not hidden after a letter that is not ASCII.
func isHidden(c rune, before, after []byte) bool {
	switch {
	case c < 0x20 && c != quoted, c >= 0x7f && c < 0xa0: // control characters; the usual ones are ' ' here
		return true
	case c == 0xad, c == 0x034f, c == 0x061c, c == 0x115f, c == 0x1160, c == 0x17b4, c == 0x17b5, c == 0x180e, c == 0x200b, c == 0xfeff, c == 0x3164, c == 0xffa0:
		return true
	case c == 0xfe0e, c == 0xfe0f: // of emoji, and in keycaps
		last, _ := utf8.DecodeLastRune(before)
		return last == utf8.RuneError || last < utf8.RuneSelf && !isKeycap(after) || last == 0xfe0e || last == 0xfe0f
	case c == 0x200c, c == 0x200d:
		last, _ := utf8.DecodeLastRune(before)
		return last < utf8.RuneSelf || last == utf8.RuneError || last == 0x200c || last == 0x200d
	case c >= 0x200e && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2060 && c <= 0x206f, c >= 0xfff9 && c <= 0xfffb: // bidi controls, invisible operators
		return true
	}
	return c >= 0xfe00 && c <= 0xfe0d || c >= 0xe0000 && c <= 0xe0fff // variation selectors but those of emoji, tags
}

// isKeycap reports whether JSON text goes on with the keycap around the character before it.
func isKeycap(after []byte) bool {
	if len(after) == 0 {
		return false
	}
	c, _ := character(after)
	return c == 0x20e3
}
