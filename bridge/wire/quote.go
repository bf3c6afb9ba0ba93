package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// AppendQuoted appends JSON on one line as a JSON string, for results that repeat JSON as text. It
// validates raw and appends what AppendString would, in about the time of Valid. When raw is not
// valid, or has white space other than blanks, ok is false and dst unchanged. An object or array may
// have any white space behind it, which raw[begin:end] is without.
//
// With a path of keys in nested objects it appends only the object or array there, raw[begin:end].
// Then ok is false also where there is another value or none, where a key of the path occurs twice,
// and for any white space other than blanks.
func AppendQuoted(dst, raw []byte, path ...string) (_ []byte, begin, end int, ok bool) {
	first := blanks(raw, 0)
	isContainer := at(raw, first) == '{' || at(raw, first) == '['
	switch {
	case (len(path) > 0 || !isContainer) && (bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0 || bytes.IndexByte(raw, '\t') >= 0):
		return dst, 0, 0, false
	case len(path) == 0 && !isContainer:
		if Valid(raw) != nil {
			return dst, 0, 0, false
		}
		return AppendString(dst, raw), 0, len(raw), true
	}
	q := partQuoter{b: raw, dst: append(dst, '"')}
	if len(path) == 0 {
		q.dst = append(q.dst, raw[:first]...)
	}
	i, ok := q.value(first, 0, path)
	if !ok || q.end == 0 || len(bytes.TrimLeft(raw[i:], " \t\r\n")) > 0 {
		return dst, 0, 0, false
	}
	if len(path) > 0 {
		return append(q.dst, '"'), q.begin, q.end, true
	}
	quote := len(q.dst)
	dst = AppendString(q.dst, raw[i:])
	return slices.Delete(dst, quote, quote+1), 0, q.end, true
}

// A partQuoter is the state of an AppendQuoted.
type partQuoter struct {
	b, dst     []byte
	begin, end int // of the part
}

// value scans the value at i, inside depth containers, on the way to the rest of the path.
func (q *partQuoter) value(i, depth int, path []string) (_ int, ok bool) {
	c := at(q.b, i)
	if len(path) == 0 && (c == '{' || c == '[') {
		q.begin = i
		q.dst, q.end, ok = quote(q.dst, q.b, i, depth)
		return q.end, ok
	}
	if len(path) == 0 || c != '{' || depth == MaxDepth {
		return i, false
	}
	if i = skip(q.b, i+1); at(q.b, i) == '}' {
		return i + 1, true
	}
	for seen := false; ; i = skip(q.b, i+1) {
		if at(q.b, i) != '"' {
			return i, false
		}
		begin := i
		end, fault := str(q.b, i)
		if fault != "" {
			return end, false
		}
		if i, fault = colon(q.b, end); fault != "" {
			return i, false
		}
		if spells(q.b[begin:end], path[0]) {
			if seen {
				return i, false
			}
			seen = true
			i, ok = q.value(i, depth+1, path[1:])
		} else {
			i, fault = value(q.b, i, depth+1)
			ok = fault == ""
		}
		if !ok {
			return i, false
		}
		switch i = skip(q.b, i); at(q.b, i) {
		case ',':
		case '}':
			return i + 1, true
		default:
			return i, false
		}
	}
}

// quote scans the object or array at i as container does, and appends it with escapes, without quotes
// around it. It writes at the end of each string: the tokens between strings need no escapes.
func quote(dst, b []byte, i, depth int) (_ []byte, end int, ok bool) {
	const spare = 16 // the last words that are written are longer than what is in them
	o := len(dst)
	if room := cap(dst) - o; room < 2*len(b)+spare {
		dst = slices.Grow(dst, len(b)+bytes.Count(b, []byte{'"'})+bytes.Count(b, []byte{'\\'})+spare)
	}
	dst = dst[:cap(dst)]
	done := i // what is before it has been written

	var objects [MaxDepth/64 + 1]uint64 // as in container
	var object bool
	var fault string
	for base := depth; ; {
		switch c := at(b, i); {
		case c == '"':
			if o, i = quoteString(dst, b, o, done, i); i < 0 {
				return nil, 0, false
			}
			done = i
		case digit(c):
			if i, fault = number(b, i); fault != "" {
				return nil, 0, false
			}
		case c == '{' || c == '[':
			if depth == MaxDepth {
				return nil, 0, false
			}
			i = blanks(b, i+1)
			object = c == '{'
			objects[depth/64] &^= 1 << (depth % 64)
			if object {
				objects[depth/64] |= 1 << (depth % 64)
			}
			depth++
			if at(b, i) != c+2 {
				if object {
					goto key
				}
				continue
			}
		default:
			if i, fault = scalar(b, i); fault != "" {
				return nil, 0, false
			}
		}
		for {
			i = blanks(b, i)
			if c := at(b, i); c == ',' {
				i = blanks(b, i+1)
				break
			} else if object && c != '}' || !object && c != ']' {
				return nil, 0, false
			}
			i++
			if depth--; depth == base {
				o += copy(dst[o:], b[done:i])
				return dst[:o], i, true
			}
			object = objects[(depth-1)/64]>>((depth-1)%64)&1 == 1
		}
		if !object {
			continue
		}
	key:
		if at(b, i) != '"' {
			return nil, 0, false
		}
		if o, i = quoteString(dst, b, o, done, i); i < 0 {
			return nil, 0, false
		}
		done = i
		if i = blanks(b, i); at(b, i) != ':' {
			return nil, 0, false
		}
		i = blanks(b, i+1)
	}
}

// blanks skips blanks, and not the white space that a string has escapes for: no token begins with it.
func blanks(b []byte, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i
}

// quoteString writes what is between done and the string at i, and the string. It returns what follows
// in dst and b, or a negative i for what is not a string of JSON. What takes more than a loop over
// words, quoteRest does: this needs few instructions so.
func quoteString(dst, b []byte, o, done, i int) (int, int) {
	n := i - done
	if n > 8 || done+8 > len(b) {
		o += copy(dst[o:], b[done:i])
		dst[o], dst[o+1] = '\\', '"'
		return quoteRest(dst, b, o+2, i+1)
	}
	binary.LittleEndian.PutUint64(dst[o:o+8:o+8], binary.LittleEndian.Uint64(b[done:done+8:done+8])) // costs less than to copy n bytes
	o += n
	binary.LittleEndian.PutUint16(dst[o:o+2:o+2], '\\'|'"'<<8)
	o += 2
	i++
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i : i+8 : i+8])
		binary.LittleEndian.PutUint64(dst[o:o+8:o+8], w)
		stop := special(w)
		if stop == 0 {
			i += 8
			o += 8
			continue
		}
		n := bits.TrailingZeros64(stop)
		i += n / 8
		o += n / 8
		if byte(w>>(n&0x38)) != '"' {
			break
		}
		binary.LittleEndian.PutUint16(dst[o:o+2:o+2], '\\'|'"'<<8)
		return o + 2, i + 1
	}
	return quoteRest(dst, b, o, i)
}

// quoteRest is quoteString inside of the string, for any bytes.
func quoteRest(dst, b []byte, o, i int) (int, int) {
	for i < len(b) {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			binary.LittleEndian.PutUint64(dst[o:], w)
			stop := special(w)
			if stop == 0 {
				i += 8
				o += 8
				continue
			}
			n := bits.TrailingZeros64(stop) / 8
			i += n
			o += n
		}
		switch c := b[i]; {
		case c == '"':
			dst[o], dst[o+1] = '\\', '"'
			return o + 2, i + 1
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return 0, -1
			}
			dst[o], dst[o+1] = '\\', '\\'
			o += 2
			if b[i+1] == '"' || b[i+1] == '\\' {
				dst[o] = '\\'
				o++
			}
			o += copy(dst[o:], b[i+1:i+n])
			i += n
		case c < ' ':
			return 0, -1
		case c >= utf8.RuneSelf:
			end, valid := runes(b, i)
			if !valid {
				return 0, -1
			}
			o += copy(dst[o:], b[i:end])
			i = end
		default:
			dst[o] = c
			o++
			i++
		}
	}
	return 0, -1
}
