package wire

import "iter"

// Elements iterates over the raw elements of an array; over nothing for another value. Like
// [Members] and [Lookup] it is for JSON that has been validated: what it makes of other bytes is
// undefined. They do not write to their argument.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for c := open(array, '['); c.next(); {
			if !yield(c.span.of(array)) {
				return
			}
		}
	}
}

// Members iterates over the decoded keys and raw values of an object, duplicates included; over
// nothing for another value.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for c := open(object, '{'); c.next(); {
			if !yield(unquote(c.key), c.span.of(object)) {
				return
			}
		}
	}
}

// Lookup returns the raw value at a path of keys in nested objects; nil when absent. The last of
// duplicate keys counts, as in decoders.
func Lookup(object []byte, path ...string) []byte {
	for _, name := range path {
		var found []byte
		for key, value := range Members(object) {
			if key == name {
				found = value
			}
		}
		object = found
	}
	return object
}

// A cursor steps through a container that the scanner has checked.
type cursor struct {
	b      []byte
	i      int
	object bool
	key    []byte // of the current member, between the quotes
	span   span   // of the current member or element
}

// open returns a cursor before the first part of the container b, which begins with bracket. For
// other bytes it has no parts.
func open(b []byte, bracket byte) cursor {
	i := gap(b, 0)
	if at(b, i) != bracket {
		return cursor{}
	}
	return cursor{b: b, i: i + 1, object: bracket == '{'}
}

func (c *cursor) next() bool {
	start := gap(c.b, c.i)
	from := start
	if c.object {
		if at(c.b, start) != '"' {
			return false
		}
		end := past(c.b, start)
		if end < start+2 {
			return false
		}
		c.key = c.b[start+1 : end-1]
		from = gap(c.b, end)
	}
	if next := at(c.b, from); next == 0 || next == ']' || next == '}' {
		return false
	}
	c.i = past(c.b, from)
	c.span = span{int32(start), int32(from), int32(c.i)}
	return true
}

// past returns the end of the value at i. Valid JSON needs no more than a count of its brackets.
func past(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			end, fault := str(b, i)
			if fault != "" {
				return len(b)
			}
			i = end
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			for i++; i < len(b) && !delimits(b[i]); i++ {
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// gap skips the white space, commas and colons between two parts of a container.
func gap(b []byte, i int) int {
	for i < len(b) && (b[i] <= ' ' || b[i] == ',' || b[i] == ':') {
		i++
	}
	return i
}

func delimits(c byte) bool {
	return c <= ' ' || c == ',' || c == ':' || c == ']' || c == '}' || c == '[' || c == '{' || c == '"'
}

const whiteSpace = " \t\r\n"
