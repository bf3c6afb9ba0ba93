package prompted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A lenientParser converts what is almost JSON, as models write it: Python's literals, keys
// without quotes, commas before a closing bracket, line breaks in strings, and backslashes
// that escape nothing.
type lenientParser struct {
	in    []byte
	i     int
	out   []byte
	depth int

	marked bool // strings may be in the marks of Gemma, or in none
}

// toJSON returns a value as JSON: unchanged, if it is JSON already.
func toJSON(value []byte) (json.RawMessage, bool) {
	raw := append([]byte(nil), value...)
	if wire.Valid(raw) == nil {
		return raw, true
	}
	l := lenientParser{in: value}
	if l.value() && l.peek() == 0 {
		return l.out, true
	}
	return nil, false
}

// peek skips white space and returns the next byte; 0 at the end.
func (l *lenientParser) peek() byte {
	for ; l.i < len(l.in); l.i++ {
		switch c := l.in[l.i]; c {
		case ' ', '\t', '\r', '\n':
		case 0:
			return 1 // not at the end
		default:
			return c
		}
	}
	return 0
}

// take consumes a byte if it is the next.
func (l *lenientParser) take(c byte) bool {
	if l.peek() != c {
		return false
	}
	l.i++
	return true
}

func (l *lenientParser) value() bool {
	if l.depth++; l.depth > wire.MaxDepth {
		return false
	}
	defer func() { l.depth-- }()
	switch c := l.peek(); {
	case l.marked && l.markedText():
		return true
	case c == '{':
		return l.list('}', "{}", l.member)
	case c == '[':
		return l.list(']', "[]", l.value)
	case c == '(':
		return l.list(')', "[]", l.value)
	case c == '"', c == '\'':
		return l.text()
	case !l.marked && (c == '-' || c >= '0' && c <= '9'):
		return l.number()
	}
	from := l.i
	word := l.word()
	if literal, ok := literals[word]; ok {
		l.out = append(l.out, literal...)
		return true
	}
	l.i = from
	return l.marked && l.bareText()
}

// literals are those of JSON for the ones of JSON and Python.
var literals = map[string]string{"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}

// list reads the members of an object or the elements of an array up to end, and writes them in
// the brackets of JSON.
func (l *lenientParser) list(end byte, brackets string, element func() bool) bool {
	l.i++
	l.out = append(l.out, brackets[0])
	for first := true; !l.take(end); first = false {
		if !first {
			l.out = append(l.out, ',')
		}
		if !element() || !l.take(',') && l.peek() != end {
			return false
		}
	}
	l.out = append(l.out, brackets[1])
	return true
}

func (l *lenientParser) member() bool {
	if !l.key() || !l.take(':') {
		return false
	}
	l.out = append(l.out, ':')
	return l.value()
}

func (l *lenientParser) key() bool {
	if l.marked {
		return l.markedText() || l.bareKey()
	}
	if c := l.peek(); c == '"' || c == '\'' {
		return l.text()
	}
	word := l.word()
	l.out = wire.AppendString(l.out, word)
	return word != ""
}

// markedText reads a string in the marks of Gemma.
func (l *lenientParser) markedText() bool {
	l.peek()
	mark, _ := prefixOf(l.in[l.i:], textMarks)
	text, _, closed := bytes.Cut(l.in[l.i+len(mark):], []byte(mark))
	if mark == "" || !closed {
		return false
	}
	l.i += len(text) + 2*len(mark)
	l.out = wire.AppendString(l.out, text)
	return true
}

// bareText reads a number, or a string without marks.
func (l *lenientParser) bareText() bool {
	n := bytes.IndexAny(l.in[l.i:], ",]}")
	if n < 0 {
		return false
	}
	text := bytes.TrimSpace(l.in[l.i : l.i+n])
	l.i += n
	if json.Valid(text) {
		l.out = append(l.out, text...)
	} else {
		l.out = wire.AppendString(l.out, text)
	}
	return len(text) > 0
}

// bareKey reads a key without marks, up to its colon.
func (l *lenientParser) bareKey() bool {
	n := bytes.IndexAny(l.in[l.i:], ":,{}")
	if n <= 0 || l.in[l.i+n] != ':' {
		return false
	}
	l.out = wire.AppendString(l.out, bytes.Trim(l.in[l.i:l.i+n], whiteSpace+`"'`))
	l.i += n
	return true
}

// word reads a name or a keyword, which may be "".
func (l *lenientParser) word() string {
	l.peek()
	from := l.i
	l.i += wordLen(l.in[l.i:])
	return string(l.in[from:l.i])
}

func (l *lenientParser) number() bool {
	from := l.i
	for l.i < len(l.in) && (l.in[l.i] == '+' || isWord(l.in[l.i])) {
		l.i++
	}
	token := l.in[from:l.i]
	l.out = append(l.out, token...)
	return json.Valid(token)
}

// text reads adjacent strings, which are one in Python.
func (l *lenientParser) text() bool {
	var text []byte
	for c := l.peek(); c == '"' || c == '\''; c = l.peek() {
		l.i++
		for {
			if l.i == len(l.in) {
				return false
			}
			next := l.in[l.i]
			l.i++
			if next == c {
				break
			}
			if next == '\\' {
				text = l.escape(text)
			} else {
				text = append(text, next)
			}
		}
	}
	l.out = wire.AppendString(l.out, text)
	return true
}

// escape reads what follows a backslash. A backslash that escapes nothing, as in C:\Users, is
// kept.
func (l *lenientParser) escape(text []byte) []byte {
	if l.i == len(l.in) {
		return append(text, '\\')
	}
	c := l.in[l.i]
	l.i++
	if i := strings.IndexByte(`"'\/ntrbf`, c); i >= 0 {
		return append(text, "\"'\\/\n\t\r\b\f"[i])
	}
	switch c {
	case '\n': // Python: the string continues
		return text
	case 'u':
		if r, ok := l.hex(); ok {
			if low, ok := l.low(); ok {
				r = utf16.DecodeRune(r, low)
			}
			return utf8.AppendRune(text, r)
		}
	}
	return append(text, '\\', c)
}

// hex reads the four digits of a \u.
func (l *lenientParser) hex() (rune, bool) {
	if l.i+4 > len(l.in) {
		return 0, false
	}
	r, err := strconv.ParseUint(string(l.in[l.i:l.i+4]), 16, 16)
	if err != nil {
		return 0, false
	}
	l.i += 4
	return rune(r), true
}

// low reads the second half of a surrogate pair.
func (l *lenientParser) low() (rune, bool) {
	from := l.i
	if bytes.HasPrefix(l.in[from:], []byte(`\u`)) {
		l.i += 2
		if r, ok := l.hex(); ok && r >= 0xDC00 && r < 0xE000 {
			return r, true
		}
		l.i = from
	}
	return 0, false
}

// pythonCalls returns the calls in an expression of Python, as Gemma and Llama write them:
// f(a=1), print(f(a=1)) or [f(a=1), g(b=2)]. ok reports whether it is one and, if strict, calls
// only tools that exist.
func (s *scanner) pythonCalls(expression []byte, strict bool) (all []call, ok bool) {
	l := lenientParser{in: expression}
	list := l.take('[')
	for {
		c, ok := s.pythonCall(&l, strict)
		if !ok {
			return nil, false
		}
		all = append(all, c)
		if !list || !l.take(',') || l.peek() == ']' {
			break
		}
	}
	if list && !l.take(']') || l.peek() != 0 {
		return nil, false
	}
	return all, true
}

// pythonCall parses a call.
func (s *scanner) pythonCall(l *lenientParser, strict bool) (c call, ok bool) {
	word := l.word()
	if l.peek() != '(' {
		return call{}, false
	}
	name, known := s.resolve(word)
	if !known && word == printWord {
		l.i++
		c, ok = s.pythonCall(l, strict)
		return c, ok && l.take(')')
	}
	if !known && (strict || !s.mayName(word)) {
		return call{}, false
	}
	name = cmp.Or(name, word)
	n := -1
	l.out = nil
	ok = l.list(')', "{}", func() bool {
		n++
		return s.pythonArgument(l, name, n)
	})
	return call{name, l.out}, ok
}

// pythonArgument parses the n-th argument of a call: key=value, or the value of the tool's
// n-th property.
func (s *scanner) pythonArgument(l *lenientParser, tool string, n int) bool {
	from := l.i
	key := l.word()
	if key == "" || !l.take('=') {
		l.i = from
		properties := s.properties(tool)
		if n >= len(properties) {
			return false
		}
		key = properties[n]
	}
	l.out = append(wire.AppendString(l.out, key), ':')
	return l.value()
}

// printWord is the function that Gemma calls with a call whose result it wants to see.
const printWord = "print"
