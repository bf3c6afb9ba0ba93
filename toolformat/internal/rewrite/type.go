package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// unconstrained reports whether a schema accepts everything, as far as its own keywords
// tell.
func unconstrained(s *tree.Node) bool {
	return s.IsTrue() || s.Is(tree.Object) && !slices.ContainsFunc(s.Members, func(m tree.Member) bool { return vocabulary.Assertions[m.Key] })
}

// typesOf are the types that a schema names; none when it names none.
func typesOf(s *tree.Node) []string {
	var names []string
	switch t := s.Get("type"); {
	case t.Is(tree.Text):
		names = append(names, t.Text())
	case t.Is(tree.Array):
		for _, it := range t.Items {
			if it.Is(tree.Text) {
				names = append(names, it.Text())
			}
		}
	}
	return names
}

// setTypes makes a schema name some types.
func setTypes(s *tree.Node, names []string) {
	if len(names) == 1 {
		s.Set("type", tree.NewText(names[0]))
		return
	}
	list := tree.NewArray()
	for _, name := range names {
		list.Items = append(list.Items, tree.NewText(name))
	}
	s.Set("type", list)
}

// typeOf is the type of a value as JSON Schema counts (2020-12 core, 4.2.1).
func typeOf(n *tree.Node) string {
	switch n.Kind {
	case tree.Null:
		return "null"
	case tree.Bool:
		return "boolean"
	case tree.Number:
		if tree.IsInteger(n.Raw) {
			return "integer"
		}
		return "number"
	case tree.Text:
		return "string"
	case tree.Array:
		return "array"
	}
	return "object"
}

// mayBe reports whether a schema's own keywords leave room for a type.
func mayBe(s *tree.Node, kind string) bool {
	if s.Is(tree.Bool) {
		return s.IsTrue()
	}
	isKind := func(n *tree.Node) bool { return typeOf(n) == kind }
	if types := typesOf(s); len(types) > 0 && !slices.Contains(types, kind) {
		return false
	}
	if c := s.Get("const"); c != nil && !isKind(c) {
		return false
	}
	if e := s.Get("enum"); e.Is(tree.Array) && !slices.ContainsFunc(e.Items, isKind) {
		return false
	}
	return true
}

// membersOf are the members of an object; none of anything else.
func membersOf(n *tree.Node) []tree.Member {
	if !n.Is(tree.Object) {
		return nil
	}
	return n.Members
}

// textsOf are the strings of an array.
func textsOf(n *tree.Node) []string {
	var all []string
	if n.Is(tree.Array) {
		for _, it := range n.Items {
			if it.Is(tree.Text) {
				all = append(all, it.Text())
			}
		}
	}
	return all
}

// hasText reports whether an array holds a string.
func hasText(n *tree.Node, s string) bool { return slices.Contains(textsOf(n), s) }
