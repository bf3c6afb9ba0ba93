package wire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how many objects and arrays may be nested in a message, the outermost counted.
const MaxDepth = 512

// What can be wrong with a text that is to be JSON. The scanning functions return one of these, or "".
const (
	faultValue    = "a value expected"
	faultKey      = "a key expected"
	faultColon    = "a colon expected"
	faultNext     = "a comma or a closing bracket expected"
	faultDepth    = "nested too deep"
	faultString   = "a string without end"
	faultControl  = "a control character in a string"
	faultUTF8     = "invalid UTF-8 in a string"
	faultEscape   = "an invalid escape in a string"
	faultNumber   = "an invalid number"
	faultTrailing = "something behind the end"
)

// Valid reports whether raw is one well-formed JSON value with nothing but white space around it, by the rules of [Split].
// It overwrites the line breaks between tokens with spaces. The error is an [*Error] with the code [ParseError].
func Valid(raw []byte) error {
	i, fault := value(raw, space(raw, 0), 0)
	return verdict(raw, i, fault)
}

// verdict turns the end of a scan into its error: a fault at i, or something other than white space behind i.
func verdict(b []byte, i int, fault string) error {
	if fault == "" {
		if i = space(b, i); i == len(b) {
			return nil
		}
		fault = faultTrailing
	}
	return notJSON(fault, i)
}

// The functions below scan what begins at i and return where it ends, or a fault and where that is.

// value scans any value; depth containers are around it.
func value(b []byte, i, depth int) (int, string) {
	switch at(b, i) {
	case '{', '[':
		return container(b, i, depth, nil)
	default:
		return scalar(b, i)
	}
}

// container scans an object or an array with a loop and one bit a level, so that no nesting costs stack. Unless q is nil, it
// gets the strings, keys included.
func container(b []byte, i, depth int, q *quoter) (int, string) {
	var objects [MaxDepth/64 + 1]uint64 // bit d: the container with d containers around it is an object
	var fault string
	base := depth
	for {
		switch c := at(b, i); c {
		case '{', '[':
			if depth == MaxDepth {
				return i, faultDepth
			}
			i = skip(b, i+1)
			objects[depth/64] &^= 1 << (depth % 64)
			if c == '{' {
				objects[depth/64] |= 1 << (depth % 64)
			}
			depth++
			if at(b, i) == c+2 { // in ASCII both closing brackets are two behind the opening ones
				break
			}
			if c == '{' {
				if i, fault = key(b, i, q); fault != "" {
					return i, fault
				}
			}
			continue
		case '"':
			if q == nil {
				i, fault = str(b, i)
			} else {
				i, fault = q.str(b, i)
			}
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			i, fault = number(b, i)
		default:
			i, fault = scalar(b, i)
		}
		if fault != "" {
			return i, fault
		}
		// A value has ended here, or the container is empty: close what closes, and on to the next value.
		for {
			i = skip(b, i)
			object := objects[(depth-1)/64]>>((depth-1)%64)&1 == 1
			if c := at(b, i); c == ',' {
				i = skip(b, i+1)
				if object {
					if i, fault = key(b, i, q); fault != "" {
						return i, fault
					}
				}
				break
			} else if object && c != '}' || !object && c != ']' {
				return i, faultNext
			}
			i++
			if depth--; depth == base {
				return i, ""
			}
		}
	}
}

// key scans a key, its colon and the white space around that: up to where the value begins.
func key(b []byte, i int, q *quoter) (_ int, fault string) {
	switch {
	case at(b, i) != '"':
		return i, faultKey
	case q == nil:
		i, fault = str(b, i)
	default:
		i, fault = q.str(b, i)
	}
	if fault != "" {
		return i, fault
	}
	return colon(b, i)
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

// str scans a string, from its opening quote to behind its closing one.
func str(b []byte, i int) (int, string) {
	valid := true
	for i++; i < len(b); {
		if i+8 <= len(b) {
			stop := special(binary.LittleEndian.Uint64(b[i:]))
			if stop == 0 {
				i = plain(b, i+8)
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\' && at(b, i+1) == '"': // JSON in a string is full of them
			i += 2
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return i, faultEscape
			}
			i += n
		case c < ' ':
			return i, faultControl
		case c >= utf8.RuneSelf:
			if i, valid = runes(b, i); !valid {
				return i, faultUTF8
			}
		default:
			i++
		}
	}
	return i, faultString
}

// runes skips the characters from i on that are not ASCII; false, and where, when they are not UTF-8.
func runes(b []byte, i int) (int, bool) {
	for i < len(b) && b[i] >= utf8.RuneSelf {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i, false
		}
		i += n
	}
	return i, true
}

// plain skips the blocks of 32 bytes in which nothing special is.
func plain(b []byte, i int) int {
	for ; i+32 <= len(b); i += 32 {
		w := b[i : i+32]
		if special(binary.LittleEndian.Uint64(w))|special(binary.LittleEndian.Uint64(w[8:]))|
			special(binary.LittleEndian.Uint64(w[16:]))|special(binary.LittleEndian.Uint64(w[24:])) != 0 {
			break
		}
	}
	return i
}

// special marks the high bit of the bytes of w that a string's scan must look at: quotes, backslashes, controls and
// what is not ASCII. A borrow may mark bytes above a marked one, so only the lowest mark is to be trusted.
func special(w uint64) uint64 {
	const each = 0x0101010101010101
	// Flipping bit 1 puts the quote (0x22) right behind the controls and leaves those among themselves.
	return (((w ^ 0x02*each) - 0x21*each) | ((w ^ '\\'*each) - each) | w) & (0x80 * each)
}

// escape returns the length of the escape sequence that s begins with, 0 when it is none.
func escape(s []byte) int {
	switch at(s, 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s[2:]); ok {
			return 6
		}
	}
	return 0
}

// skip is space, short enough to be inlined where mostly no white space is.
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

// at is b[i], or 0 behind the end, which no JSON token contains.
func at(b []byte, i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}

func digit(c byte) bool { return c-'0' < 10 }
