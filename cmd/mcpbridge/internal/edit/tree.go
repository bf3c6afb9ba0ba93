package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

type kind byte

const (
	scalar kind = iota
	object
	array
)

// A node is a value in the syntax tree of a text, or of a value to be written.
type node struct {
	kind       kind
	value      json.RawMessage // of a scalar
	items      []*item
	start, end int  // its bytes, with brackets; not for tables of TOML and block collections of YAML
	flow       bool // between brackets
	column     int  // of the keys or dashes of a block collection of YAML, in bytes
	fixed      bool // cannot be edited: it is elsewhere in the text, as with an alias of YAML
	sections   []*section
}

// An item is a member of an object or an element of an array.
type item struct {
	key        string
	start, end int // from its key, or its dash, to the end of its value
	line       int
	val        *node
	from       *node // what it stands in, where that is not the parent: dotted keys of TOML
	merged     bool  // from another mapping of YAML, by "<<"
	lost       bool  // a later item of the object has its key, and counts
	others     bool  // there are lost items with its key
}

// trail is the way from the root to an item.
type trail []*item

func (t trail) last() *item { return t[len(t)-1] }

// parent returns the node that the last item is in.
func (t trail) parent(root *node) *node {
	if len(t) < 2 {
		return root
	}
	return t[len(t)-2].val
}

func (n *node) isNull() bool { return n.kind == scalar && string(n.value) == "null" }

// find returns the item that a step of a path leads to, or nil.
func (n *node) find(step string) *item {
	key, value, isElement := element(step)
	for _, it := range n.items {
		switch n.kind {
		case object:
			if it.key == step && !it.lost {
				return it
			}
		case array:
			if !isElement || it.val.kind != object {
				continue
			}
			if m := it.val.find(key); m != nil && m.val.kind == scalar && sameText(m.val.value, value) {
				return it
			}
		}
	}
	return nil
}

var elementPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\[([^=\[\]]+)=(.*)\]$`)
})

// element splits a step of the form [KEY=VALUE].
func element(step string) (key, value string, ok bool) {
	m := elementPattern().FindStringSubmatch(step)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

func sameText(value json.RawMessage, text string) bool {
	return len(value) > 0 && value[0] == '"' && unquote(value) == text
}

// json returns the value as compact JSON.
func (n *node) json() json.RawMessage {
	if n.kind == scalar {
		return n.value
	}
	var b bytes.Buffer
	b.WriteByte(n.brackets()[0])
	for _, it := range n.items {
		if it.lost {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		if n.kind == object {
			b.Write(quote(it.key))
			b.WriteByte(':')
		}
		b.Write(it.val.json())
	}
	b.WriteByte(n.brackets()[1])
	return b.Bytes()
}

func (n *node) brackets() string {
	if n.kind == array {
		return "[]"
	}
	return "{}"
}

// dropNulls removes the members that are null, which TOML does not have.
func (n *node) dropNulls() {
	n.items = slices.DeleteFunc(n.items, func(it *item) bool { return n.kind == object && it.val.isNull() })
	for _, it := range n.items {
		it.val.dropNulls()
	}
}

// inline writes a value on one line, each item as entry writes it.
func (n *node) inline(space string, entry func(*item) string) string {
	var parts []string
	for _, it := range n.items {
		parts = append(parts, entry(it))
	}
	return n.brackets()[:1] + strings.Join(parts, ","+space) + n.brackets()[1:]
}

// quote returns s as a JSON string, without the escapes of HTML.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always has an encoding
	return bytes.TrimRight(b.Bytes(), "\n")
}

// wrap puts a value below the rest of a path.
func wrap(path []string, v *node) *node {
	for i := len(path) - 1; i >= 0; i-- {
		key, value, ok := element(path[i])
		if !ok {
			v = &node{kind: object, items: []*item{{key: path[i], val: v}}}
			continue
		}
		if v.kind == object && v.find(key) == nil {
			named := &item{key: key, val: &node{value: quote(value)}}
			v = &node{kind: object, items: append([]*item{named}, v.items...)}
		}
		v = &node{kind: array, items: []*item{{val: v}}}
	}
	return v
}

// duplicate returns an error about two items of one key.
func duplicate(key string, line, first int) error {
	return fmt.Errorf("line %d: duplicate key %s (the first is in line %d): remove one of them", line, quote(key), first)
}

// unquote returns the text of a JSON string.
func unquote(value json.RawMessage) (s string) {
	_ = json.Unmarshal(value, &s) // it is valid
	return s
}
