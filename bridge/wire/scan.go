package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of objects and arrays in a message, the outermost counted.
const MaxDepth = 512

// The faults of a text that is not JSON. The scanning functions return a fault, or "".
const (
	faultValue    = "a value expected"
	faultKey      = "a key expected"
	faultColon    = "a colon expected"
	faultNext     = "a comma or a closing bracket expected"
	faultDepth    = "nested too deeply"
	faultString   = "an unterminated string"
	faultControl  = "a control character in a string"
	faultUTF8     = "invalid UTF-8 in a string"
	faultEscape   = "an invalid escape in a string"
	faultNumber   = "an invalid number"
	faultTrailing = "data after the end"
)

// Valid checks that raw is one JSON value by the rules of [Split], and overwrites the line breaks
// between tokens with spaces. The error is an [*Error] with the code [ParseError].
func Valid(raw []byte) error {
	i, fault := value(raw, space(raw, 0), 0)
	return verdict(raw, i, fault)
}

// verdict returns the error of a scan that ended at i: its fault, or that there is data after i.
func verdict(b []byte, i int, fault string) error {
	if fault == "" {
		if i = space(b, i); i == len(b) {
			return nil
		}
		fault = faultTrailing
	}
	switch {
	case i >= len(b) || !strings.HasSuffix(fault, "expected"):
	case b[i] == 0:
		fault += " instead of NUL (is it UTF-16?)"
	case bytes.HasPrefix(b[i:], []byte("\xff\xfe")), bytes.HasPrefix(b[i:], []byte("\xfe\xff")):
		fault += " instead of the byte order mark of UTF-16 (UTF-8 is needed)"
	}
	return notJSON(fault, i)
}

// The functions below scan a token that begins at i. They return its end, or the place of a fault
// and the fault.

// value scans any value, inside depth containers.
func value(b []byte, i, depth int) (int, string) {
	switch at(b, i) {
	case '{', '[':
		return container(b, i, depth)
	default:
		return scalar(b, i)
	}
}

// container scans an object or an array with a loop and one bit a level, so that nesting costs no
// stack.
func container(b []byte, i, depth int) (int, string) {
	var objects [MaxDepth/64 + 1]uint64 // bit d: the container at depth d is an object
	var object, isKey bool              // the innermost container is one; the next string is its key
	var fault string
	base := depth
	for {
		switch c := at(b, i); {
		case c == '"':
			i, fault = str(b, i)
		case isKey:
			return i, faultKey
		case digit(c):
			i, fault = number(b, i)
		case c == '{' || c == '[':
			if depth == MaxDepth {
				return i, faultDepth
			}
			i = skip(b, i+1)
			object = c == '{'
			objects[depth/64] &^= 1 << (depth % 64)
			if object {
				objects[depth/64] |= 1 << (depth % 64)
			}
			depth++
			if at(b, i) != c+2 { // in ASCII a closing bracket is its opening one plus two
				isKey = object
				continue
			}
		default:
			i, fault = scalar(b, i)
		}
		if fault != "" {
			return i, fault
		}
		if isKey {
			if i = skip(b, i); at(b, i) != ':' {
				return i, faultColon
			}
			i, isKey = skip(b, i+1), false
			continue
		}
		// A value has ended, or the container is empty: close containers up to the next value.
		for {
			i = skip(b, i)
			if c := at(b, i); c == ',' {
				i, isKey = skip(b, i+1), object
				break
			} else if object && c != '}' || !object && c != ']' {
				return i, faultNext
			}
			i++
			if depth--; depth == base {
				return i, ""
			}
			object = objects[(depth-1)/64]>>((depth-1)%64)&1 == 1
		}
	}
}

func colon(b []byte, i int) (int, string) {
	if i = skip(b, i); at(b, i) != ':' {
		return i, faultColon
	}
	return skip(b, i+1), ""
}

func scalar(b []byte, i int) (int, string) {
	switch c := at(b, i); {
	case c == '"':
		return str(b, i)
	case c == '-' || digit(c):
		return number(b, i)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	}
	return i, faultValue
}

func literal(b []byte, i int, word string) (int, string) {
	if end := i + len(word); end <= len(b) && string(b[i:end]) == word {
		return end, ""
	}
	return i, faultValue
}

func number(b []byte, i int) (int, string) {
	if b[i] == '-' {
		i++
	}
	if at(b, i) == '0' {
		i++
	} else if next := digits(b, i); next > i {
		i = next
	} else {
		return i, faultNumber
	}
	if at(b, i) == '.' {
		next := digits(b, i+1)
		if next == i+1 {
			return next, faultNumber
		}
		i = next
	}
	if at(b, i)|0x20 == 'e' {
		i++
		if c := at(b, i); c == '+' || c == '-' {
			i++
		}
		next := digits(b, i)
		if next == i {
			return i, faultNumber
		}
		i = next
	}
	return i, ""
}

func digits(b []byte, i int) int {
	for i < len(b) && digit(b[i]) {
		i++
	}
	return i
}

// str scans a string, from its opening quote past its closing one.
func str(b []byte, i int) (int, string) {
	var fault string
	for i++; i < len(b); {
		for end := i + 16; i < end && i+8 <= len(b); { // most end here
			n := bits.TrailingZeros64(special(binary.LittleEndian.Uint64(b[i:]))) / 8
			if i += n; n < 8 {
				break
			}
		}
		if i == len(b) {
			break
		}
		if b[i] == '"' {
			return i + 1, ""
		}
		if i, fault = character(b, i); fault == "" {
			i, fault = blocks(b, i)
		}
		if fault != "" {
			return i, fault
		}
	}
	return i, faultString
}

// blocks scans a string from i on, in blocks of 64 bytes, up to its closing quote or the last bytes of b.
func blocks(b []byte, i int) (int, string) {
	var fault string
	for i+64 <= len(b) {
		stop := stops((*[64]byte)(b[i:]))
		if stop == 0 {
			i = plain(b, i+64)
			continue
		}
		next := 64
		for ; stop != 0; stop = stop >> next << next {
			at := i + bits.TrailingZeros64(stop)
			if b[at] == '"' {
				return at, ""
			}
			if b[at] == '\\' && at+1 < len(b) && escapes[b[at+1]] { // a call costs more
				at += 2
			} else if at, fault = character(b, at); fault != "" {
				return at, fault
			}
			next = at - i // beyond 64, which clears all bits, if a character does not end in the block
		}
		i += max(next, 64)
	}
	return i, ""
}

// escapes has the characters that with a backslash before them are an escape sequence.
var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// character scans one character or more of a string, and not its closing quote.
func character(b []byte, i int) (int, string) {
	switch c := b[i]; {
	case c == '\\':
		n := escape(b[i:])
		if n == 0 {
			return i, faultEscape
		}
		return i + n, ""
	case c < ' ':
		return i, faultControl
	case c < utf8.RuneSelf:
		return i + 1, ""
	}
	end, valid := runes(b, i)
	if !valid {
		return end, faultUTF8
	}
	return end, ""
}

// runes skips the characters from i on that are not ASCII; ok is false where they are not UTF-8.
func runes(b []byte, i int) (_ int, ok bool) {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		// Those of two and three bytes, which are most; after 0xe0 and 0xed not all are valid.
		if c := b[i]; c > 0xe0 && c < 0xf0 && c != 0xed && i+3 <= len(b) && b[i+1]&0xc0 == 0x80 && b[i+2]&0xc0 == 0x80 {
			i += 3
			continue
		} else if c > 0xc1 && c < 0xe0 && i+2 <= len(b) && b[i+1]&0xc0 == 0x80 {
			i += 2
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i, false
		}
		i += n
	}
	return i, true
}

// special sets the high bit of each byte of w that the scan of a string stops at: quotes,
// backslashes, controls and bytes beyond ASCII. A borrow may set bits above, so only the lowest one
// counts.
func special(w uint64) uint64 {
	const each = 0x0101010101010101
	// Flipping bit 1 moves the quote (0x22) next to the controls, and permutes those.
	return (((w ^ 0x02*each) - 0x21*each) | ((w ^ '\\'*each) - each) | w) & (0x80 * each)
}

// escape returns the length of the escape sequence that s begins with, 0 for an invalid one.
func escape(s []byte) int {
	switch c := at(s, 1); {
	case escapes[c]:
		return 2
	case c == 'u':
		if _, ok := hex4(s[2:]); ok {
			return 6
		}
	}
	return 0
}

// skip is space, short enough to be inlined where white space is rare.
func skip(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i
	}
	return space(b, i)
}

// space skips white space and blanks its line breaks.
func space(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch b[i] {
		case ' ', '\t':
		case '\n', '\r':
			b[i] = ' '
		default:
			return i
		}
	}
	return i
}

// at returns b[i], or after the end 0, which no JSON token contains.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func digit(c byte) bool { return c-'0' < 10 }
