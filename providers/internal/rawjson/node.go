package rawjson

import (
	"iter"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Node is a JSON value that is streamed in pieces: a message, or a part of one. The result
// is the value that the API sends when it does not stream, with all members that its user
// does not know: signatures, reasoning, additions of a server.
//
//   - The strings in growing are joined, as bytes, so that their escapes stay. Of other
//     strings, which servers repeat, the first stays.
//   - Objects are merged by their members, arrays by their elements: two with the same index
//     and type are one, such as OpenRouter's reasoning_details.
//   - Null adds nothing. Any other value, and one of another type, replaces the value.
type Node struct {
	key  string // the name of a member; of an element see elementKey
	kind byte   // the first byte of the value; 0 before the first piece
	raw  []byte // the value, without a string's closing quote; empty once it is split
	kids []*Node
}

// growing are the strings that are streamed in pieces.
var growing = []string{"content", "refusal", "reasoning", "reasoning_content", "text", "summary", "thinking", "arguments"}

// MaxRecent bounds how many of the last parts of a value are searched for the one that a piece
// continues: real messages have a few.
const MaxRecent = 256

// Merge adds a piece, valid JSON without white space around it.
func (n *Node) Merge(piece []byte) {
	if len(piece) == 0 {
		return
	}
	kind := piece[0]
	switch {
	case n.kind == 0 || n.kind == 'n':
		n.Set(piece)
	case kind == 'n':
	case kind != n.kind:
		n.Set(piece)
	case kind == '"':
		if len(n.raw) == 1 || slices.Contains(growing, n.key) {
			n.raw = append(n.raw, piece[1:len(piece)-1]...)
		}
	case kind == '{':
		n.split()
		for name, value := range wire.Members(piece) {
			n.Child(name).Merge(value)
		}
	case kind == '[':
		n.split()
		for value := range wire.Elements(piece) {
			n.element(value).Merge(value)
		}
	default:
		n.Set(piece)
	}
}

// Set replaces the value.
func (n *Node) Set(value []byte) {
	n.kind, n.kids = value[0], nil
	n.raw = append(n.raw[:0], value...)
	if n.kind == '"' {
		n.raw = n.raw[:len(n.raw)-1]
	}
}

// SetText replaces the value by a string.
func (n *Node) SetText(s string) { n.Set(wire.AppendString(nil, s)) }

// split parses the members of an object or the elements of an array into kids.
func (n *Node) split() {
	whole := n.raw
	n.raw = nil
	switch {
	case len(whole) == 0:
	case n.kind == '{':
		for name, value := range wire.Members(whole) {
			n.Child(name).Merge(value)
		}
	default:
		for value := range wire.Elements(whole) {
			n.add(elementKey(value)).Merge(value)
		}
	}
}

// Child returns the member of a name, and adds it if missing. Any other value becomes an
// object.
func (n *Node) Child(name string) *Node {
	if n.kind != '{' {
		*n = Node{key: n.key, kind: '{'}
	}
	n.split()
	if kid := n.find(name); kid != nil {
		return kid
	}
	return n.add(name)
}

// Get returns the member of a name, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil || n.kind != '{' {
		return nil
	}
	n.split()
	return n.find(name)
}

// element returns the element that a piece continues, and adds it if missing.
func (n *Node) element(piece []byte) *Node {
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

func (n *Node) find(key string) *Node {
	for i := len(n.kids) - 1; i >= max(0, len(n.kids)-MaxRecent); i-- {
		if n.kids[i].key == key {
			return n.kids[i]
		}
	}
	return nil
}

func (n *Node) add(key string) *Node {
	kid := &Node{key: key}
	n.kids = append(n.kids, kid)
	return kid
}

// At makes the value an array, unless it is one, and returns the element at an index, which it
// adds if it is the next one; nil for one beyond that.
func (n *Node) At(i int) *Node {
	if n.kind != '[' {
		*n = Node{key: n.key, kind: '['}
	}
	n.split()
	switch {
	case i < len(n.kids):
		return n.kids[i]
	case i > len(n.kids):
		return nil
	}
	return n.add("")
}

// Extend adds a string to the value, or replaces any other value by it.
func (n *Node) Extend(piece []byte) {
	if n.kind != '"' {
		n.Set(piece)
		return
	}
	n.raw = append(n.raw, piece[1:len(piece)-1]...)
}

// AppendElement makes the value an array, unless it is one, and adds an element.
func (n *Node) AppendElement(value []byte) {
	if n.kind != '[' {
		*n = Node{key: n.key, kind: '['}
	}
	n.split()
	n.add("").Set(value)
}

// AppendText adds a string to an array of content: to the last element, if that is a text. It
// reports false for a value that is not an array.
func (n *Node) AppendText(piece []byte) bool {
	if n.kind != '[' {
		return false
	}
	n.split()
	if last := len(n.kids) - 1; last < 0 || n.kids[last].Get("type").Text() != "text" {
		n.add("").Merge([]byte(`{"type":"text"}`))
	}
	n.kids[len(n.kids)-1].Child("text").Merge(piece)
	return true
}

// Members returns the members of an object, by name.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		n.split()
		for _, kid := range n.kids {
			if !yield(kid.key, kid) {
				return
			}
		}
	}
}

// Cut removes a member.
func (n *Node) Cut(name string) {
	n.split()
	n.kids = slices.DeleteFunc(n.kids, func(kid *Node) bool { return kid.key == name })
}

// JSON returns the value; nil before the first piece.
func (n *Node) JSON() []byte {
	if n == nil || n.kind == 0 {
		return nil
	}
	return n.Append(nil)
}

// Append appends the value.
func (n *Node) Append(b []byte) []byte {
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
			b = Member(b, kid.key)
		} else {
			b = Element(b)
		}
		b = kid.Append(b)
	}
	return append(b, n.kind+2) // in ASCII a closing bracket follows two after the opening one
}

// Text returns the value of a string; "" for anything else.
func (n *Node) Text() string { return TextOf(n.JSON()) }
