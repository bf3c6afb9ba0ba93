package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// typeWords are the names of types (2020-12 validation, 6.1.1) and, by their lower case,
// those that servers send for them: Gemini's and OpenAPI's STRING, draft-03's any, and
// what their authors' languages call them. "" is every type.
var typeWords = map[string]string{
	"null": "null", "boolean": "boolean", "object": "object", "array": "array",
	"number": "number", "string": "string", "integer": "integer",

	"any": "", "type_unspecified": "",
	"none": "null", "nil": "null", "bool": "boolean", "dict": "object", "list": "array",
	"float": "number", "double": "number", "str": "string", "int": "integer",
}

// types writes the types of a schema as 2020-12 has them: names in lower case, or a list
// of names. In draft-03 a list may hold schemas, too, and is an anyOf then. What names no
// type at all stays for whoever checks the schema.
func (u *upgrade) types(s *tree.Node, at *tree.Path) {
	val := s.Get("type")
	switch {
	case val == nil:
	case val.Is(tree.Text):
		u.oneType(s, val, at)
	case val.Is(tree.Array) && slices.ContainsFunc(val.Items, func(it *tree.Node) bool { return it.Is(tree.Object) }):
		u.note(at, `"type" has schemas in it: "anyOf" since draft-04`)
		s.Remove("type")
		branches := tree.NewArray()
		for _, it := range val.Items {
			if !it.Is(tree.Object) {
				it = tree.NewObject(tree.NewMember("type", it))
			}
			branches.Items = append(branches.Items, it)
		}
		also(s, "anyOf", branches)
	case val.Is(tree.Array):
		u.typeList(s, val, at)
	}
}

func (u *upgrade) oneType(s, val *tree.Node, at *tree.Path) {
	said := val.Text()
	name, known := typeWords[strings.ToLower(said)]
	switch {
	case !known || name == said:
	case name == "":
		u.note(at, `"type": %q is dropped: it is every type`, said)
		s.Remove("type")
	default:
		u.note(at, `"type": %q is %q in JSON Schema`, said, name)
		s.Set("type", tree.NewText(name))
	}
}

func (u *upgrade) typeList(s, val *tree.Node, at *tree.Path) {
	list, seen := tree.NewArray(), map[string]bool{}
	for _, it := range val.Items {
		name, known := typeWords[strings.ToLower(it.Text())]
		switch {
		case known && name == "":
			u.note(at, `"type": %s is dropped: %q is every type`, val.Short(), it.Text())
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
		u.note(at, `"type": %s is %s in JSON Schema`, val.Short(), list.Short())
		s.Set("type", list)
	}
}

// names gives out keys that an object does not have. It holds the number that a name was
// last given with; 1 is none.
type names map[string]int

func newNames(n *tree.Node) names {
	taken := names{}
	if n.Is(tree.Object) {
		for _, m := range n.Members {
			taken[m.Key] = 1
		}
	}
	return taken
}

// free is a name, or with a number behind it when it is taken; it is taken from then on.
func (t names) free(name string) string {
	free := name
	for t[free] > 0 {
		t[name]++
		free = name + "_" + strconv.Itoa(t[name])
	}
	t[free] = 1
	return free
}
