package check

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// fillDefaults adds to a value the missing properties that have a default in the schema, in nested
// objects too, and reports whether there were any. A nil schema has none.
func fillDefaults(schema, n *tree.Node) bool {
	f := filler{root: schema, budget: rewrite.MaxNodes}
	f.fill(schema, n, 0)
	return f.filled
}

// hasKey reports whether a key occurs anywhere in a value.
func hasKey(n *tree.Node, key string) bool {
	return slices.ContainsFunc(n.Members, func(m tree.Member) bool { return m.Key == key || hasKey(m.Value, key) }) ||
		slices.ContainsFunc(n.Items, func(it *tree.Node) bool { return hasKey(it, key) })
}

type filler struct {
	root   *tree.Node
	budget int // bounds the work
	filled bool
}

// fill adds to a value the defaults of a schema.
func (f *filler) fill(s, n *tree.Node, depth int) {
	if f.budget--; f.budget < 0 || depth > rewrite.MaxDepth || s == nil {
		return
	}
	f.fill(f.target(s), n, depth+1)
	for _, branch := range s.Get("allOf").List() {
		f.fill(branch, n, depth+1)
	}
	for _, it := range n.List() {
		f.fill(s.Get("items"), it, depth+1)
	}
	properties := s.Get("properties")
	if !n.Is(tree.Object) || !properties.Is(tree.Object) {
		return
	}
	for _, m := range properties.Members {
		value := n.Get(m.Key)
		if value == nil {
			if value = f.defaultOf(m.Value); value == nil {
				continue
			}
			n.Set(m.Key, value)
			f.filled = true
		}
		f.fill(m.Value, value, depth+1)
	}
}

// defaultOf returns a copy of the default of a schema, or of those it refers to; nil if there is
// none.
func (f *filler) defaultOf(s *tree.Node) *tree.Node {
	for range rewrite.MaxDepth {
		if value := s.Get("default"); value != nil {
			count, _ := value.Size()
			if f.budget -= count; f.budget < 0 {
				return nil
			}
			return value.Clone()
		}
		s = f.target(s)
	}
	return nil
}

// target returns the target of a schema's reference; nil if it is not in the schema.
func (f *filler) target(s *tree.Node) *tree.Node {
	pointer, ok := strings.CutPrefix(s.Get("$ref").Text(), "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	return f.root.Find(tree.ParsePointer(pointer)...)
}
