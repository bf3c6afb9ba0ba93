package tree

import (
	"slices"
	"strings"
)

// A Path is where something stands in a document, built on the way down and spelled
// only when somebody wants to know.
type Path struct {
	Parent *Path
	Key    string
}

// At is the path of a member or an item.
func (p *Path) At(key string) *Path { return &Path{p, key} }

// EscapePointer escapes a key for a JSON Pointer (RFC 6901, 3).
var EscapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// String is the JSON Pointer; a nil path is the document.
func (p *Path) String() string {
	if p == nil {
		return ""
	}
	return p.Parent.String() + "/" + EscapePointer.Replace(p.Key)
}

// Keys are the steps from a base to a place below it.
func (p *Path) Keys(base *Path) []string {
	var keys []string
	for ; p != nil && p != base; p = p.Parent {
		keys = append(keys, p.Key)
	}
	slices.Reverse(keys)
	return keys
}

// Depth is the number of steps from the document.
func (p *Path) Depth() int {
	steps := 0
	for ; p != nil; p = p.Parent {
		steps++
	}
	return steps
}
