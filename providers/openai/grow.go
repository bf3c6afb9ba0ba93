package openai

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A node is a JSON value that comes in pieces: the message of a stream, or a part of it.
// It grows into the value that the API would have sent whole, with all members that this
// package knows nothing of: signatures, reasoning, what a server adds for itself.
//
//   - The strings that are told in pieces are joined, as bytes, so that their escapes stay.
//     Of others, which servers like to repeat, the first stays.
//   - Objects grow by their members, arrays by their elements; two of one index and type
//     are one, such as OpenRouter's reasoning_details.
//   - Null adds nothing. Any other value, and one of another kind, replaces what was there.
type node struct {
	key  string // of a member its name; of an element what tells it from others, "" when nothing does
	kind byte   // the first byte of the value; 0: nothing has come
	raw  []byte // the value, a string's closing quote left off; empty once it is split
	kids []*node
}

// growing are the strings that are told in pieces.
var growing = []string{"content", "refusal", "reasoning", "reasoning_content", "text", "summary", "thinking", "arguments"}

// among bounds how far back the parts of a value are searched for the one that a piece
// belongs to: real messages have a few.
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

// set is merge for a value that takes the place of all that has come.
func (n *node) set(value []byte) {
	n.kind, n.kids = value[0], nil
	n.raw = append(n.raw[:0], value...)
	if n.kind == '"' {
		n.raw = n.raw[:len(n.raw)-1]
	}
}

// setText is set for a string.
func (n *node) setText(s string) { n.set(wire.AppendString(nil, s)) }

// split takes an object or an array apart.
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

// child is the member of a name, made when there is none. What is no object becomes one.
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

// get is the member of a name; nil when there is none.
func (n *node) get(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	n.split()
	return n.find(name)
}

// element is the element that a piece is one of, made when there is none.
func (n *node) element(piece []byte) *node {
	key := elementKey(piece)
	if kid := n.find(key); kid != nil && key != "" {
		return kid
	}
	return n.add(key)
}

// elementKey tells the elements of an array apart: by index and type.
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

// cut takes a member out.
func (n *node) cut(name string) {
	n.split()
	n.kids = slices.DeleteFunc(n.kids, func(kid *node) bool { return kid.key == name })
}

// json is the value as it stands; nil when nothing has come.
func (n *node) json() []byte {
	if n == nil || n.kind == 0 {
		return nil
	}
	return n.append(nil)
}

// append appends the value as it stands.
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
			b = member(b, kid.key)
		} else {
			b = element(b)
		}
		b = kid.append(b)
	}
	return append(b, n.kind+2) // in ASCII the closing brackets are two behind the opening ones
}

// text is the value when it is a string.
func (n *node) text() string { return textOf(n.json()) }
