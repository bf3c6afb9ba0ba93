package sql

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A tokenKind classifies a token, as far as parameters require.
type tokenKind uint8

const (
	blank  tokenKind = iota // white space or a comment
	word                    // a keyword or a name
	number                  // 12, 1.5e3, 0xff
	quoted                  // a quoted string or name
	param                   // :name or :{name}
	symbol                  // anything else
)

// A token is a piece of SQL text: text[start:end].
type token struct {
	kind       tokenKind
	start, end int
	name       string // name of a param
}

// A scanner splits SQL text into tokens by the lexical rules of a dialect:
//
//   - SQLite: https://www.sqlite.org/lang_expr.html and its tokenize.c
//   - PostgreSQL: https://www.postgresql.org/docs/current/sql-syntax-lexical.html
//   - MySQL: https://dev.mysql.com/doc/refman/8.4/en/language-structure.html, with its
//     default sql_mode: a backslash escapes in strings
type scanner struct {
	dialect dialect
	text    string
	at      int
	param   int // end of the last parameter; 0 before the first
}

// next returns the token at s.at. At the end of the text it is blank and empty.
func (s *scanner) next() (token, error) {
	t := token{kind: symbol, start: s.at, end: s.at + 1}
	if s.at == len(s.text) {
		t.kind, t.end = blank, s.at
		return t, nil
	}
	var err error
	switch c := s.text[s.at]; {
	case isSpace(c):
		t.kind, t.end = blank, s.span(s.at, isSpace)
	case s.isComment():
		t.kind = blank
		t.end, err = s.comment()
	case c == '\'', c == '"', c == '`' && s.dialect != postgresDialect, c == '[' && s.dialect == sqliteDialect:
		t.kind = quoted
		t.end, err = s.quote(s.at, s.dialect == mysqlDialect && c != '`')
	case isDigit(c), c == '.' && isDigit(s.peek(1)):
		t.kind, t.end = number, s.span(s.at, func(c byte) bool { return isName(c) || c == '.' })
	case isNameStart(c), c == '$' && s.dialect == mysqlDialect:
		t.kind, t.end = word, s.span(s.at, isName)
		if s.dialect == postgresDialect && t.end == s.at+1 && c|0x20 == 'e' && s.peek(1) == '\'' {
			t.kind = quoted
			t.end, err = s.escapeString(t.end)
		}
	case c == '$' && s.dialect == postgresDialect && !isDigit(s.peek(1)):
		t.kind = quoted
		t.end, err = s.dollarQuote()
	case c == ':':
		err = s.colon(&t)
	case s.isForeignParam(c):
		err = s.fail(s.at, "parameters are written :name, not %s", s.text[s.at:s.span(s.at+1, isName)])
	}
	s.at = t.end
	return t, err
}

// isForeignParam reports whether c begins a parameter in the driver's own notation.
func (s *scanner) isForeignParam(c byte) bool {
	switch s.dialect {
	case sqliteDialect:
		return c == '?' || (c == '@' || c == '$') && isName(s.peek(1))
	case mysqlDialect:
		return c == '?'
	}
	return c == '$'
}

// peek returns the byte at offset n from the current one, or 0 after the end; the text has no 0.
func (s *scanner) peek(n int) byte {
	if s.at+n < len(s.text) {
		return s.text[s.at+n]
	}
	return 0
}

// fail returns an error with the line of a byte offset.
func (s *scanner) fail(at int, format string, args ...any) error {
	line := 1 + strings.Count(s.text[:at], "\n")
	return fmt.Errorf("query: line %d: %s", line, fmt.Sprintf(format, args...))
}

// isComment reports whether a comment begins here.
func (s *scanner) isComment() bool {
	switch s.text[s.at] {
	case '-': // in MySQL, a--1 is a minus -1
		return s.peek(1) == '-' && (s.dialect != mysqlDialect || s.peek(2) <= ' ')
	case '#':
		return s.dialect == mysqlDialect
	case '/':
		return s.peek(1) == '*'
	}
	return false
}

// comment returns the end of the comment that begins here.
func (s *scanner) comment() (int, error) {
	if s.text[s.at] != '/' {
		if n := strings.IndexByte(s.text[s.at:], '\n'); n >= 0 {
			return s.at + n, nil
		}
		return len(s.text), nil
	}
	rest := s.text[s.at:]
	if s.dialect == mysqlDialect && (strings.HasPrefix(rest, "/*!") || strings.HasPrefix(rest, "/*M!")) {
		return s.at + 2, s.fail(s.at, "%s begins a comment that MySQL executes: write its SQL without the comment", rest[:3])
	}
	depth := 0
	for i := s.at; i+1 < len(s.text); i++ {
		switch s.text[i : i+2] {
		case "/*":
			if depth == 0 || s.dialect == postgresDialect { // only PostgreSQL nests them
				depth++
				i++
			}
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return len(s.text), s.fail(s.at, "unterminated comment: expected */")
}

// quote returns the end of the quoted text at i. A doubled quote does not end it, nor does one
// after a backslash if backslash is an escape.
func (s *scanner) quote(i int, backslash bool) (int, error) {
	end := s.text[i]
	if end == '[' {
		end = ']'
	}
	for j := i + 1; j < len(s.text); j++ {
		switch {
		case s.text[j] == '\\' && backslash:
			j++
		case s.text[j] != end:
		case end != ']' && j+1 < len(s.text) && s.text[j+1] == end:
			j++
		default:
			return j + 1, nil
		}
	}
	return len(s.text), s.fail(i, "unterminated quoted text: expected %c", end)
}

// escapeString returns the end of PostgreSQL's E'…', whose quote is at i. The string continues
// after white space with a line break if another quote follows.
func (s *scanner) escapeString(i int) (int, error) {
	end, err := s.quote(i, true)
	for err == nil {
		i = end
		for broken := false; ; i++ {
			if strings.HasPrefix(s.text[i:], "--") {
				n := strings.IndexByte(s.text[i:], '\n')
				if n < 0 {
					return end, nil
				}
				i += n
			}
			if i == len(s.text) || !isSpace(s.text[i]) {
				if !broken || i == len(s.text) || s.text[i] != '\'' {
					return end, nil
				}
				break
			}
			broken = broken || s.text[i] == '\n' || s.text[i] == '\r'
		}
		end, err = s.quote(i, true)
	}
	return end, err
}

// dollarQuote returns the end of PostgreSQL's $tag$…$tag$, or of the dollar if it does not begin
// one.
func (s *scanner) dollarQuote() (int, error) {
	i := s.span(s.at+1, func(c byte) bool { return c != '$' && isName(c) })
	if i == len(s.text) || s.text[i] != '$' {
		return s.at + 1, nil
	}
	tag := s.text[s.at : i+1]
	n := strings.Index(s.text[i+1:], tag)
	if n < 0 {
		return len(s.text), s.fail(s.at, "unterminated quoted text: expected %s", tag)
	}
	return i + 1 + n + len(tag), nil
}

// colon scans a token that begins with a colon: a parameter, a cast or an assignment.
func (s *scanner) colon(t *token) error {
	c := s.peek(1)
	switch {
	case c == ':', c == '=':
		t.end++
		return nil
	case c == '{':
		n := strings.IndexByte(s.text[s.at:], '}')
		if n < 0 {
			return s.fail(s.at, "unterminated parameter: expected }")
		}
		t.name, t.end = strings.TrimSpace(s.text[s.at+2:s.at+n]), s.at+n+1
		if t.name == "" {
			return s.fail(s.at, "parameter without a name: expected :{name}")
		}
	case isNameStart(c):
		t.end = s.span(s.at+1, isName)
		t.name = s.text[s.at+1 : t.end]
	case isDigit(c) && s.dialect == sqliteDialect:
		return s.fail(s.at, "parameters are written :name, and a name does not begin with a digit")
	default:
		return nil
	}
	t.kind = param
	before := s.at > 0 && (isName(s.text[s.at-1]) || s.at == s.param)
	if s.param = t.end; before || t.end < len(s.text) && isName(s.text[t.end]) {
		return s.fail(s.at, "%s touches another word: add a space around it, or after the colon if this is not a parameter", s.text[s.at:t.end])
	}
	return nil
}

// span returns the end of the bytes from i on that all fulfill is.
func (s *scanner) span(i int, is func(byte) bool) int {
	for i < len(s.text) && is(s.text[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}

func isName(c byte) bool { return isNameStart(c) || isDigit(c) || c == '$' }
