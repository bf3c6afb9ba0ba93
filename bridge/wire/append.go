package wire

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// The functions in this file append a message without a line end to dst and return it. Raw
// arguments must be valid JSON without line breaks. Only the growth of dst allocates.

const head = `{"jsonrpc":"2.0"`

// AppendRequest appends a request with edited params, see [Params.Append]. params may be nil;
// without params and without an edit that sets a value the request has none.
func AppendRequest(dst []byte, id int64, method string, params *Params, edits ...Edit) []byte {
	dst = appendMethod(appendNumber(dst, id), method)
	if params == nil {
		params = &Params{}
	}
	if params.Raw != nil || setsFrom(0, edits) {
		dst = append(dst, `,"params":`...)
		dst = params.Append(dst, edits...)
	}
	return append(dst, '}')
}

// AppendCall appends a request with a raw id and raw params; nil leaves them out.
func AppendCall(dst, id []byte, method string, params []byte) []byte {
	return appendRaw(appendMethod(appendID(dst, id), method), `,"params":`, params)
}

// AppendNotification appends a notification with raw params; nil leaves them out.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendRaw(appendMethod(append(dst, head...), method), `,"params":`, params)
}

// AppendResult appends the response to the request with a raw id. A nil result becomes {}.
func AppendResult(dst, id, result []byte) []byte {
	if result == nil {
		result = noMembers
	}
	return appendRaw(appendID(dst, id), `,"result":`, result)
}

// AppendErrorObject appends a response with a raw error object. A nil id becomes null.
func AppendErrorObject(dst, id, errObject []byte) []byte {
	return appendRaw(appendID(dst, id), `,"error":`, errObject)
}

// AppendError appends an error response. data is raw; nil leaves it out. A nil id becomes null.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	dst = append(appendID(dst, id), `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = appendRaw(AppendString(dst, message), `,"data":`, data)
	return append(dst, '}')
}

func appendNumber(dst []byte, id int64) []byte {
	dst = append(dst, head+`,"id":`...)
	return strconv.AppendInt(dst, id, 10)
}

func appendID(dst, id []byte) []byte {
	if id == nil {
		return append(dst, head+`,"id":null`...)
	}
	dst = append(dst, head+`,"id":`...)
	return append(dst, id...)
}

func appendMethod(dst []byte, method string) []byte {
	return AppendString(append(dst, `,"method":`...), method)
}

// appendRaw appends the last member of an object, unless its value is nil, and closes the object.
func appendRaw(dst []byte, key string, value []byte) []byte {
	if value != nil {
		dst = append(append(dst, key...), value...)
	}
	return append(dst, '}')
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD; characters of
// HTML are not escaped.
func AppendString[S string | []byte](dst []byte, s S) []byte {
	b := []byte(s) // not a copy: b neither changes nor escapes
	dst = append(dst, '"')
	for i := 0; i < len(b); {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			stop := special(w)
			if stop == 0 {
				begin := i
				for i += 8; i+8 <= len(b) && special(binary.LittleEndian.Uint64(b[i:])) == 0; i += 8 {
				}
				dst = append(dst, b[begin:i]...)
				continue
			}
			// JSON in a string has short runs: copying eight bytes costs less than copying n.
			n := bits.TrailingZeros64(stop) / 8
			dst = binary.LittleEndian.AppendUint64(dst, w)[:len(dst)+n]
			i += n
		}
		switch c := b[i]; {
		case c >= utf8.RuneSelf:
			end, valid := runes(b, i)
			dst = append(dst, b[i:end]...)
			if i = end; !valid {
				dst = utf8.AppendRune(dst, utf8.RuneError)
				i++
			}
			continue
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = appendControl(dst, c)
		default:
			dst = append(dst, c)
		}
		i++
	}
	return append(dst, '"')
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
