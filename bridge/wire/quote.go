package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// AppendQuoted appends JSON on one line as a JSON string, for results that repeat JSON as text. It
// validates raw and appends what AppendString would, in little more than the time of Valid. When
// raw is not valid, or has white space other than blanks, ok is false and dst unchanged.
func AppendQuoted(dst, raw []byte) (_ []byte, ok bool) {
	for _, c := range []byte("\n\r\t") {
		if bytes.IndexByte(raw, c) >= 0 {
			return dst, false
		}
	}
	i := space(raw, 0)
	if c := at(raw, i); c != '{' && c != '[' {
		if Valid(raw) != nil {
			return dst, false
		}
		return AppendString(dst, raw), true
	}
	q := quoter{dst: append(dst, '"')}
	i, fault := container(raw, i, 0, &q)
	if fault != "" || space(raw, i) < len(raw) {
		return dst, false
	}
	return append(append(q.dst, raw[q.done:]...), '"'), true
}

// A quoter writes the JSON that is scanned as a JSON string. It writes at the end of each string;
// the tokens between strings need no escapes.
type quoter struct {
	dst  []byte
	done int // what is before it has been written
}

// str scans a string as the function str does, and writes all up to its end.
func (q *quoter) str(b []byte, i int) (int, string) {
	dst := q.dst
	if n := i - q.done; n <= 8 && q.done+8 <= len(b) { // eight bytes cost less than n
		dst = append(dst, b[q.done:q.done+8]...)[:len(dst)+n]
	} else {
		dst = append(dst, b[q.done:i]...)
	}
	dst = append(dst, '\\', '"')
	for i++; i < len(b); {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			stop := special(w)
			if stop == 0 {
				begin := i
				if i = plain(b, i+8); i == begin+8 {
					dst = binary.LittleEndian.AppendUint64(dst, w)
				} else {
					dst = append(dst, b[begin:i]...)
				}
				continue
			}
			n := bits.TrailingZeros64(stop) / 8
			dst = binary.LittleEndian.AppendUint64(dst, w)[:len(dst)+n]
			i += n
		}
		switch c := b[i]; {
		case c == '"':
			i++
			q.dst, q.done = append(dst, '\\', '"'), i
			return i, ""
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return i, faultEscape
			}
			if dst = append(dst, '\\', c); b[i+1] == '"' || b[i+1] == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, b[i+1:i+n]...)
			i += n
		case c < ' ':
			return i, faultControl
		case c >= utf8.RuneSelf:
			end, valid := runes(b, i)
			if !valid {
				return end, faultUTF8
			}
			dst = append(dst, b[i:end]...)
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return i, faultString
}
