package edit

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

func (d *yamlText) brackets(n *node) *bracketed {
	return &bracketed{text: d.text, node: n, space: commentHash}
}

func (d *yamlText) insert(in trail, parent *node, key string, v *node) ([]byte, error) {
	nl := newline(d.text)
	if parent.flow && len(parent.items) > 0 {
		return d.brackets(parent).add("", func(place) string {
			if parent.kind == array {
				return flowYAML(v)
			}
			return textYAML(key) + ": " + flowYAML(v)
		}), nil
	}
	if len(parent.items) > 0 {
		last := parent.items[0]
		for _, it := range parent.items {
			if !it.merged {
				last = it
			}
		}
		indent := strings.Repeat(" ", parent.column)
		return splice(d.text, last.end, last.end, nl+indent+d.entry(parent.kind, key, v, indent)), nil
	}
	if len(in) > 0 {
		return d.replace(in, &node{kind: parent.kind, items: []*item{{key: key, val: v}}})
	}
	entry := d.entry(object, key, v, "")
	at := d.end()
	switch {
	case parent.flow: // {}
		return splice(d.text, parent.start, parent.end, entry), nil
	case at > 0 && d.text[at-1] != '\n':
		return splice(d.text, at, at, nl+entry), nil
	}
	return splice(d.text, at, at, entry+nl), nil
}

// replace replaces the value of an item. A comment behind it stays.
func (d *yamlText) replace(at trail, v *node) ([]byte, error) {
	it, parent := at.last(), at.parent(d.root)
	indent := strings.Repeat(" ", parent.column)
	if parent.flow {
		return splice(d.text, it.val.start, it.val.end, flowYAML(v)), nil
	}
	if parent.kind == array {
		return splice(d.text, it.start, it.end, d.entry(array, "", v, indent)), nil
	}
	colon := d.colon(it)
	end := d.valueEnd(it, colon)
	written := d.rest(v, indent)
	if it.val.flow && len(it.val.items) > 0 {
		written = " " + flowYAML(v)
	}
	inline := strings.HasPrefix(written, " ")
	if it.val.kind != scalar && !it.val.flow { // what follows the colon in its line is a comment
		eol := lineEnd(d.text, colon)
		if inline {
			return splice(splice(d.text, eol, it.end, ""), colon, colon, written), nil
		}
		return splice(d.text, eol, it.end, written), nil
	}
	if inline {
		return splice(d.text, colon, end, written), nil
	}
	eol := lineEnd(d.text, end)
	return splice(splice(d.text, eol, eol, written), colon, end, ""), nil
}

// colon returns the offset behind the colon of a key.
func (d *yamlText) colon(it *item) int {
	at := it.start
	if d.text[at] == '"' || d.text[at] == '\'' {
		at = endQuoted(d.text, at, it.end)
	}
	for ; at < it.end; at++ {
		if d.text[at] == ':' && (at+1 == len(d.text) || strings.IndexByte(" \t\r\n", d.text[at+1]) >= 0) {
			return at + 1
		}
	}
	return it.end
}

// valueEnd returns the end of the value of a key.
func (d *yamlText) valueEnd(it *item, colon int) int {
	n := it.val
	switch {
	case n.fixed: // an alias
		return d.scalarEnd(n.start, it.end)
	case n.flow:
		return n.end
	case n.kind != scalar:
		return it.end
	case n.start < colon || n.start >= it.end || d.text[n.start] == '#': // null that is not written
		return colon
	case d.text[n.start] == '"' || d.text[n.start] == '\'' || it.end == lineEnd(d.text, n.start):
		return n.end
	}
	return it.end
}

func (d *yamlText) remove(at trail) ([]byte, error) {
	it, parent := at.last(), at.parent(d.root)
	if parent.flow {
		return d.brackets(parent).cut(it), nil
	}
	if len(parent.items) == 1 && len(at) > 1 {
		return d.replace(at[:len(at)-1], &node{kind: parent.kind})
	}
	if !isFirst(d.text, it.start) {
		if it != parent.items[0] || len(parent.items) == 1 || parent.items[1].merged {
			return nil, errorAt(it.line, "the key is not at the beginning of its line: change it by hand")
		}
		return splice(d.text, it.start, parent.items[1].start, ""), nil
	}
	own, end := lineStart(d.text, it.start), nextLine(d.text, it.end)
	start := own
	for start > 0 {
		above := lineStart(d.text, start-1)
		indent := indentOf(d.text, above)
		if len(indent) != parent.column || d.text[above+len(indent)] != '#' {
			break
		}
		if start = above; start == 0 { // what the file begins with is about the file
			start = own
			break
		}
	}
	if end == len(d.text) && d.text[end-1] != '\n' && start > 0 { // no line end at the end of the text
		start = lineEnd(d.text, start-1)
	}
	return splice(d.text, start, end, ""), nil
}

// entry writes an item of a block collection, without the indentation of its first line.
func (d *yamlText) entry(in kind, key string, v *node, indent string) string {
	if in == object {
		return textYAML(key) + ":" + d.rest(v, indent)
	}
	if v.kind != object || len(v.items) == 0 {
		return "- " + flowYAML(v)
	}
	inner := indent + "  "
	parts := make([]string, len(v.items))
	for i, it := range v.items {
		parts[i] = d.entry(object, it.key, it.val, inner)
	}
	return "- " + strings.Join(parts, newline(d.text)+inner)
}

// rest writes what follows the colon of a key.
func (d *yamlText) rest(v *node, indent string) string {
	if len(v.items) == 0 {
		return " " + flowYAML(v)
	}
	inner := indent + d.unit(v.kind)
	var b strings.Builder
	for _, it := range v.items {
		b.WriteString(newline(d.text) + inner + d.entry(v.kind, it.key, it.val, inner))
	}
	return b.String()
}

// unit returns what a collection in a mapping is indented by, as in the rest of the file.
func (d *yamlText) unit(of kind) string {
	unit := -1
	d.root.each(func(n *node) bool {
		if n.kind != object || n.flow || n.fixed {
			return true
		}
		for _, it := range n.items {
			if it.val.kind == of && !it.val.flow && !it.val.fixed && len(it.val.items) > 0 && unit < 0 {
				unit = it.val.column - n.column
			}
		}
		return unit < 0
	})
	if unit < 0 {
		unit = 2
	}
	return strings.Repeat(" ", unit)
}

// flowYAML writes a value on one line.
func flowYAML(v *node) string {
	if v.kind == scalar {
		if v.value[0] != '"' {
			return string(v.value)
		}
		return textYAML(unquote(v.value))
	}
	return v.inline(" ", func(it *item) string {
		s := flowYAML(it.val)
		if it.val.kind == scalar && it.val.value[0] == '"' { // a bracket or a comma would end it
			s = string(quote(unquote(it.val.value)))
		}
		if v.kind == array {
			return s
		}
		return string(quote(it.key)) + ": " + s
	})
}

// textYAML writes a text, in quotes where YAML needs them.
func textYAML(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return string(quote(s))
	}
	out, err := yaml.Marshal(s)
	if text := strings.TrimSuffix(string(out), "\n"); err == nil && !strings.Contains(text, "\n") {
		return text
	}
	return string(quote(s))
}
