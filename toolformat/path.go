package toolformat

import (
	"slices"
	"strings"
)

// A path is where something stands in a document, built on the way down and spelled
// only when somebody wants to know.
type path struct {
	parent *path
	key    string
}

// at is the path of a member or an item.
func (p *path) at(key string) *path { return &path{p, key} }

// escapePointer escapes a key for a JSON Pointer (RFC 6901, 3).
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// String is the JSON Pointer; a nil path is the document.
func (p *path) String() string {
	if p == nil {
		return ""
	}
	return p.parent.String() + "/" + escapePointer.Replace(p.key)
}

// keys are the steps from a base to a place below it.
func (p *path) keys(base *path) []string {
	var keys []string
	for ; p != nil && p != base; p = p.parent {
		keys = append(keys, p.key)
	}
	slices.Reverse(keys)
	return keys
}

// depth is the number of steps from the document.
func (p *path) depth() int {
	steps := 0
	for ; p != nil; p = p.parent {
		steps++
	}
	return steps
}
