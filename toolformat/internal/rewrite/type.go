package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// isAssertion reports whether a member of a schema can refuse a value.
func isAssertion(m tree.Member) bool { return vocabulary.Assertions[m.Key] != 0 }

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

// typeNames maps the names that servers send for types, in lower case, to those of JSON Schema
// (2020-12 validation, 6.1.1): Gemini's and OpenAPI's STRING, draft-03's any, and the names of
// programming languages. "" is every type.
var typeNames = map[string]string{
	"null": "null", "boolean": "boolean", "object": "object", "array": "array",
	"number": "number", "string": "string", "integer": "integer",
	"any": "", "type_unspecified": "",
	"none": "null", "nil": "null", "bool": "boolean", "dict": "object", "list": "array",
	"float": "number", "double": "number", "str": "string", "int": "integer",
}

// types writes the types of a schema as 2020-12 has them: names in lower case, or a list of names.
// In draft-03 a list may hold schemas too; it becomes an anyOf. An unknown name stays for
// the check of the schema.
func (u *upgrade) types(s *tree.Node, at *tree.Path) {
	val := s.Get("type")
	switch {
	case val.Is(tree.Text):
		u.typeName(s, val, at)
	case val.Is(tree.Array) && slices.ContainsFunc(val.Items, func(it *tree.Node) bool { return it.Is(tree.Object) }):
		u.note(at, `"type" with schemas replaced by "anyOf", as since draft-04`)
		s.Remove("type")
		branches := tree.NewArray()
		for _, it := range val.Items {
			if !it.Is(tree.Object) {
				it = tree.NewObject(tree.NewMember("type", it))
			}
			branches.Items = append(branches.Items, it)
		}
		addKeyword(s, "anyOf", branches)
	case val.Is(tree.Array):
		u.typeList(s, val, at)
	}
}

func (u *upgrade) typeName(s, val *tree.Node, at *tree.Path) {
	written := val.Text()
	name, known := typeNames[strings.ToLower(written)]
	switch {
	case !known || name == written:
	case name == "":
		u.note(at, `"type": %q dropped: it means every type`, written)
		s.Remove("type")
	default:
		u.note(at, `"type": %q replaced by %q, the name in JSON Schema`, written, name)
		s.Set("type", tree.NewText(name))
	}
}

func (u *upgrade) typeList(s, val *tree.Node, at *tree.Path) {
	list, seen := tree.NewArray(), map[string]bool{}
	for _, it := range val.Items {
		name, known := typeNames[strings.ToLower(it.Text())]
		switch {
		case known && name == "":
			u.note(at, `"type": %s dropped: %q means every type`, val.Short(), it.Text())
			s.Remove("type")
			return
		case known:
			it = tree.NewText(name)
		}
		if word := it.Text(); word == "" || !seen[word] {
			seen[word] = true
			list.Items = append(list.Items, it)
		}
	}
	if !list.Equal(val) {
		u.note(at, `"type": %s replaced by %s, the names in JSON Schema`, val.Short(), list.Short())
		s.Set("type", list)
	}
}

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
