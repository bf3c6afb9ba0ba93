package tree

import (
	"net/url"
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

// escapePointer escapes a key for a JSON Pointer (RFC 6901, 3).
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// String is the JSON Pointer; a nil path is the document.
func (p *Path) String() string {
	if p == nil {
		return ""
	}
	return p.Parent.String() + "/" + escapePointer.Replace(p.Key)
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

// Fragment is the JSON Pointer as the fragment of a URI: "#/$defs/a" (RFC 6901, 6).
func (p *Path) Fragment() string { return "#" + (&url.URL{Fragment: p.String()}).EscapedFragment() }
