package graphql

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/internal/native"
)

// A token is a lexical token (GraphQL, September 2025, section 2.1.6). Its kind is the byte of a
// punctuator, '.' for three dots, or one of the constants below.
type token struct {
	kind byte
	text string // as written
	at   int    // byte offset of its beginning
}

const (
	tokenEnd    = 0
	tokenName   = 'n'
	tokenNumber = '0'
	tokenString = '"'
)

// String returns the token for an error.
func (t token) String() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return native.Shorten(t.text)
}

// A scanner splits a document into tokens.
type scanner struct {
	src   string
	at    int
	fault error // the first one
}

// fail sets the fault at a byte offset, which its text names as a line and column.
func (s *scanner) fail(at int, format string, args ...any) {
	if s.fault == nil {
		s.fault = fmt.Errorf("query: %s: %s", place(s.src, at), fmt.Sprintf(format, args...))
	}
}

// next returns the next token, which at the end of the document and after a fault is tokenEnd.
func (s *scanner) next() token {
	s.skipIgnored()
	begin := s.at
	if begin == len(s.src) {
		return token{at: begin}
	}
	var kind byte
	switch c := s.src[begin]; {
	case isNameStart(c):
		kind = tokenName
		s.at = begin + span(s.src[begin:], isNamePart)
	case c == '-' || isDigit(c):
		kind = tokenNumber
		s.number()
	case c == '"':
		kind = tokenString
		s.text()
	case strings.HasPrefix(s.src[begin:], "..."):
		kind = '.'
		s.at += len("...")
	case strings.IndexByte("!$&():=@[]{|}", c) >= 0:
		kind = c
		s.at++
	default:
		r, _ := utf8.DecodeRuneInString(s.src[begin:])
		s.fail(begin, "unexpected character %q", r)
	}
	if s.fault != nil {
		return token{at: begin}
	}
	return token{kind, s.src[begin:s.at], begin}
}

// skipIgnored skips white space, commas, comments and byte order marks.
func (s *scanner) skipIgnored() {
	for s.at < len(s.src) {
		switch rest := s.src[s.at:]; {
		case strings.IndexByte(" \t\r\n,", rest[0]) >= 0:
			s.at++
		case rest[0] == '#':
			s.at += span(rest, func(c byte) bool { return c != '\n' && c != '\r' })
		case strings.HasPrefix(rest, "\ufeff"):
			s.at += len("\ufeff")
		default:
			return
		}
	}
}

// number scans an integer or a float, whose form is that of a JSON number.
func (s *scanner) number() {
	begin := s.at
	for s.at++; s.at < len(s.src); s.at++ {
		c, afterE := s.src[s.at], s.src[s.at-1]|0x20 == 'e'
		if !isNamePart(c) && c != '.' && !(afterE && (c == '+' || c == '-')) {
			break
		}
	}
	if text := s.src[begin:s.at]; !native.IsNumber(text) {
		s.fail(begin, "%s is not a number", native.Shorten(text))
	}
}

// text scans a string or a block string.
func (s *scanner) text() {
	begin := s.at
	if strings.HasPrefix(s.src[begin:], quotes) {
		s.block()
		return
	}
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '"':
			s.at++
			return
		case '\n', '\r':
			s.fail(begin, `unterminated string; a string of several lines is written """…"""`)
			return
		case '\\':
			n := escape(s.src[s.at+1:])
			if n == 0 {
				s.fail(s.at, "unknown escape in a string")
				return
			}
			s.at += n
		}
	}
	s.fail(begin, "unterminated string")
}

const quotes = `"""` // around a block string

// block scans a block string, whose only escape is that of its delimiter.
func (s *scanner) block() {
	begin := s.at
	for s.at += len(quotes); s.at < len(s.src); s.at++ {
		switch rest := s.src[s.at:]; {
		case strings.HasPrefix(rest, quotes):
			s.at += len(quotes)
			return
		case strings.HasPrefix(rest, `\`+quotes):
			s.at += len(quotes) // and the backslash
		}
	}
	s.fail(begin, "unterminated block string")
}

// escape returns the length of the escape that s, the text after a backslash, begins with; 0 means
// that it is not an escape. One of Unicode must be a character, for which two of four digits may be
// surrogates (GraphQL, September 2025, section 2.9.4).
func escape(s string) int {
	switch {
	case s == "":
	case strings.IndexByte(`"\/bfnrt`, s[0]) >= 0:
		return 1
	case strings.HasPrefix(s, "u{"):
		n := span(s[2:], isHex)
		digits := strings.TrimLeft(s[2:2+n], "0")
		if n > 0 && len(digits) <= 6 && utf8.ValidRune(hex(digits)) && strings.HasPrefix(s[2+n:], "}") {
			return len("u{}") + n
		}
	default:
		first, ok := unit(s)
		if ok && !utf16.IsSurrogate(first) {
			return len("uXXXX")
		}
		next, escaped := strings.CutPrefix(s[min(5, len(s)):], `\`)
		second, _ := unit(next)
		if ok && escaped && utf16.DecodeRune(first, second) != utf8.RuneError {
			return len(`uXXXX\uXXXX`)
		}
	}
	return 0
}

// unit returns the UTF-16 code unit of an escape of four digits.
func unit(s string) (r rune, ok bool) {
	ok = len(s) >= len("uXXXX") && s[0] == 'u' && span(s[1:5], isHex) == 4
	if ok {
		r = hex(s[1:5])
	}
	return r, ok
}

// hex returns the value of at most six hexadecimal digits.
func hex(digits string) rune {
	n, _ := strconv.ParseUint("0"+digits, 16, 32)
	return rune(n)
}

// span returns the length of the prefix of s whose bytes all fulfil is.
func span(s string, is func(byte) bool) int {
	for i := range len(s) {
		if !is(s[i]) {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isHex(c byte) bool       { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isNameStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isNamePart(c byte) bool  { return isNameStart(c) || isDigit(c) }
