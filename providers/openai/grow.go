package openai

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
)

// A node is a JSON value that is streamed in pieces: a message, or a part of one. The result
// is the value that the API sends when it does not stream, with all members that this package
// does not know: signatures, reasoning, additions of a server.
//
//   - The strings in growing are joined, as bytes, so that their escapes stay. Of other
//     strings, which servers repeat, the first stays.
//   - Objects are merged by their members, arrays by their elements: two with the same index
//     and type are one, such as OpenRouter's reasoning_details.
//   - Null adds nothing. Any other value, and one of another type, replaces the value.
type node struct {
	key  string // the name of a member; of an element see elementKey
	kind byte   // the first byte of the value; 0 before the first piece
	raw  []byte // the value, without a string's closing quote; empty once it is split
	kids []*node
}

// growing are the strings that are streamed in pieces.
var growing = []string{"content", "refusal", "reasoning", "reasoning_content", "text", "summary", "thinking", "arguments"}

// among bounds how many of the last parts of a value are searched for the one that a piece
// continues: real messages have a few.
const among = 256

// merge adds a piece, valid JSON without white space around it.
func (n *node) merge(piece []byte) {
	if len(piece) == 0 {
		return
	}
	kind := piece[0]
	switch {
	case n.kind == 0 || n.kind == 'n':
		n.set(piece)
	case kind == 'n':
	case kind != n.kind:
		n.set(piece)
	case kind == '"':
		if len(n.raw) == 1 || slices.Contains(growing, n.key) {
			n.raw = append(n.raw, piece[1:len(piece)-1]...)
		}
	case kind == '{':
		n.split()
		for name, value := range wire.Members(piece) {
			n.child(name).merge(value)
		}
	case kind == '[':
		n.split()
		for value := range wire.Elements(piece) {
			n.element(value).merge(value)
		}
	default:
		n.set(piece)
	}
}

// set replaces the value.
func (n *node) set(value []byte) {
	n.kind, n.kids = value[0], nil
	n.raw = append(n.raw[:0], value...)
	if n.kind == '"' {
		n.raw = n.raw[:len(n.raw)-1]
	}
}

// setText replaces the value by a string.
func (n *node) setText(s string) { n.set(wire.AppendString(nil, s)) }

// split parses the members of an object or the elements of an array into kids.
func (n *node) split() {
	whole := n.raw
	n.raw = nil
	switch {
	case len(whole) == 0:
	case n.kind == '{':
		for name, value := range wire.Members(whole) {
			n.child(name).merge(value)
		}
	default:
		for value := range wire.Elements(whole) {
			n.add(elementKey(value)).merge(value)
		}
	}
}

// child returns the member of a name, and adds it if missing. Any other value becomes an
// object.
func (n *node) child(name string) *node {
	if n.kind != '{' {
		*n = node{key: n.key, kind: '{'}
	}
	n.split()
	if kid := n.find(name); kid != nil {
		return kid
	}
	return n.add(name)
}

// get returns the member of a name, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	n.split()
	return n.find(name)
}

// element returns the element that a piece continues, and adds it if missing.
func (n *node) element(piece []byte) *node {
	key := elementKey(piece)
	if kid := n.find(key); kid != nil && key != "" {
		return kid
	}
	return n.add(key)
}

// elementKey returns the index and the type of an element, which identify it; "" if it has no
// index.
func elementKey(piece []byte) string {
	index := wire.Lookup(piece, "index")
	if len(index) == 0 {
		return ""
	}
	return string(index) + string(wire.Lookup(piece, "type"))
}

func (n *node) find(key string) *node {
	for i := len(n.kids) - 1; i >= max(0, len(n.kids)-among); i-- {
		if n.kids[i].key == key {
			return n.kids[i]
		}
	}
	return nil
}

func (n *node) add(key string) *node {
	kid := &node{key: key}
	n.kids = append(n.kids, kid)
	return kid
}

// cut removes a member.
func (n *node) cut(name string) {
	n.split()
	n.kids = slices.DeleteFunc(n.kids, func(kid *node) bool { return kid.key == name })
}

// json returns the value; nil before the first piece.
func (n *node) json() []byte {
	if n == nil || n.kind == 0 {
		return nil
	}
	return n.append(nil)
}

// append appends the value.
func (n *node) append(b []byte) []byte {
	switch {
	case n.kind == 0:
		return append(b, "null"...)
	case n.kind == '"':
		return append(append(b, n.raw...), '"')
	case len(n.raw) > 0:
		return append(b, n.raw...)
	}
	b = append(b, n.kind)
	for _, kid := range n.kids {
		if n.kind == '{' {
			b = rawjson.Member(b, kid.key)
		} else {
			b = rawjson.Element(b)
		}
		b = kid.append(b)
	}
	return append(b, n.kind+2) // in ASCII a closing bracket follows two after the opening one
}

// text returns the value of a string; "" for anything else.
func (n *node) text() string { return rawjson.TextOf(n.json()) }
