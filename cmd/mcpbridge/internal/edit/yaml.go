package edit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds the values of a YAML file, which aliases multiply.
const maxNodes = 100_000

type yamlText struct {
	text  []byte
	lines []int // offsets of the first bytes of lines
	root  *node
	left  int // nodes that may still be made
}

// parseYAML parses one YAML document.
func parseYAML(text []byte) (document, error) {
	d := &yamlText{text: text, lines: linesYAML(text), left: maxNodes}
	if err := d.checkNesting(); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var root, second yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		d.root = &node{kind: object}
		return d, nil
	case err != nil:
		return nil, reasonYAML(err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, errorAt(second.Line, "a second document: expected one")
	} else if !errors.Is(err, io.EOF) {
		return nil, reasonYAML(err)
	}
	var err error
	if d.root, err = d.node(root.Content[0], d.end(), false); err != nil {
		return nil, err
	}
	if d.root.isNull() && root.Content[0].Value == "" {
		d.root = &node{kind: object}
	}
	if d.root.kind != object {
		return nil, errorAt(root.Content[0].Line, "the file is %s: expected a mapping", article(d.root))
	}
	return d, nil
}

// checkNesting bounds what the parser recurses into: brackets, and collections within one another.
func (d *yamlText) checkNesting() error {
	depth := 0
	for i, c := range d.text { // brackets in strings and comments count too, which no config comes near
		if c == '[' || c == '{' {
			depth++
		} else if c == ']' || c == '}' {
			depth = max(0, depth-1)
		}
		if depth > maxNesting {
			return errorAt(lineOf(d.text, i), "nested deeper than %d levels", maxNesting)
		}
	}
	return nil
}

var yamlReason = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^yaml: (line \d+: )?`)
})

// reasonYAML returns an error of the library, which names no line but the later ones.
func reasonYAML(err error) error {
	m := yamlReason().FindStringSubmatch(err.Error())
	if m == nil {
		m = []string{"", ""}
	}
	return fmt.Errorf("%snot YAML: %s", cmp.Or(m[1], "line 1: "), strings.TrimPrefix(err.Error(), m[0]))
}

// linesYAML returns the offsets of lines by the line ends of YAML 1.1, as the parser counts them.
func linesYAML(text []byte) []int {
	lines := []int{0}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case r == '\r' && i < len(text) && text[i] == '\n':
		case r == '\n', r == '\r', r == '\u0085', r == '\u2028', r == '\u2029':
			lines = append(lines, i)
		}
	}
	return lines
}

// offset returns the offset of a node. Columns count characters.
func (d *yamlText) offset(n *yaml.Node) int {
	at := d.lines[min(n.Line, len(d.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(d.text[at:])
		at += size
	}
	return at
}

// end returns the offset of the end of the document.
func (d *yamlText) end() int {
	for _, at := range d.lines[1:] {
		if line := string(d.text[at:lineEnd(d.text, at)]); line == "..." || strings.HasPrefix(line, "... ") {
			return at
		}
	}
	return len(d.text)
}

// node converts a node that ends before limit. One that is fixed is elsewhere in the text.
func (d *yamlText) node(y *yaml.Node, limit int, fixed bool) (*node, error) {
	if d.left--; d.left < 0 {
		return nil, errorAt(y.Line, "more than %d values", maxNodes)
	}
	if y.Kind == yaml.AliasNode {
		n, err := d.node(y.Alias, limit, true)
		if n != nil {
			n.start, n.fixed = d.offset(y), true
		}
		return n, err
	}
	n := &node{fixed: fixed, start: d.offset(y), flow: y.Style&yaml.FlowStyle != 0}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = object
		return n, d.mapping(n, y, limit)
	case yaml.SequenceNode:
		n.kind = array
		return n, d.sequence(n, y, limit)
	}
	n.value = scalarYAML(y)
	n.end = n.start
	if !fixed && y.Line > 0 {
		n.end = d.scalarEnd(n.start, limit)
	}
	return n, nil
}

func (d *yamlText) mapping(n *node, y *yaml.Node, limit int) error {
	lines := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return errorAt(key.Line, "a key that is not a string")
		}
		if key.Tag == "!!merge" {
			merges = append(merges, value)
		}
		if first, ok := lines[key.Value]; ok {
			return duplicate(key.Value, key.Line, first)
		}
		lines[key.Value] = key.Line
		it := &item{key: key.Value, line: key.Line, start: d.offset(key)}
		end := limit
		if i+2 < len(y.Content) && !n.fixed {
			end = n.limit(d.text, d.offset(y.Content[i+2]))
		}
		if i == 0 {
			n.column = it.start - lineStart(d.text, it.start)
		}
		var err error
		if it.val, err = d.node(value, end, n.fixed); err != nil {
			return err
		}
		d.finish(n, it, end)
		n.items = append(n.items, it)
	}
	d.close(n)
	return d.merge(n, merges, limit)
}

// limit returns where an item ends at the latest that the next item, at an offset, follows.
func (n *node) limit(text []byte, next int) int {
	if n.flow {
		return next
	}
	return lineStart(text, next)
}

// merge adds the items of the mappings that "<<" names.
func (d *yamlText) merge(n *node, merges []*yaml.Node, limit int) error {
	for _, m := range merges {
		v, err := d.node(m, limit, true)
		if err != nil {
			return err
		}
		sources := []*node{v}
		if v.kind == array {
			sources = nil
			for _, it := range v.items {
				sources = append(sources, it.val)
			}
		}
		for _, source := range sources {
			for _, it := range source.items {
				if n.find(it.key) == nil {
					n.items = append(n.items, &item{key: it.key, line: it.line, val: it.val, merged: true})
				}
			}
		}
	}
	return nil
}

func (d *yamlText) sequence(n *node, y *yaml.Node, limit int) error {
	for i, value := range y.Content {
		it := &item{line: value.Line, start: d.offset(value)}
		end := limit
		if i+1 < len(y.Content) && !n.fixed {
			end = n.limit(d.text, d.dash(d.offset(y.Content[i+1])))
		}
		var err error
		if it.val, err = d.node(value, end, n.fixed); err != nil {
			return err
		}
		if !n.flow && !n.fixed {
			it.start = d.dash(it.start)
		}
		if i == 0 {
			n.column = it.start - lineStart(d.text, it.start)
		}
		d.finish(n, it, end)
		n.items = append(n.items, it)
	}
	d.close(n)
	return nil
}

// dash returns the offset of the dash before an element.
func (d *yamlText) dash(at int) int {
	for i := at - 1; i >= 0; i-- {
		if d.text[i] == '-' {
			return i
		}
		if strings.IndexByte(" \t\r\n", d.text[i]) < 0 {
			break
		}
	}
	return at
}

// finish sets the end of an item that ends before limit.
func (d *yamlText) finish(n *node, it *item, limit int) {
	switch {
	case n.fixed:
	case n.flow:
		if v := it.val; v.kind == scalar && v.end > v.start && strings.IndexByte(`"'`, d.text[v.start]) < 0 {
			if at := bytes.IndexAny(d.text[v.start:v.end], ",]}"); at >= 0 {
				v.end = v.start + len(bytes.TrimRight(d.text[v.start:v.start+at], " \t"))
			}
		}
		it.end = max(it.val.end, it.start)
	default:
		it.end = d.content(it.start, limit, n.column)
	}
}

// close sets the end of a collection.
func (d *yamlText) close(n *node) {
	if n.fixed || !n.flow && len(n.items) == 0 {
		return
	}
	if !n.flow {
		n.end = n.items[len(n.items)-1].end
		return
	}
	for n.start < len(d.text) && d.text[n.start] != '{' && d.text[n.start] != '[' { // after an anchor or a tag
		n.start++
	}
	at := n.start + 1
	if len(n.items) > 0 {
		at = n.items[len(n.items)-1].end
	}
	for at < len(d.text) && d.text[at] != n.brackets()[1] {
		at += max(1, commentHash(d.text[at:]))
	}
	n.end = min(at+1, len(d.text))
}

// content returns the end of the last line of an item, without blank lines and comments after it.
func (d *yamlText) content(start, limit, column int) int {
	end := lineEnd(d.text, start)
	for at := nextLine(d.text, start); at < limit && at > start; at = nextLine(d.text, at) {
		line := d.text[at:lineEnd(d.text, at)]
		indent := len(line) - len(bytes.TrimLeft(line, " \t"))
		if len(line) > indent && (line[indent] != '#' || indent > column) {
			end = at + len(line)
		}
		if nextLine(d.text, at) == at {
			break
		}
	}
	return end
}

// scalarEnd returns the end of a scalar that ends before limit.
func (d *yamlText) scalarEnd(at, limit int) int {
	for at < limit && (d.text[at] == '&' || d.text[at] == '!') { // anchors and tags
		for at < limit && strings.IndexByte(" \t\r\n", d.text[at]) < 0 {
			at++
		}
		for at < limit && (d.text[at] == ' ' || d.text[at] == '\t') {
			at++
		}
	}
	if at >= limit {
		return at
	}
	if quote := d.text[at]; quote == '"' || quote == '\'' {
		return endQuoted(d.text, at, limit)
	}
	end := at
	for i := at; i < limit; i++ {
		switch c := d.text[i]; {
		case c == '\n' || c == '\r' || c == '#' && i > 0 && (d.text[i-1] == ' ' || d.text[i-1] == '\t'):
			return end
		case c != ' ' && c != '\t':
			end = i + 1
		}
	}
	return end
}

// endQuoted returns the end of a quoted scalar.
func endQuoted(text []byte, at, limit int) int {
	quote := text[at]
	for i := at + 1; i < limit; i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < limit && text[i+1] == '\'':
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return limit
}

// scalarYAML returns a scalar as JSON.
func scalarYAML(y *yaml.Node) json.RawMessage {
	switch y.ShortTag() {
	case "!!null":
		return json.RawMessage("null")
	case "!!bool":
		var b bool
		if y.Decode(&b) == nil {
			return json.RawMessage(fmt.Sprint(b))
		}
	case "!!int", "!!float":
		if json.Valid([]byte(y.Value)) {
			return json.RawMessage(y.Value)
		}
		var i int64
		if y.Decode(&i) == nil {
			return json.RawMessage(fmt.Sprint(i))
		}
		var f float64
		if y.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			b, _ := json.Marshal(f) // it is finite
			return b
		}
	}
	return quote(y.Value)
}

func (d *yamlText) tree() *node { return d.root }
