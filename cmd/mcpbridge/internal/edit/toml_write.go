package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

func (d *tomlText) brackets(n *node) *bracketed {
	return &bracketed{text: d.text, node: n, space: commentHash}
}

func (d *tomlText) insert(in trail, parent *node, key string, v *node) ([]byte, error) {
	path := make([]string, 0, len(in)+1)
	for _, it := range in {
		path = append(path, it.key)
	}
	path = append(path, key)
	nl := newline(d.text)
	line := keyTOML(key) + " = " + inlineTOML(v)
	dotted := d.lastDotted(parent)
	switch own := d.header(parent); {
	case parent.kind == array:
		return nil, errorAt(in.last().line, "the elements of %s cannot be edited: change it by hand", name(path[:len(path)-1]))
	case parent.flow:
		return d.brackets(parent).add("", func(place) string { return line }), nil
	case v.kind == object && dotted == nil && !d.hasInline(parent):
		at := d.endOf(parent)
		return d.addLines(at, d.tables(path, v), true), nil
	case own != nil:
		return d.addLines(d.lastLine(own), line+nl, false), nil
	case dotted != nil:
		return d.addLines(nextLine(d.text, dotted.end), indentOf(d.text, dotted.start)+d.prefix(in)+line+nl, false), nil
	}
	first := d.first(parent)
	return splice(d.text, first, first, "["+keyTOML(path[:len(path)-1]...)+"]"+nl+line+nl+nl), nil
}

// header returns the section of a table, or nil if it does not have one.
func (d *tomlText) header(n *node) *section {
	if len(n.sections) == 0 {
		return nil
	}
	return n.sections[0]
}

// lastDotted returns the last item of a table that dotted keys define, or nil.
func (d *tomlText) lastDotted(n *node) (last *item) {
	for _, it := range n.items {
		if it.from != nil {
			last = it
		}
		if below := d.lastDotted(it.val); it.from != nil && below != nil {
			last = below
		}
	}
	return last
}

// prefix returns the keys before the last one in the dotted keys of a table.
func (d *tomlText) prefix(in trail) string {
	var keys []string
	for _, it := range in {
		if it.from != nil {
			keys = append(keys, it.key)
		}
	}
	return keyTOML(keys...) + "."
}

// hasInline reports whether the tables in a table are inline tables.
func (d *tomlText) hasInline(n *node) bool {
	for _, it := range n.items {
		if it.val.kind == object {
			return it.val.flow
		}
	}
	return false
}

// below returns the sections of a node and of what is in it, in the order of the file.
func (d *tomlText) below(n *node) (all []*section) {
	n.each(func(n *node) bool {
		all = append(all, n.sections...)
		return true
	})
	slices.SortFunc(all, func(a, b *section) int { return cmp.Compare(a.start, b.start) })
	return all
}

// first returns the offset of the first header below a table.
func (d *tomlText) first(n *node) int { return d.below(n)[0].start }

// endOf returns where a section that follows those of a table begins.
func (d *tomlText) endOf(n *node) int {
	all := d.below(n)
	last := all[len(all)-1]
	if n == d.root {
		last = d.sections[len(d.sections)-1]
	}
	return d.content(last)
}

// content returns the end of a section without the blank lines at its end, and without the comments
// directly above the next header.
func (d *tomlText) content(s *section) int {
	end := d.lastLine(s)
	limit := s.end
	if limit < len(d.text) {
		limit = d.comments(s.end, end)
	}
	for at := end; at < limit; at = nextLine(d.text, at) {
		if !isBlank(d.text[at:lineEnd(d.text, at)]) {
			end = nextLine(d.text, at)
		}
	}
	return end
}

// comments returns the offset of the first of the comment lines directly above an offset. Those that the
// file begins with are about the file.
func (d *tomlText) comments(at, least int) int {
	own := at
	for at > least {
		above := lineStart(d.text, at-1)
		if above < least || d.text[above+len(indentOf(d.text, above))] != '#' {
			break
		}
		if at = above; at == 0 {
			return own
		}
	}
	return at
}

// lastLine returns the end of the last item of a section, or of its header.
func (d *tomlText) lastLine(s *section) int {
	if len(s.items) > 0 {
		return nextLine(d.text, s.items[len(s.items)-1].end)
	}
	if len(s.path) == 0 {
		return 0
	}
	return nextLine(d.text, s.start)
}

// addLines adds lines at the start of a line, or at the end of the text.
func (d *tomlText) addLines(at int, lines string, apart bool) []byte {
	nl := newline(d.text)
	if at > 0 && d.text[at-1] != '\n' {
		lines = nl + strings.TrimSuffix(lines, nl)
		if apart {
			lines = nl + lines
		}
		return splice(d.text, at, at, lines)
	}
	switch {
	case apart && at > 0:
		lines = nl + lines
	case apart && !isBlank(d.text[at:]), at == 0 && len(d.text) > 0 && d.text[0] == '[':
		lines += nl
	}
	return splice(d.text, at, at, lines)
}

// tables writes an object as a table with its subtables.
func (d *tomlText) tables(path []string, v *node) string {
	nl := newline(d.text)
	var own, below strings.Builder
	for _, it := range v.items {
		if it.val.kind == object && len(it.val.items) > 0 {
			below.WriteString(nl + d.tables(append(path[:len(path):len(path)], it.key), it.val))
		} else {
			own.WriteString(keyTOML(it.key) + " = " + inlineTOML(it.val) + nl)
		}
	}
	if own.Len() == 0 && below.Len() > 0 {
		return strings.TrimPrefix(below.String(), nl)
	}
	return "[" + keyTOML(path...) + "]" + nl + own.String() + below.String()
}

func (d *tomlText) replace(at trail, v *node) ([]byte, error) {
	it := at.last()
	if it.val.flow {
		return splice(d.text, it.valueStart(d.text), it.end, inlineTOML(v)), nil
	}
	text, err := d.remove(at)
	if err == nil && bytes.Equal(text, d.text) {
		err = errorAt(it.line, "%q is written in a way that cannot be edited: change it by hand", it.key)
	}
	if err != nil {
		return nil, err
	}
	var path []string
	for _, step := range at {
		path = append(path, step.key)
	}
	return set(TOML, text, path, v)
}

// valueStart returns the offset of the value of a key.
func (it *item) valueStart(text []byte) int {
	if it.val.kind != array {
		return it.val.start
	}
	at := it.start
	for quote := byte(0); text[at] != '=' || quote != 0; at++ {
		switch c := text[at]; {
		case quote == '"' && c == '\\':
			at++
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	for at++; text[at] == ' ' || text[at] == '\t'; at++ {
	}
	return at
}

func (d *tomlText) remove(at trail) ([]byte, error) {
	it, parent := at.last(), at.parent(d.root)
	if parent.flow && it.from == nil {
		return d.brackets(parent).cut(it), nil
	}
	if parent.kind == array {
		return nil, errorAt(it.line, "the elements of a list of tables cannot be edited: change it by hand")
	}
	var cuts [][2]int
	d.collect(it, &cuts)
	slices.SortFunc(cuts, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	var out []byte
	end := 0
	for _, c := range cuts {
		out = append(out, d.text[end:max(end, c[0])]...)
		end = max(end, c[1])
	}
	rest := d.text[end:]
	for at := nextLine(rest, 0); len(out) == 0 && at > 0 && isBlank(rest[:at]); at = nextLine(rest, 0) {
		rest = rest[at:]
	}
	return append(out, rest...), nil
}

// collect adds the lines of an item and of the items in it.
func (d *tomlText) collect(it *item, cuts *[][2]int) {
	if it.val.flow {
		start := d.comments(lineStart(d.text, it.start), 0)
		*cuts = append(*cuts, d.cut(start, nextLine(d.text, it.end), false))
		return
	}
	for _, s := range it.val.sections {
		start := d.comments(s.start, 0)
		end := d.lastLine(s)
		for at := end; at < s.end; at = nextLine(d.text, at) { // comments directly below
			if isBlank(d.text[at:lineEnd(d.text, at)]) {
				end = at
				break
			}
			if next := nextLine(d.text, at); next == s.end && s.end == len(d.text) {
				end = next
			}
		}
		*cuts = append(*cuts, d.cut(start, end, true))
	}
	for _, inner := range it.val.items {
		if inner.val.flow && len(it.val.sections) > 0 && inner.from == nil {
			continue // in the section
		}
		d.collect(inner, cuts)
	}
}

// cut extends lines by the blank line before them, and at the end of a text without a last line end
// by the line end before them.
func (d *tomlText) cut(start, end int, apart bool) [2]int {
	open := end == len(d.text) && end > 0 && d.text[end-1] != '\n'
	back := func() {
		if start > 0 && d.text[start-1] == '\n' {
			start--
			if start > 0 && d.text[start-1] == '\r' {
				start--
			}
		}
	}
	if open {
		back()
	}
	if apart && start > 0 {
		if above := lineStart(d.text, max(0, start-1)); !open && isBlank(d.text[above:start]) {
			start = above
		} else if open && isFirst(d.text, start) {
			back()
		}
	}
	return [2]int{start, end}
}

// keyTOML writes a key.
func keyTOML(path ...string) string {
	parts := make([]string, len(path))
	for i, key := range path {
		parts[i] = key
		if key == "" || strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			parts[i] = textTOML(key)
		}
	}
	return strings.Join(parts, ".")
}

// inlineTOML writes a value on one line.
func inlineTOML(v *node) string {
	switch {
	case v.kind == object:
		if len(v.items) == 0 {
			return "{}"
		}
		s := v.inline(" ", func(it *item) string { return keyTOML(it.key) + " = " + inlineTOML(it.val) })
		return "{ " + s[1:len(s)-1] + " }"
	case v.kind == array:
		return v.inline(" ", func(it *item) string { return inlineTOML(it.val) })
	case v.value[0] == '"':
		return textTOML(unquote(v.value))
	}
	return string(v.value)
}

// textTOML writes a text as a basic string.
func textTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
