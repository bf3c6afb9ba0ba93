package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// AppendQuoted appends JSON that stands on one line as a JSON string: what AppendString
// appends, and what Valid says of it, for little more than the time of the latter. It is for
// results that carry JSON as a text beside itself. When raw is anything else, white space
// other than blanks included, it reports false and dst is as it was.
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

// A quoter writes what is scanned as a JSON string, as far as the last string in it goes:
// what is between strings passes as it is.
type quoter struct {
	dst  []byte
	done int // what is in front of it has been written
}

// str is str for what is quoted as well.
func (q *quoter) str(b []byte, i int) (int, string) {
	dst := q.dst
	if n := i - q.done; n <= 8 && q.done+8 <= len(b) { // it costs less to copy eight bytes than to copy some
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
