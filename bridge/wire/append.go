package wire

import (
	"strconv"
	"unicode/utf8"
)

// The functions here append a message to dst and return it, without a line end. What they are given raw must be valid
// JSON without line breaks. They allocate nothing besides what dst needs to grow.

const head = `{"jsonrpc":"2.0"`

// AppendRequest appends a request whose params are made with [Params.Append]. Without params and without an edit that gives
// a value it has no params; params may be nil.
func AppendRequest(dst []byte, id int64, method string, params *Params, edits ...Edit) []byte {
	dst = appendMethod(appendNumber(dst, id), method)
	if params == nil {
		params = &Params{}
	}
	if params.Raw != nil || givesAny(edits) {
		dst = append(dst, `,"params":`...)
		dst = params.Append(dst, edits...)
	}
	return append(dst, '}')
}

func givesAny(edits []Edit) bool {
	for i := range edits {
		if find(edits, edits[i].Key).Value != nil {
			return true
		}
	}
	return false
}

// AppendCall appends a request whose params are raw; nil leaves them out.
func AppendCall(dst []byte, id int64, method string, params []byte) []byte {
	return appendRaw(appendMethod(appendNumber(dst, id), method), `,"params":`, params)
}

// AppendNotification appends a notification; nil params are left out.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendRaw(appendMethod(append(dst, head...), method), `,"params":`, params)
}

// AppendResult appends the response to the request with that raw id. A nil result becomes the empty object.
func AppendResult(dst, id, result []byte) []byte {
	if result == nil {
		result = noMembers
	}
	return appendRaw(appendID(dst, id), `,"result":`, result)
}

// AppendErrorObject appends the response that carries a raw error object. A nil id becomes null.
func AppendErrorObject(dst, id, errObject []byte) []byte {
	return appendRaw(appendID(dst, id), `,"error":`, errObject)
}

// AppendError appends an error response; data is raw, and left out when nil. A nil id becomes null.
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

// appendRaw appends the last member of an object, unless it is nil, and closes the object.
func appendRaw(dst []byte, key string, value []byte) []byte {
	if value != nil {
		dst = append(append(dst, key...), value...)
	}
	return append(dst, '}')
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD; HTML is left as it is.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if c >= utf8.RuneSelf && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		dst = append(dst, s[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		}
		i += n
		done = i
	}
	return append(append(dst, s[done:]...), '"')
}
