package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of the input: no tool comes near it, and deeper input only serves
// to exhaust a reader.
const maxDepth = 500

// A SyntaxError is input that is not JSON, or JSON that readers disagree on: a key that occurs
// twice, text that is not UTF-8.
type SyntaxError struct {
	Offset  int // in bytes
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// Parse reads data as one JSON value. The error is a [*SyntaxError].
func Parse(data []byte) (*Node, error) {
	p := parser{data: data}
	n, err := p.value(0)
	if err == nil && p.space() < len(data) {
		err = p.fail("unexpected %s after the value", p.here())
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ParseAll reads the JSON values of data, which follow one another as in JSON Lines, up to the
// first error.
func ParseAll(data []byte) iter.Seq2[*Node, *SyntaxError] {
	return func(yield func(*Node, *SyntaxError) bool) {
		p := parser{data: data}
		for p.space() < len(data) {
			n, err := p.value(0)
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}

// parser reads JSON (RFC 8259) without decoding its scalars.
type parser struct {
	data []byte
	pos  int
}

func (p *parser) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{p.pos, fmt.Sprintf(format, args...)}
}

// here names the character at the parser's position, for errors.
func (p *parser) here() string {
	if p.pos >= len(p.data) {
		return "end of input"
	}
	r, _ := utf8.DecodeRune(p.data[p.pos:])
	return strconv.QuoteRune(r)
}

// space skips white space and returns the new position.
func (p *parser) space() int {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		default:
			return p.pos
		}
	}
	return p.pos
}

func (p *parser) value(depth int) (*Node, *SyntaxError) {
	if depth > maxDepth {
		return nil, p.fail("nested deeper than %d levels", maxDepth)
	}
	start := p.space()
	if start == len(p.data) {
		return nil, p.fail("unexpected end of input, expected a JSON value")
	}
	n := &Node{Start: start}
	var err *SyntaxError
	switch c := p.data[start]; {
	case c == '{':
		n.Kind = Object
		err = p.object(n, depth)
	case c == '[':
		n.Kind = Array
		err = p.array(n, depth)
	case c == '"':
		n.Kind = Text
		err = p.string()
	case c == '-', c >= '0' && c <= '9':
		n.Kind = Number
		err = p.scalar()
	case c == 't', c == 'f':
		n.Kind = Bool
		err = p.scalar()
	case c == 'n':
		err = p.scalar()
	default:
		err = p.fail("unexpected %s, expected a JSON value", p.here())
	}
	if n.Kind != Object && n.Kind != Array {
		n.Raw = string(p.data[start:p.pos])
	}
	n.End = p.pos
	return n, err
}

func (p *parser) object(n *Node, depth int) *SyntaxError {
	p.pos++
	var seen map[string]bool // keys of an object with many members
	for first := true; ; first = false {
		p.space()
		if p.skip('}') {
			return nil
		}
		if !first {
			if !p.skip(',') {
				return p.fail("unexpected %s in an object, expected ',' or '}'", p.here())
			}
			p.space()
		}
		start := p.pos
		if p.pos >= len(p.data) || p.data[p.pos] != '"' {
			return p.fail("unexpected %s in an object, expected a key in quotes", p.here())
		}
		if err := p.string(); err != nil {
			return err
		}
		key := unquote(string(p.data[start:p.pos]))
		if len(n.Members) == manyMembers {
			seen = make(map[string]bool, 2*manyMembers)
			for _, m := range n.Members {
				seen[m.Key] = true
			}
		}
		if seen[key] || seen == nil && n.Get(key) != nil {
			p.pos = start
			return p.fail("duplicate key %q in an object", key)
		}
		if seen != nil {
			seen[key] = true
		}
		p.space()
		if !p.skip(':') {
			return p.fail("unexpected %s after a key, expected ':'", p.here())
		}
		val, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Members = append(n.Members, Member{key, val})
	}
}

func (p *parser) array(n *Node, depth int) *SyntaxError {
	p.pos++
	for first := true; ; first = false {
		p.space()
		if p.skip(']') {
			return nil
		}
		if !first && !p.skip(',') {
			return p.fail("unexpected %s in an array, expected ',' or ']'", p.here())
		}
		val, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, val)
	}
}

func (p *parser) skip(c byte) bool {
	if p.pos < len(p.data) && p.data[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// string skips a string.
func (p *parser) string() *SyntaxError {
	start := p.pos
	for p.pos++; p.pos < len(p.data); p.pos++ {
		switch p.data[p.pos] {
		case '\\':
			p.pos++
		case '"':
			p.pos++
			return p.validate(start, "a string")
		}
	}
	p.pos = len(p.data)
	return p.fail("unexpected end of input in a string")
}

// scalar skips a number, true, false or null.
func (p *parser) scalar() *SyntaxError {
	start := p.pos
	for p.pos < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,]}:[{\""), p.data[p.pos]) < 0 {
		p.pos++
	}
	return p.validate(start, "a JSON value")
}

// validate reports whether the scalar that ends here is valid; encoding/json decides that of all
// but the usual ones.
func (p *parser) validate(start int, what string) *SyntaxError {
	word := p.data[start:p.pos]
	switch string(word) {
	case "true", "false", "null":
		return nil
	}
	if isPlain(word) || isNatural(word) || json.Valid(word) && utf8.Valid(word) {
		return nil
	}
	p.pos = start
	return p.fail("%.40q is not %s", word, what)
}

// isNatural reports whether word is a number of digits only.
func isNatural(word []byte) bool {
	if len(word) == 0 || word[0] == '0' && len(word) > 1 {
		return false
	}
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isPlain reports whether word is a string in ASCII without escapes.
func isPlain(word []byte) bool {
	if len(word) < 2 || word[0] != '"' || word[len(word)-1] != '"' {
		return false
	}
	for _, c := range word[1 : len(word)-1] {
		if c < ' ' || c == '\\' || c == '"' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
