package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// isAssertion reports whether a member of a schema can refuse a value.
func isAssertion(m tree.Member) bool { return vocabulary.Assertions[m.Key] }

// acceptsAll reports whether a schema accepts everything, as far as its own keywords tell.
func acceptsAll(s *tree.Node) bool {
	return s.IsBool(true) || s.Is(tree.Object) && !slices.ContainsFunc(s.Members, isAssertion)
}

// typesOf returns the types that a schema names.
func typesOf(s *tree.Node) []string {
	if t := s.Get("type"); t.Is(tree.Text) {
		return []string{t.Text()}
	}
	return s.Get("type").Texts()
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

// typeOf returns the type of a value as JSON Schema counts (2020-12 core, 4.2.1).
func typeOf(n *tree.Node) string {
	if n.Is(tree.Number) && tree.IsInteger(n.Raw) {
		return "integer"
	}
	return vocabulary.Types[n.Kind]
}

// includesType reports whether types include name, as "number" includes "integer".
func includesType(types []string, name string) bool {
	return slices.Contains(types, name) || name == "integer" && slices.Contains(types, "number")
}

// allowsType reports whether a schema's own keywords allow values of a type.
func allowsType(s *tree.Node, name string) bool {
	if s.Is(tree.Bool) {
		return s.IsBool(true)
	}
	isType := func(n *tree.Node) bool { return typeOf(n) == name }
	types, c, e := typesOf(s), s.Get("const"), s.Get("enum")
	return (len(types) == 0 || slices.Contains(types, name)) && (c == nil || isType(c)) &&
		(!e.Is(tree.Array) || slices.ContainsFunc(e.Items, isType))
}

// membersOf returns the members of an object; nil for any other value.
func membersOf(n *tree.Node) []tree.Member {
	if n == nil {
		return nil
	}
	return n.Members
}
