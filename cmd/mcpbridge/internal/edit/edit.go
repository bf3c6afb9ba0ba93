package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Format is the format of a file.
type Format int

// The formats.
const (
	JSON Format = iota // with comments and trailing commas
	TOML
	YAML
)

// bom is a byte order mark, which some editors on Windows write.
const bom = "\ufeff"

// document is a parsed text. Its methods return a changed text.
type document interface {
	tree() *node
	insert(in trail, parent *node, key string, v *node) ([]byte, error) // as the last item of parent, where in leads
	replace(at trail, v *node) ([]byte, error)
	remove(at trail) ([]byte, error)
}

// open parses text and returns the byte order mark that it begins with.
func open(f Format, text []byte) (mark string, d document, err error) {
	if bytes.HasPrefix(text, []byte(bom)) {
		mark, text = bom, text[len(bom):]
	}
	switch f {
	case JSON:
		d, err = parseJSON(text)
	case TOML:
		d, err = parseTOML(text)
	case YAML:
		d, err = parseYAML(text)
	default:
		err = fmt.Errorf("edit: unknown format %d", f)
	}
	return mark, d, err
}

// Set returns text with the member at path set to value, which is JSON. A member that has the value
// is left as it is. Of an object that is there already, the members that differ are changed. A new
// member becomes the last one of its object, in the layout of its neighbors, and objects that are
// missing on the way are made. Every other byte stays.
//
// A step of the form [KEY=VALUE] leads to the element of an array whose member KEY is the string
// VALUE; a new element gets that member if value does not have it.
//
// The error names the line that is in the way.
func Set(f Format, text []byte, path []string, value json.RawMessage) ([]byte, error) {
	v, err := parseValue(value)
	if err != nil {
		return nil, err
	}
	if f == TOML {
		v.dropNulls()
	}
	return change(f, text, path, func(text []byte) ([]byte, error) { return set(f, text, path, v) },
		func(root any) any { return model(root, path, v) })
}

// Remove returns text without the member at path (and others with its key), the comments directly above
// it (but not those that the text begins with) and the one behind it; without such a member, it returns
// text. Objects that become empty stay. (Tables of TOML that only have subtables are not written, and so
// go with the last of them.)
//
// Set of a member that is missing, but not its object, and then Remove return the original text. The
// white space between the brackets of an empty object is the exception.
func Remove(f Format, text []byte, path []string) ([]byte, error) {
	return change(f, text, path, func(text []byte) ([]byte, error) { return remove(f, text, path) },
		func(root any) any { return model(root, path, nil) })
}

// change makes a change to a text and compares the values after it with those that want makes of the
// values before it.
func change(f Format, text []byte, path []string, make func([]byte) ([]byte, error), want func(any) any) ([]byte, error) {
	if len(path) == 0 || !utf8.ValidString(strings.Join(path, " ")) {
		return nil, errors.New("edit: the path is empty or not UTF-8")
	}
	mark, before, err := open(f, text)
	if err != nil {
		return nil, err
	}
	out, err := make(text[len(mark):])
	if err != nil {
		return nil, err
	}
	_, after, err := open(f, out)
	if err != nil || !reflect.DeepEqual(prune(f, values(after.tree())), prune(f, want(values(before.tree())))) {
		return nil, fmt.Errorf("cannot edit %s in the layout of this file: change it by hand", strings.Join(path, "."))
	}
	return append([]byte(mark), out...), nil
}

// values returns the values of a tree as Go values.
func values(n *node) any {
	switch {
	case n.kind == object:
		m := make(map[string]any, len(n.items))
		for _, it := range n.items {
			m[it.key] = values(it.val)
		}
		return m
	case n.kind == array:
		list := make([]any, 0, len(n.items))
		for _, it := range n.items {
			list = append(list, values(it.val))
		}
		return list
	case n.value[0] == '"':
		return unquote(n.value)
	}
	return json.Number(n.value) // true, false and null, too
}

// prune removes empty objects from the values of a TOML file, since tables without keys need not be written.
func prune(f Format, v any) any {
	m, ok := v.(map[string]any)
	if f != TOML || !ok {
		return v
	}
	for key, member := range m {
		if inner, ok := prune(f, member).(map[string]any); ok && len(inner) == 0 {
			delete(m, key)
		}
	}
	return m
}

// model is Set on Go values, and Remove if v is nil.
func model(root any, path []string, v *node) any {
	if len(path) == 0 {
		return values(v)
	}
	switch c := root.(type) {
	case map[string]any:
		member, ok := c[path[0]]
		switch {
		case v == nil && !ok:
		case v == nil && len(path) == 1:
			delete(c, path[0])
		default:
			c[path[0]] = model(member, path[1:], v)
		}
		return c
	case []any:
		key, value, _ := element(path[0])
		for i, e := range c {
			if m, ok := e.(map[string]any); ok && m[key] == value {
				if v == nil && len(path) == 1 {
					return append(c[:i:i], c[i+1:]...)
				}
				if len(path) == 1 {
					v = wrap(path, v).items[0].val
				}
				c[i] = model(e, path[1:], v)
				return c
			}
		}
		if v == nil {
			return c
		}
		return append(c, values(wrap(path, v)).([]any)...)
	}
	if v == nil {
		return root
	}
	return values(wrap(path, v))
}

func set(f Format, text []byte, path []string, v *node) ([]byte, error) {
	_, d, err := open(f, text)
	if err != nil {
		return nil, err
	}
	at, rest, err := walk(d.tree(), path)
	if err != nil {
		return nil, err
	}
	switch {
	case len(rest) == 0:
		if at.parent(d.tree()).kind == array {
			v = wrap(path[len(path)-1:], v).items[0].val
		}
		return reset(f, text, d, at, path, v)
	case len(at) > 0 && at.last().val.isNull():
		return d.replace(at, wrap(rest, v))
	}
	parent := d.tree()
	if len(at) > 0 {
		parent = at.last().val
	}
	if parent.kind == array {
		v := wrap(rest, v).items[0].val
		return d.insert(at, parent, "", v)
	}
	return d.insert(at, parent, rest[0], wrap(rest[1:], v))
}

// reset sets a value that is there.
func reset(f Format, text []byte, d document, at trail, path []string, v *node) ([]byte, error) {
	old := at.last().val
	if reflect.DeepEqual(values(old), values(v)) {
		return text, nil
	}
	if old.kind != object || v.kind != object || len(old.items) == 0 || len(v.items) == 0 {
		return d.replace(at, v)
	}
	var err error
	below := func(key string) []string { return append(path[:len(path):len(path)], key) }
	for _, it := range v.items {
		if text, err = set(f, text, below(it.key), it.val); err != nil {
			return nil, err
		}
	}
	for _, it := range old.items {
		if v.find(it.key) != nil {
			continue
		}
		if text, err = remove(f, text, below(it.key)); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func remove(f Format, text []byte, path []string) ([]byte, error) {
	_, d, err := open(f, text)
	if err != nil {
		return nil, err
	}
	at, rest, err := walk(d.tree(), path)
	if err != nil || len(rest) > 0 { // nothing is below a value that is not an object
		return text, nil
	}
	out, err := d.remove(at)
	if err == nil && at.last().others {
		return remove(f, out, path)
	}
	return out, err
}

// walk follows a path as far as it leads, and returns the rest. The error says which value is in the
// way.
func walk(root *node, path []string) (trail, []string, error) {
	var at trail
	n, line := root, 1
	for i, step := range path {
		_, _, isElement := element(step)
		switch {
		case n.fixed:
			return nil, nil, errorAt(line, "%s is written in a way that cannot be edited: change it by hand", name(path[:i]))
		case n.isNull():
			return at, path[i:], nil
		case n.kind == scalar || n.kind == array && !isElement:
			return nil, nil, errorAt(line, "%s is %s: expected an object", name(path[:i]), article(n))
		}
		it := n.find(step)
		if it == nil || it.merged {
			return at, path[i:], nil
		}
		at, n, line = append(at, it), it.val, it.line
	}
	return at, nil, nil
}

// name names a value by its path.
func name(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	return string(quote(strings.Join(path, ".")))
}

// article returns what a value that is not an object is, with its article.
func article(n *node) string {
	switch {
	case n.kind == array:
		return "a list"
	case n.isNull():
		return "null"
	case n.value[0] == '"':
		return "a string"
	case n.value[0] == 't' || n.value[0] == 'f':
		return "true or false"
	}
	return "a number"
}
