package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// FoldNullable writes nullable of OpenAPI 3.0 (Schema Object) as JSON Schema has it: null is a
// type, and one of the values of an enum. JSON Schema ignores nullable, so that a schema can only
// accept more. At the root it is dropped: arguments are never null.
func FoldNullable(r *Schema) {
	found := false
	r.each(func(s *tree.Node, _ *tree.Path) { found = found || s.Get("nullable") != nil })
	if !found {
		return
	}
	var widened []*tree.Node
	r.moveSchemas(func(*refGraph) {
		r.each(func(s *tree.Node, at *tree.Path) {
			val := s.Remove("nullable")
			switch {
			case val == nil:
			case val.IsBool(true) && s != r.Root:
				r.note(at, `OpenAPI's "nullable" replaced by the type null`)
				if allowNull(s) {
					widened = append(widened, s)
				}
			default:
				r.note(at, `OpenAPI's "nullable": %s dropped: it changes nothing here`, val.Short())
			}
		})
	})
	r.relaxAbove(widened, false)
}

// allowNull makes a schema accept null and reports whether it had to change for that.
func allowNull(s *tree.Node) bool {
	if s.HasAny("$ref", "$dynamicRef", "allOf", "oneOf", "not", "if") || s.HasAny("const") && s.HasAny("enum") {
		wrapNullable(s)
		return true
	}
	changed := false
	null := &tree.Node{Kind: tree.Null, Raw: "null"}
	if val := s.Get("const"); val != nil && !val.Is(tree.Null) {
		s.Set("const", tree.NewArray(val, null))
		s.Rename("const", "enum")
		changed = true
	}
	if enum := s.Get("enum"); enum.Is(tree.Array) && !slices.ContainsFunc(enum.Items, null.Equal) {
		enum.Items = append(enum.Items, null)
		changed = true
	}
	switch types := s.Get("type"); {
	case types.Is(tree.Text) && types.Text() != "null":
		s.Set("type", tree.NewArray(types, tree.NewText("null")))
		changed = true
	case types.Is(tree.Array) && !slices.Contains(types.Texts(), "null"):
		types.Items = append(types.Items, tree.NewText("null"))
		changed = true
	}
	if branches := s.Get("anyOf"); branches.Is(tree.Array) && !slices.ContainsFunc(branches.Items, allowsNull) {
		branches.Items = append(branches.Items, nullSchema())
		changed = true
	}
	return changed
}

func nullSchema() *tree.Node { return tree.NewObject(tree.NewMember("type", tree.NewText("null"))) }

// allowsNull reports whether a schema has null among its types and does not restrict the values.
func allowsNull(s *tree.Node) bool {
	return s.Get("nullable").IsBool(true) || slices.Contains(typesOf(s), "null") && !s.HasAny("enum", "const")
}

// wrapNullable puts the assertions of a schema below an anyOf, beside null.
func wrapNullable(s *tree.Node) {
	inner := tree.NewObject()
	s.Members = slices.DeleteFunc(s.Members, func(m tree.Member) bool {
		if isAssertion(m) {
			inner.Members = append(inner.Members, m)
		}
		return isAssertion(m)
	})
	if all := inner.Get("allOf"); len(inner.Members) == 1 && all.Is(tree.Array) && len(all.Items) == 1 {
		inner = all.Items[0] // the way to put something beside a $ref before 2019-09
	}
	s.Set("anyOf", tree.NewArray(inner, nullSchema()))
}
