package toolformat

import (
	"slices"
	"strconv"
	"strings"
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
func (u *upgrade) types(s *node, at *path) {
	val := s.get("type")
	switch {
	case val == nil:
	case val.is(textNode):
		u.oneType(s, val, at)
	case val.is(arrayNode) && slices.ContainsFunc(val.items, func(it *node) bool { return it.is(objectNode) }):
		u.note(at, `"type" has schemas in it: "anyOf" since draft-04`)
		s.cut("type")
		branches := newArray()
		for _, it := range val.items {
			if !it.is(objectNode) {
				it = newObject(member{"type", it})
			}
			branches.items = append(branches.items, it)
		}
		s.also("anyOf", branches)
	case val.is(arrayNode):
		u.typeList(s, val, at)
	}
}

func (u *upgrade) oneType(s, val *node, at *path) {
	said := val.text()
	name, known := typeWords[strings.ToLower(said)]
	switch {
	case !known || name == said:
	case name == "":
		u.note(at, `"type": %q is dropped: it is every type`, said)
		s.cut("type")
	default:
		u.note(at, `"type": %q is %q in JSON Schema`, said, name)
		s.set("type", newText(name))
	}
}

func (u *upgrade) typeList(s, val *node, at *path) {
	list, seen := newArray(), map[string]bool{}
	for _, it := range val.items {
		name, known := typeWords[strings.ToLower(it.text())]
		switch {
		case known && name == "":
			u.note(at, `"type": %s is dropped: %q is every type`, val.short(), it.text())
			s.cut("type")
			return
		case known:
			it = newText(name)
		}
		if word := it.text(); word == "" || !seen[word] {
			seen[word] = true
			list.items = append(list.items, it)
		}
	}
	if !list.equal(val) {
		u.note(at, `"type": %s is %s in JSON Schema`, val.short(), list.short())
		s.set("type", list)
	}
}

// names gives out keys that an object does not have. It holds the number that a name was
// last given with; 1 is none.
type names map[string]int

func newNames(n *node) names {
	taken := names{}
	if n.is(objectNode) {
		for _, m := range n.members {
			taken[m.key] = 1
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
