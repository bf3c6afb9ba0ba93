package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// FoldNullable writes OpenAPI 3.0's nullable (Schema Object) as JSON Schema has it: null
// is a type, and one of the values of an enum. JSON Schema knows no nullable and ignores
// it, so that a schema only ever accepts more. At the root it is dropped: arguments are
// never null.
func FoldNullable(r *Schema) {
	found := false
	r.each(func(s *tree.Node, _ *tree.Path) { found = found || s.Get("nullable") != nil })
	if !found {
		return
	}
	var widened []*tree.Node
	r.moving(func(*links) {
		r.each(func(s *tree.Node, at *tree.Path) {
			val := s.Remove("nullable")
			switch {
			case val == nil:
			case val.IsTrue() && s != r.Root:
				r.note(at, `"nullable" is OpenAPI's: null is a type here`)
				if admitNull(s) {
					widened = append(widened, s)
				}
			default:
				r.note(at, `"nullable": %s is OpenAPI's, and changes nothing here: dropped`, val.Short())
			}
		})
	})
	r.loosen(widened, false)
}

// admitNull makes a schema accept null and reports whether it had to change for that.
func admitNull(n *tree.Node) bool {
	if n.HasAny("$ref", "$dynamicRef", "allOf", "oneOf", "not", "if") || n.HasAny("const") && n.HasAny("enum") {
		orNull(n)
		return true
	}
	changed := false
	null := &tree.Node{Kind: tree.Null, Raw: "null"}
	if val := n.Get("const"); val != nil && !val.Is(tree.Null) {
		n.Set("const", tree.NewArray(val, null))
		n.Rename("const", "enum")
		changed = true
	}
	if enum := n.Get("enum"); enum.Is(tree.Array) && !slices.ContainsFunc(enum.Items, null.Equal) {
		enum.Items = append(enum.Items, null)
		changed = true
	}
	switch kind := n.Get("type"); {
	case kind.Is(tree.Text) && kind.Text() != "null":
		n.Set("type", tree.NewArray(kind, tree.NewText("null")))
		changed = true
	case kind.Is(tree.Array) && !hasText(kind, "null"):
		kind.Items = append(kind.Items, tree.NewText("null"))
		changed = true
	}
	if any := n.Get("anyOf"); any.Is(tree.Array) && !slices.ContainsFunc(any.Items, admitsNull) {
		any.Items = append(any.Items, nullSchema())
		changed = true
	}
	return changed
}

func nullSchema() *tree.Node { return tree.NewObject(tree.NewMember("type", tree.NewText("null"))) }

// admitsNull reports whether a schema plainly has null among its types.
func admitsNull(n *tree.Node) bool {
	if n.Get("nullable").IsTrue() {
		return true
	}
	kind := n.Get("type")
	return (kind.Text() == "null" || hasText(kind, "null")) && n.Get("enum") == nil && n.Get("const") == nil
}

// orNull puts what a schema demands below an anyOf, beside null.
func orNull(n *tree.Node) {
	demands := tree.NewObject()
	n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool {
		if vocabulary.Assertions[m.Key] {
			demands.Members = append(demands.Members, m)
		}
		return vocabulary.Assertions[m.Key]
	})
	if all := demands.Get("allOf"); len(demands.Members) == 1 && all.Is(tree.Array) && len(all.Items) == 1 {
		demands = all.Items[0] // the way to put something beside a $ref before 2019-09
	}
	n.Set("anyOf", tree.NewArray(demands, nullSchema()))
}
