package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

type tomlText struct {
	text     []byte
	lines    *lineCounter
	root     *node
	sections []*section // in the order of the file; the first has what is before the first header
}

// A section is a header and the lines up to the next one.
type section struct {
	path       []string
	list       bool // [[path]]
	start, end int  // from the line of the header to the one of the next header
	items      []*item
	table      *node
}

// parseTOML parses TOML 1.1.
func parseTOML(text []byte) (document, error) {
	if err := checkTOML(text); err != nil {
		return nil, err
	}
	d := &tomlText{text: text, lines: countLines(text), root: &node{kind: object}}
	current := &section{table: d.root}
	d.root.sections = []*section{current}
	d.sections = []*section{current}
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.KeyValue:
			it, err := d.define(current.table, e)
			if err != nil {
				return nil, err
			}
			current.items = append(current.items, it)
		case unstable.Table, unstable.ArrayTable:
			path, at := keys(e.Key())
			start := lineStart(text, at)
			current.end = start
			current = &section{path: path, list: e.Kind == unstable.ArrayTable, start: start}
			current.table = d.open(current, d.lines.line(at))
			d.sections = append(d.sections, current)
		}
	}
	current.end = len(text)
	return d, p.Error()
}

// checkTOML returns what the library says about a text, without quoting it.
func checkTOML(text []byte) error {
	depth := 0
	for i, c := range text { // brackets in strings and comments count too, which no config comes near
		if c == '[' || c == '{' {
			depth++
		} else if c == ']' || c == '}' {
			depth--
		}
		if depth > maxNesting {
			return errorAt(lineOf(text, i), "nested deeper than %d levels", maxNesting)
		}
	}
	var all map[string]any
	err := toml.Unmarshal(text, &all)
	var at *toml.DecodeError
	switch {
	case errors.As(err, &at):
		line, _ := at.Position()
		return errorAt(line, "not TOML: %s", strings.TrimPrefix(at.Error(), "toml: "))
	case err != nil:
		return fmt.Errorf("not TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return nil
}

// keys returns the parts of a key and the offset of the first one.
func keys(it unstable.Iterator) (path []string, at int) {
	at = -1
	for it.Next() {
		n := it.Node()
		if at < 0 {
			at = int(n.Raw.Offset)
		}
		path = append(path, string(n.Data))
	}
	return path, at
}

// open returns the table of a header.
func (d *tomlText) open(s *section, line int) *node {
	n := d.root
	for i, key := range s.path {
		it := n.find(key)
		if it == nil {
			it = &item{key: key, line: line, val: &node{kind: object}}
			if i == len(s.path)-1 && s.list {
				it.val.kind = array
			}
			n.items = append(n.items, it)
		}
		n = it.val
		if n.kind == array && i < len(s.path)-1 {
			n = n.items[len(n.items)-1].val
		}
	}
	if n.kind == array {
		it := &item{line: line, val: &node{kind: object}}
		n.items = append(n.items, it)
		n = it.val
	}
	n.sections = append(n.sections, s)
	return n
}

// define adds a key with its value to a table and returns the item that has the whole line.
func (d *tomlText) define(table *node, e *unstable.Node) (*item, error) {
	path, start := keys(e.Key())
	end := int(e.Raw.Offset + e.Raw.Length)
	for end > start && (d.text[end-1] == ' ' || d.text[end-1] == '\t') {
		end--
	}
	val, err := d.value(e.Value(), end)
	if err != nil {
		return nil, err
	}
	line := d.lines.line(start)
	n := table
	for _, key := range path[:len(path)-1] { // a dotted key
		it := n.find(key)
		if it == nil {
			it = &item{key: key, line: line, start: start, end: end, val: &node{kind: object}, from: table}
			n.items = append(n.items, it)
		}
		n = it.val
	}
	it := &item{key: path[len(path)-1], line: line, start: start, end: end, val: val}
	if len(path) > 1 {
		it.from = table
	}
	n.items = append(n.items, it)
	return it, nil
}

// value converts a value that ends at an offset.
func (d *tomlText) value(v *unstable.Node, end int) (*node, error) {
	n := &node{start: int(v.Raw.Offset), end: end, flow: true}
	children := v.Children()
	switch v.Kind {
	case unstable.Array:
		n.kind = array
		for children.Next() {
			c := children.Node()
			val, err := d.value(c, int(c.Raw.Offset+c.Raw.Length))
			if err != nil {
				return nil, err
			}
			val.fixed = true // its end is not known
			n.items = append(n.items, &item{start: val.start, end: val.end, line: d.lines.line(val.start), val: val})
		}
	case unstable.InlineTable:
		n.kind = object
		for children.Next() {
			if _, err := d.define(n, children.Node()); err != nil {
				return nil, err
			}
		}
	default:
		n.value = scalarTOML(v)
	}
	return n, nil
}

func scalarTOML(v *unstable.Node) json.RawMessage {
	text := string(v.Data)
	switch v.Kind {
	case unstable.Bool:
		return json.RawMessage(text)
	case unstable.Integer:
		plain := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
		if i, err := strconv.ParseInt(plain, 0, 64); err == nil && !strings.HasPrefix(plain, "0") {
			return json.RawMessage(plain)
		} else if err == nil {
			return json.RawMessage(strconv.FormatInt(i, 10))
		}
	case unstable.Float:
		plain := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
		if json.Valid([]byte(plain)) {
			return json.RawMessage(plain)
		}
	}
	return quote(text)
}

func (d *tomlText) tree() *node { return d.root }
