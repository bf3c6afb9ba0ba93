package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// conflicts reports whether two schemas that both apply cannot become one object without changing
// their meaning.
func conflicts(s, d *tree.Node) bool {
	if !d.Is(tree.Object) || !slices.ContainsFunc(s.Members, isAssertion) {
		return false
	}
	for _, m := range s.Members {
		if other := d.Get(m.Key); other != nil && isAssertion(m) && (m.Value.Is(tree.Object) || !m.Value.Equal(other)) {
			return true
		}
	}
	return slices.ContainsFunc(groups, func(group []string) bool { return s.HasAny(group...) && d.HasAny(group...) }) ||
		d.HasAny("unevaluatedProperties", "unevaluatedItems") // these do not see what s names
}

// mergeInto gives n the members of d, which does not conflict with it and is used up. n keeps its
// own annotations; mergeInto returns the keys of those that d had with another value.
func mergeInto(n *tree.Node, d *tree.Node) (overridden []string) {
	switch {
	case d.IsBool(true):
		return nil
	case d.Is(tree.Bool) && len(n.Members) == 0:
		*n = *d
		return nil
	case d.Is(tree.Bool):
		addKeyword(n, "not", tree.NewObject())
		return nil
	}
	own := n.Members
	n.Members = d.Members
	for _, m := range own {
		if old := n.Get(m.Key); old != nil && m.Key != "title" && !isAssertion(m) && !old.Equal(m.Value) {
			overridden = append(overridden, m.Key)
		}
		n.Set(m.Key, m.Value)
	}
	return overridden
}

// replaceByCopy merges a copy of its target into a schema that had a reference, and returns the
// predicate of a note about that reference.
func replaceByCopy(s, c *tree.Node) string {
	const replaced = "replaced by a copy of its target"
	if conflicts(s, c) {
		addAllOf(s, c)
		return replaced + ", in an allOf beside its siblings"
	}
	if overridden := mergeInto(s, c); len(overridden) > 0 {
		return replaced + ", whose " + wording.List(overridden) + " its siblings override"
	}
	return replaced
}

// addKeyword adds a keyword to a schema: in an allOf, if the schema has it already.
func addKeyword(s *tree.Node, keyword string, value *tree.Node) {
	if s.Get(keyword) == nil {
		s.Set(keyword, value)
		return
	}
	addAllOf(s, tree.NewObject(tree.NewMember(keyword, value)))
}

// addAllOf adds a branch to the allOf of a schema.
func addAllOf(s, branch *tree.Node) {
	all := s.Get("allOf")
	if !all.Is(tree.Array) {
		all = tree.NewArray()
		s.Set("allOf", all)
	}
	all.Items = append(all.Items, branch)
}

// nextAllOf returns the place of the branch that addAllOf would add.
func nextAllOf(s *tree.Node, at *tree.Path) *tree.Path {
	return at.At("allOf").At(strconv.Itoa(len(s.Get("allOf").List())))
}
