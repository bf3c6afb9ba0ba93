package graphql

import (
	"fmt"
	"strings"
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
	src string
	at  int
}

// A syntaxError is a fault at a byte offset of a document.
type syntaxError struct {
	at   int
	text string
}

func faultAt(at int, format string, args ...any) *syntaxError {
	return &syntaxError{at, fmt.Sprintf(format, args...)}
}

// next returns the next token, which at the end of the document is tokenEnd.
func (s *scanner) next() (token, *syntaxError) {
	s.skipIgnored()
	begin := s.at
	if begin == len(s.src) {
		return token{at: begin}, nil
	}
	var kind byte
	var fault *syntaxError
	switch c := s.src[begin]; {
	case isNameStart(c):
		kind = tokenName
		s.at = begin + span(s.src[begin:], isNamePart)
	case c == '-' || isDigit(c):
		kind = tokenNumber
		fault = s.number()
	case c == '"':
		kind = tokenString
		fault = s.text()
	case strings.HasPrefix(s.src[begin:], "..."):
		kind = '.'
		s.at += len("...")
	case strings.IndexByte("!$&():=@[]{|}", c) >= 0:
		kind = c
		s.at++
	default:
		r, _ := utf8.DecodeRuneInString(s.src[begin:])
		fault = faultAt(begin, "unexpected character %q", r)
	}
	if fault != nil {
		return token{at: begin}, fault
	}
	return token{kind, s.src[begin:s.at], begin}, nil
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

// number scans an integer or a float.
func (s *scanner) number() *syntaxError {
	begin := s.at
	if s.src[s.at] == '-' {
		s.at++
	}
	whole := s.digits()
	ok := whole > 0 && (whole == 1 || s.src[s.at-whole] != '0')
	if s.peek() == '.' {
		s.at++
		ok = s.digits() > 0 && ok
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		ok = s.digits() > 0 && ok
	}
	if c := s.peek(); !ok || c == '.' || isNamePart(c) {
		return faultAt(begin, "%s is not a number", native.Shorten(s.src[begin:min(s.at+1, len(s.src))]))
	}
	return nil
}

func (s *scanner) digits() int {
	n := span(s.src[s.at:], isDigit)
	s.at += n
	return n
}

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

// text scans a string or a block string.
func (s *scanner) text() *syntaxError {
	begin := s.at
	if strings.HasPrefix(s.src[begin:], `"""`) {
		return s.block()
	}
	for s.at++; s.at < len(s.src); s.at++ {
		switch s.src[s.at] {
		case '"':
			s.at++
			return nil
		case '\n', '\r':
			return faultAt(begin, `unterminated string; a string of several lines is written """…"""`)
		case '\\':
			n := escape(s.src[s.at+1:])
			if n == 0 {
				return faultAt(s.at, "unknown escape in a string")
			}
			s.at += n
		}
	}
	return faultAt(begin, "unterminated string")
}

// block scans a block string, whose only escape is that of its delimiter.
func (s *scanner) block() *syntaxError {
	const quotes = `"""`
	begin := s.at
	for s.at += len(quotes); s.at < len(s.src); s.at++ {
		switch rest := s.src[s.at:]; {
		case strings.HasPrefix(rest, quotes):
			s.at += len(quotes)
			return nil
		case strings.HasPrefix(rest, `\`+quotes):
			s.at += len(quotes) // and the backslash
		}
	}
	return faultAt(begin, "unterminated block string")
}

// escape returns the length of the escape that s, the text after a backslash, begins with; 0 means
// that it is not an escape.
func escape(s string) int {
	switch {
	case s == "":
		return 0
	case strings.IndexByte(`"\/bfnrt`, s[0]) >= 0:
		return 1
	case s[0] != 'u':
		return 0
	case strings.HasPrefix(s, "u{"):
		n := span(s[2:], isHex)
		if n > 0 && strings.HasPrefix(s[2+n:], "}") {
			return len("u{}") + n
		}
	case span(s[1:min(5, len(s))], isHex) == 4:
		return len("uXXXX")
	}
	return 0
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
