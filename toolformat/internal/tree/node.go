package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
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

// Set replaces a member in its place, or appends it.
func (n *Node) Set(key string, value *Node) {
	if i := n.index(key); i >= 0 {
		n.Members[i].Value = value
	} else {
		n.Members = append(n.Members, Member{key, value})
	}
}

// index returns the index of a member; -1 if n does not have it.
func (n *Node) index(key string) int {
	return slices.IndexFunc(n.Members, func(m Member) bool { return m.Key == key })
}

// Remove removes a member and returns its value; nil if n does not have it.
func (n *Node) Remove(key string) *Node {
	value := n.Get(key)
	if value != nil {
		i := n.index(key)
		n.Members = slices.Delete(n.Members, i, i+1)
	}
	return value
}

// Rename gives a member another key, in its place.
func (n *Node) Rename(from, to string) {
	if i := n.index(from); i >= 0 {
		n.Members[i].Key = to
	}
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := &Node{Kind: n.Kind, Raw: n.Raw, Start: n.Start}
	for _, m := range n.Members {
		c.Members = append(c.Members, Member{m.Key, m.Value.Clone()})
	}
	for _, it := range n.Items {
		c.Items = append(c.Items, it.Clone())
	}
	return c
}

// Equal reports whether two nodes mean the same JSON: the order of members does not count, and
// strings and numbers count by their value, however they are written.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil || n.Kind != o.Kind || len(n.Members) != len(o.Members) || len(n.Items) != len(o.Items) {
		return n == o
	}
	for _, m := range n.Members {
		if other := o.Get(m.Key); other == nil || !m.Value.Equal(other) {
			return false
		}
	}
	for i := range n.Items {
		if !n.Items[i].Equal(o.Items[i]) {
			return false
		}
	}
	switch {
	case n.Raw == o.Raw:
		return true
	case n.Kind == Text:
		return n.Text() == o.Text()
	case n.Kind == Number:
		x, y := Rational(n.Raw), Rational(o.Raw)
		return x != nil && y != nil && x.Cmp(y) == 0
	}
	return false
}

// JSON returns n as compact JSON.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

// Short returns n as JSON for an error or a note, cut after 60 bytes; "nothing" for nil.
func (n *Node) Short() string {
	if n == nil {
		return "nothing"
	}
	return wording.Cut(string(n.append(nil)), 60)
}

func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case Object:
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, Quote(m.Key)...), ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	case Array:
		b = append(b, '[')
		for i, it := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.Raw...)
}

// Quote returns s as JSON, without the escapes that only HTML needs.
func Quote(s string) string {
	if quoted := `"` + s + `"`; isPlain([]byte(quoted)) {
		return quoted
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unquote decodes a JSON string, which is valid: Parse or Quote has seen to that.
func unquote(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s)
	return s
}

// The bounds of the numbers that are computed with: 1e9999999 is nine bytes of JSON and a number
// of ten million digits.
const (
	maxDigits   = 1000 // characters, as written
	maxExponent = 400
)

// boundedExponent reports whether the exponent of a JSON number, if it has one, is within bounds.
func boundedExponent(raw string) bool {
	_, digits, found := strings.Cut(strings.ToLower(raw), "e")
	if !found {
		return true
	}
	e, err := strconv.Atoi(digits)
	return err == nil && e >= -maxExponent && e <= maxExponent
}

// BoundNumber returns an error for a JSON number that is too long, or has too large an exponent,
// to compute with.
func BoundNumber(raw string) error {
	if !boundedExponent(raw) || len(raw) > maxDigits {
		return fmt.Errorf("expected a number of at most %d characters and an exponent of at most %d", maxDigits, maxExponent)
	}
	return nil
}

// Rational returns the exact value of a JSON number; nil if its exponent is out of bounds.
func Rational(raw string) *big.Rat {
	if !boundedExponent(raw) {
		return nil
	}
	r, _ := new(big.Rat).SetString(raw)
	return r
}

// IsInteger reports whether a JSON number is a whole number, as JSON Schema counts: 12.0 is one
// (2020-12 core, 4.2.3).
func IsInteger(raw string) bool {
	r := Rational(raw)
	return r != nil && r.IsInt()
}
