package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxNesting bounds the depth of objects and arrays, as the parser recurses.
const maxNesting = 100

// parse returns the syntax tree, or reports where the file is not JSON with comments.
func (d *decoder) parse() (node, bool) {
	if what := otherFormat(d.data); what != "" {
		d.problems = append(d.problems, remark{text: what})
		return node{}, false
	}
	if _, mistake := scan(d.data); mistake != nil {
		d.problems = append(d.problems, *mistake)
		return node{}, false
	}
	// The parser requires a line end after a line comment.
	root, err := hujson.Parse(slices.Concat(d.data, []byte("\n")))
	if err != nil {
		d.problems = append(d.problems, d.syntax(err))
		return node{}, false
	}
	n := node{offset: root.StartOffset, value: root.Value}
	if n.value.Kind() != '{' {
		d.expected(n, `an object such as {"mcpServers": {}}`)
		return n, false
	}
	return n, true
}

// scan finds mistakes that the parser cannot handle or reports unclearly: deep nesting, unclosed
// strings, invalid UTF-8. open lists the offsets of the objects and arrays that b does not close.
func scan(b []byte) (open []int, mistake *remark) {
	if !utf8.Valid(b) {
		at := len(b) - len(bytes.TrimLeftFunc(b, func(r rune) bool { return r != utf8.RuneError }))
		for r, size := utf8.DecodeRune(b[at:]); r != utf8.RuneError || size != 1; r, size = utf8.DecodeRune(b[at:]) {
			at += size
		}
		return nil, &remark{at, "not UTF-8: save the file as UTF-8"}
	}
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if open = append(open, i); len(open) > maxNesting {
				return nil, &remark{i, fmt.Sprintf("nested deeper than %d levels", maxNesting)}
			}
		case '}', ']':
			open = open[:max(0, len(open)-1)]
		case '/':
			i += commentSize(b[i:])
		case '"':
			end, text := stringEnd(b, i)
			if text != "" {
				return nil, &remark{end, text}
			}
			i = end
		}
	}
	return open, nil
}

// commentSize returns the length of the comment that b begins with, less one, or 0.
func commentSize(b []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(b, []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(b, []byte("//")):
		return 0
	}
	if size := bytes.Index(b[2:], []byte(end)); size >= 0 {
		return size + 1 + len(end)
	}
	return len(b) - 1
}

// stringEnd returns the offset of a string's closing quote, or a mistake and its offset.
func stringEnd(b []byte, start int) (offset int, mistake string) {
	for i := start + 1; i < len(b); i++ {
		switch {
		case b[i] == '"':
			return i, ""
		case b[i] == '\n' || b[i] == '\r':
			return start, `the string is not closed on its line: expected '"'`
		case b[i] < ' ':
			return i, `a control character in a string is written as an escape, as in "\t"`
		case b[i] == '\\':
			i++
		}
	}
	return start, `the string is not closed: expected '"'`
}

// syntaxMistakes maps the parser's errors to texts that quote nothing of the file.
var syntaxMistakes = []struct{ parser, text string }{
	{"parsing value", "expected a value"},
	{"parsing object after name", "expected ':' after the key"},
	{"parsing object after value", "expected ',' or '}'"},
	{"parsing array after value", "expected ',' or ']'"},
	{"parsing comment", "the comment is not closed: expected '*/'"},
	{"at start of value", "expected a value: a string in double quotes, a number, true, false, null, '{' or '['"},
	{"invalid literal", "expected a value: a string in double quotes, a number, true, false, null, '{' or '['"},
	{"at start of object name", "expected a key in double quotes"},
	{"after object name", "expected ':' after the key"},
	{"after object value", "expected ',' or '}'"},
	{"after array value", "expected ',' or ']'"},
	{"after top-level value", "expected the end of the file"},
	{"in line comment", "a line comment with a Unicode line separator in it"},
}

// syntax turns the parser's error, a text with line and byte column, into a remark.
func (d *decoder) syntax(err error) remark {
	var line, column int
	r := remark{text: "not JSON with comments"}
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil && line <= len(d.lines) {
		r.offset = min(d.lines[line-1]+column-1, len(d.data))
	} else {
		r.offset = len(d.data)
	}
	for _, m := range syntaxMistakes {
		if strings.Contains(err.Error(), m.parser) {
			r.text = m.text
			break
		}
	}
	before, rest := bytes.TrimRight(d.data[:r.offset], " \t\r\n"), d.data[r.offset:]
	open, _ := scan(before)
	inObject := len(open) > 0 && d.data[open[len(open)-1]] == '{'
	switch {
	case len(bytes.TrimSpace(d.data)) == 0:
		return remark{0, `the file is empty: expected an object such as {"mcpServers": {}}`}
	case len(bytes.TrimSpace(rest)) == 0:
		r.offset = len(before)
		r.text += ", got the end of the file"
		if len(open) > 0 {
			at := open[len(open)-1]
			r.text += fmt.Sprintf(" (the '%c' of line %d is not closed)", d.data[at], d.line(at))
		}
	case inObject && (bytes.HasSuffix(before, []byte("{")) || bytes.HasSuffix(before, []byte(","))):
		r.text = "expected a key in double quotes"
	case rest[0] == '"' && strings.Contains(err.Error(), "invalid literal"):
		r.text = `an escape in the string is not a JSON escape (a backslash is written \\, as in "C:\\tools")`
	}
	return r
}
