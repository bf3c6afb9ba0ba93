package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

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
