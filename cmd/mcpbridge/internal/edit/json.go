package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxNesting bounds the depth of a file, as the parsers recurse.
const maxNesting = 100

type jsonText struct {
	text  []byte
	lines *lineCounter
	root  *node
}

// parseJSON parses JSON with comments. Of several members with one key the last counts, as in JavaScript.
func parseJSON(text []byte) (document, error) {
	d := &jsonText{text: text, lines: countLines(text)}
	if err := checkJSON(text); err != nil {
		return nil, err
	}
	if skipJSON(text, 0) == len(text) {
		d.root = &node{kind: object, start: -1}
		return d, nil
	}
	root, err := hujson.Parse(append(bytes.Clone(text), '\n')) // a line comment needs a line end
	if err != nil {
		var line, column int
		if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr != nil {
			return nil, errors.New("not JSON with comments")
		}
		if body := bytes.TrimRight(text, " \t\r\n"); line > lineOf(text, len(body)) {
			return nil, errorAt(lineOf(text, len(body)), "not JSON with comments: the file ends too early")
		}
		return nil, errorAt(line, "not JSON with comments from column %d on", column)
	}
	if d.root, err = d.node(&root); err != nil {
		return nil, err
	}
	if d.root.kind != object {
		return nil, errorAt(lineOf(text, d.root.start), "the file is %s: expected an object", article(d.root))
	}
	return d, nil
}

// checkJSON refuses what the parser cannot be given.
func checkJSON(text []byte) error {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxNesting {
				return errorAt(lineOf(text, i), "nested deeper than %d levels", maxNesting)
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		default:
			i += max(0, commentJSON(text[i:])-1)
		}
	}
	if !utf8.Valid(text) {
		return errors.New("not UTF-8: save the file as UTF-8")
	}
	return nil
}

// commentJSON returns the length of the comment that b begins with, without the line end.
func commentJSON(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		return lineEnd(b, 0)
	case bytes.HasPrefix(b, []byte("/*")):
		if size := bytes.Index(b[2:], []byte("*/")); size >= 0 {
			return size + 4
		}
		return len(b)
	}
	return 0
}

func skipJSON(text []byte, at int) int {
	b := bracketed{text: text, space: commentJSON}
	return b.skip(at)
}

func (d *jsonText) node(v *hujson.Value) (*node, error) {
	n := &node{start: v.StartOffset, end: v.EndOffset, flow: true}
	switch c := v.Value.(type) {
	case hujson.Literal:
		n.value = json.RawMessage(c)
	case *hujson.Array:
		n.kind = array
		for i := range c.Elements {
			e := &c.Elements[i]
			val, err := d.node(e)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, &item{start: e.StartOffset, end: e.EndOffset, line: d.lines.line(e.StartOffset), val: val})
		}
	case *hujson.Object:
		n.kind = object
		members := map[string]*item{}
		for i := range c.Members {
			m := &c.Members[i]
			val, err := d.node(&m.Value)
			if err != nil {
				return nil, err
			}
			it := &item{key: m.Name.Value.(hujson.Literal).String(), start: m.Name.StartOffset, end: m.Value.EndOffset, line: d.lines.line(m.Name.StartOffset), val: val}
			if first := members[it.key]; first != nil {
				first.lost, it.others = true, true
			}
			members[it.key] = it
			n.items = append(n.items, it)
		}
	}
	return n, nil
}

// parseValue parses a value to be written.
func parseValue(value json.RawMessage) (*node, error) {
	if !json.Valid(value) {
		return nil, errors.New("edit: the value is not JSON")
	}
	if err := checkJSON(value); err != nil {
		return nil, fmt.Errorf("edit: the value: %w", err)
	}
	v, err := hujson.Parse(value)
	if err != nil {
		return nil, fmt.Errorf("edit: the value: %w", err)
	}
	d := &jsonText{text: value, lines: countLines(value)}
	n, err := d.node(&v)
	if err == nil {
		for _, twice := range publish("", 1, n).Duplicates() {
			return nil, fmt.Errorf("edit: the value: duplicate key %s", quote(twice.Key))
		}
	}
	return n, err
}

func (d *jsonText) tree() *node { return d.root }

func (d *jsonText) brackets(n *node) *bracketed {
	return &bracketed{text: d.text, node: n, space: commentJSON}
}

func (d *jsonText) insert(_ trail, parent *node, key string, v *node) ([]byte, error) {
	write := func(p place) string {
		if parent.kind == array {
			return d.write(v, p)
		}
		return string(quote(key)) + ":" + p.space + d.write(v, p)
	}
	if parent.start >= 0 {
		return d.brackets(parent).add(d.unit(), write), nil
	}
	nl := newline(d.text) // the file has nothing but comments
	before := string(d.text)
	if isBlank(d.text) {
		before = ""
	} else if !strings.HasSuffix(before, "\n") {
		before += nl
	}
	p := place{indent: "  ", own: true, space: " "}
	return []byte(before + "{" + nl + p.indent + write(p) + nl + "}" + nl), nil
}

func (d *jsonText) replace(at trail, v *node) ([]byte, error) {
	it := at.last()
	b := d.brackets(at.parent(d.root))
	p := place{space: b.spacing()}
	if old := it.val; isFirst(d.text, it.start) && (old.kind == scalar || len(old.items) == 0 || isFirst(d.text, old.items[0].start)) {
		p.own, p.indent = true, indentOf(d.text, it.start)
	}
	return splice(d.text, it.val.start, it.val.end, d.write(v, p)), nil
}

func (d *jsonText) remove(at trail) ([]byte, error) {
	return d.brackets(at.parent(d.root)).cut(at.last()), nil
}

// write writes a value: over several lines if the item begins a line.
func (d *jsonText) write(v *node, p place) string {
	lists := p.own && d.tallLists()
	var write func(v *node, indent string) string
	write = func(v *node, indent string) string {
		if v.kind == scalar {
			return string(v.value)
		}
		entry := func(inner string) func(it *item) string {
			return func(it *item) string {
				if v.kind == array {
					return write(it.val, inner)
				}
				return string(quote(it.key)) + ":" + p.space + write(it.val, inner)
			}
		}
		if !p.own || len(v.items) == 0 || v.kind == array && !lists && !hasCollections(v) {
			return v.inline(p.space, entry(indent))
		}
		nl, inner := newline(d.text), indent+d.unit()
		parts := make([]string, len(v.items))
		for i, it := range v.items {
			parts[i] = inner + entry(inner)(it)
		}
		return v.brackets()[:1] + nl + strings.Join(parts, ","+nl) + nl + indent + v.brackets()[1:]
	}
	return write(v, p.indent)
}

func hasCollections(n *node) bool {
	for _, it := range n.items {
		if it.val.kind != scalar {
			return true
		}
	}
	return false
}

// unit returns what a level of the file is indented by; "" if the file is a single line.
func (d *jsonText) unit() string {
	if d.root.start < 0 {
		return "  "
	}
	unit := ""
	d.root.each(func(n *node) bool {
		if len(n.items) > 0 && isFirst(d.text, n.items[0].start) {
			unit = strings.TrimPrefix(indentOf(d.text, n.items[0].start), indentOf(d.text, n.start))
		}
		return unit == ""
	})
	single := !bytes.ContainsRune(bytes.TrimSpace(d.text), '\n')
	if unit == "" && !(single && len(d.root.items) > 0) {
		return "  "
	}
	return unit
}

// tallLists reports whether the lists of the file have a line for each element.
func (d *jsonText) tallLists() (tall bool) {
	d.root.each(func(n *node) bool {
		if n.kind == array && len(n.items) > 0 {
			tall = isFirst(d.text, n.items[0].start)
			return false
		}
		return true
	})
	return tall
}

// each calls f for the node and the nodes below it until it returns false.
func (n *node) each(f func(*node) bool) bool {
	if !f(n) {
		return false
	}
	for _, it := range n.items {
		if !it.val.each(f) {
			return false
		}
	}
	return true
}
