package tree

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Path is the place of a value in a document, built on the way down and spelled only when
// somebody asks. The nil Path is the document.
type Path struct {
	Parent *Path
	Key    string // key of the member, or index of the item
}

// At returns the place of a member of the document.
func At(key string) *Path { return &Path{nil, key} }

// At returns the place of a member or item below p.
func (p *Path) At(key string) *Path { return &Path{p, key} }

// Keys returns the steps from base, which is p or above it, to p.
func (p *Path) Keys(base *Path) []string {
	var keys []string
	for ; p != nil && p != base; p = p.Parent {
		keys = append(keys, p.Key)
	}
	slices.Reverse(keys)
	return keys
}

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// String returns p as a JSON Pointer (RFC 6901, 3).
func (p *Path) String() string {
	if p == nil {
		return ""
	}
	return p.Parent.String() + "/" + escapes.Replace(p.Key)
}

// Fragment returns p as a JSON Pointer in the fragment of a URI: "#/$defs/a" (RFC 6901, 6).
func (p *Path) Fragment() string { return "#" + (&url.URL{Fragment: p.String()}).EscapedFragment() }

// ParsePointer returns the keys of a JSON Pointer (RFC 6901, 4), which is "" or begins with "/".
// A "~" that escapes nothing stands for itself.
func ParsePointer(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = unescapes.Replace(token)
	}
	return tokens
}

// Find returns the value at the end of some keys; nil if they lead nowhere.
func (n *Node) Find(keys ...string) *Node {
	for _, key := range keys {
		slot := n.Slot(key)
		if slot == nil {
			return nil
		}
		n = *slot
	}
	return n
}

// Slot returns the place that holds a member or an item, to be assigned to; nil if n does not have it.
func (n *Node) Slot(key string) **Node {
	if n == nil {
		return nil
	}
	if i := n.index(key); i >= 0 {
		return &n.Members[i].Value
	}
	if i, err := strconv.Atoi(key); n.Is(Array) && err == nil && i >= 0 && i < len(n.Items) && strconv.Itoa(i) == key {
		return &n.Items[i]
	}
	return nil
}

// manyMembers is how many members make an index faster than a search.
const manyMembers = 16

// An Index finds members of large objects faster than [Node.Find], once they do not change any
// more. The zero Index is ready for use.
type Index map[*Node]map[string]*Node

// Find returns the value at the end of some keys below n; nil if they lead nowhere.
func (x *Index) Find(n *Node, keys ...string) *Node {
	for _, key := range keys {
		if n == nil || len(n.Members) < manyMembers {
			n = n.Find(key)
		} else {
			n = x.object(n)[key]
		}
	}
	return n
}

// object returns the members of a large object by their keys.
func (x *Index) object(n *Node) map[string]*Node {
	members := (*x)[n]
	if members == nil {
		members = make(map[string]*Node, len(n.Members))
		for _, m := range n.Members {
			members[m.Key] = m.Value
		}
		if *x == nil {
			*x = Index{}
		}
		(*x)[n] = members
	}
	return members
}
