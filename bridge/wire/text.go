package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

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
