package tree

import (
	"slices"
	"strconv"
)

// A Node is one JSON value. The methods that read it may be called on nil.
type Node struct {
	Kind       Kind
	Raw        string   // JSON of a scalar, as written
	Members    []Member // members of an object, in order; no key occurs twice
	Items      []*Node  // items of an array
	Start, End int      // offsets in the input, in bytes
}

// A Member is a member of an object.
type Member struct {
	Key   string // decoded
	Value *Node
}

// A Kind is the type of a JSON value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	Text
	Array
	Object
)

// String returns the kind as it is called in a sentence: "an object".
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// NewObject returns an object of members.
func NewObject(members ...Member) *Node { return &Node{Kind: Object, Members: members} }

// NewMember returns a member of an object.
func NewMember(key string, value *Node) Member { return Member{key, value} }

// NewArray returns an array of items.
func NewArray(items ...*Node) *Node { return &Node{Kind: Array, Items: items} }

// NewText returns a string.
func NewText(s string) *Node { return &Node{Kind: Text, Raw: Quote(s)} }

// NewBool returns true or false.
func NewBool(b bool) *Node { return &Node{Kind: Bool, Raw: strconv.FormatBool(b)} }

// Is reports whether n is a value of a kind.
func (n *Node) Is(k Kind) bool { return n != nil && n.Kind == k }

// Get returns the member of an object; nil if it has none of that key.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == key {
			return n.Members[i].Value
		}
	}
	return nil
}

// Has reports whether an object has a member that is not null.
func (n *Node) Has(key string) bool {
	m := n.Get(key)
	return m != nil && m.Kind != Null
}

// HasAny reports whether an object has a member of one of the keys.
func (n *Node) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return n.Get(key) != nil })
}

// Text returns the string that n is; "" for another kind.
func (n *Node) Text() string {
	if !n.Is(Text) {
		return ""
	}
	return unquote(n.Raw)
}

// IsBool reports whether n is the boolean b.
func (n *Node) IsBool(b bool) bool { return n.Is(Bool) && (n.Raw == "true") == b }

// List returns the items of an array; nil for another kind.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Texts returns the strings of an array; nil for another kind.
func (n *Node) Texts() []string {
	var all []string
	for _, it := range n.List() {
		if it.Is(Text) {
			all = append(all, it.Text())
		}
	}
	return all
}

// Size returns the number of values in a document, and of its levels.
func (n *Node) Size() (values, levels int) {
	values = 1
	add := func(below *Node) {
		v, l := below.Size()
		values, levels = values+v, max(levels, l)
	}
	for _, m := range n.Members {
		add(m.Value)
	}
	for _, it := range n.Items {
		add(it)
	}
	return values, levels + 1
}
