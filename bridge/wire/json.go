package wire

import (
	"bytes"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

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
		if mayHave(object, name) {
			for key, value := range Members(object) {
				if key == name {
					found = value
				}
			}
		}
		object = found
	}
	return object
}

// mayHave reports whether an object may have a member with a name: its bytes have the end of the name, from its
// capital letter on, which texts have rarely, or something that may be an escaped spelling of it. It is many times
// faster than Members.
func mayHave(object []byte, name string) bool {
	end := name
	for i, c := range []byte(name) {
		if 'A' <= c && c <= 'Z' && len(end) == len(name) {
			end = name[i:]
		}
		if c < ' ' || c == '"' || c == '\\' || c == '/' || c >= utf8.RuneSelf { // \u is not the only way to escape it
			return true
		}
	}
	return bytes.Contains(object, []byte(end)) || bytes.IndexByte(object, '\\') >= 0 && bytes.Contains(object, []byte(`\u`))
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

// SetMember returns a copy of an object in which the member key has the raw value: it replaces the
// last member of that key, or becomes the first member. All other bytes stay. Another value than an
// object counts as an empty one: PHP writes that as []. It must have been validated.
func SetMember(object []byte, key string, value []byte) []byte {
	if at(object, gap(object, 0)) != '{' {
		object = []byte("{}")
	}
	dst := make([]byte, 0, len(object)+len(key)+len(value)+8)
	var old span
	c := open(object, '{')
	for c.next() {
		if unquote(c.key) == key {
			old = c.span
		}
	}
	if old.end > 0 {
		dst = append(append(dst, object[:old.value]...), value...)
		return append(dst, object[old.end:]...)
	}
	first := gap(object, 0) + 1 // after the brace
	dst = AppendString(append(dst, object[:first]...), key)
	dst = append(append(dst, ':'), value...)
	if at(object, gap(object, first)) != '}' {
		dst = append(dst, ',')
	}
	return append(dst, object[first:]...)
}

// FirstMember returns where the first member of an object begins, 0 for an empty one. The object
// must have been validated.
func FirstMember(object []byte) int {
	i := gap(object, gap(object, 0)+1)
	if at(object, i) != '"' {
		return 0
	}
	return i
}

// CutMember returns a copy of an object without the members of a key. Another value than an object
// counts as an empty one. It must have been validated.
func CutMember(object []byte, key string) []byte {
	dst := append(make([]byte, 0, len(object)), '{')
	for c := open(object, '{'); c.next(); {
		if unquote(c.key) == key {
			continue
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), c.key...), `":`...)
		dst = append(dst, c.span.of(object)...)
	}
	return append(dst, '}')
}

// Text decodes a raw JSON string that has been validated; ok is false when raw is anything else.
func Text(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw[1 : len(raw)-1]), true
}

// unquote decodes the text between quotes. Half a surrogate pair becomes U+FFFD, as in
// encoding/json.
func unquote(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return string(s)
	}
	dst := make([]byte, 0, len(s))
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			return string(append(dst, s...))
		}
		dst = append(dst, s[:n]...)
		dst, s = appendUnescaped(dst, s[n:])
	}
}

// appendUnescaped appends the character of the escape sequence that s begins with and returns the
// rest of s.
func appendUnescaped(dst, s []byte) (_, rest []byte) {
	c := s[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, ok := hex4(s[2:])
		if !ok {
			return append(dst, s[:2]...), s[2:]
		}
		s = s[6:]
		if utf16.IsSurrogate(r) && len(s) > 1 && s[0] == '\\' && s[1] == 'u' {
			if low, ok := hex4(s[2:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
				r, s = utf16.DecodeRune(r, low), s[6:]
			}
		}
		return utf8.AppendRune(dst, r), s
	}
	return append(dst, c), s[2:]
}

// hex4 reads the four hexadecimal digits that s begins with.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 4 {
		return 0, false
	}
	for _, c := range s[:4] {
		switch {
		case digit(c):
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// spells reports whether raw is the JSON string s.
func spells(raw []byte, s string) bool {
	if len(raw) == len(s)+2 {
		return string(raw[1:len(raw)-1]) == s && raw[0] == '"'
	}
	t, ok := Text(raw)
	return ok && t == s
}
