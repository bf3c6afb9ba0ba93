package toolformat

import "slices"

// foldNullable writes OpenAPI 3.0's nullable (Schema Object) as JSON Schema has it: null
// is a type, and one of the values of an enum. JSON Schema knows no nullable and ignores
// it, so that a schema only ever accepts more. At the root it is dropped: arguments are
// never null.
func foldNullable(r *rewrite) {
	found := false
	r.each(func(s *node, _ *path) { found = found || s.get("nullable") != nil })
	if !found {
		return
	}
	var widened []*node
	r.moving(func(*links) {
		r.each(func(s *node, at *path) {
			val := s.cut("nullable")
			switch {
			case val == nil:
			case val.truth() && s != r.root:
				r.note(at, `"nullable" is OpenAPI's: null is a type here`)
				if s.admitNull() {
					widened = append(widened, s)
				}
			default:
				r.note(at, `"nullable": %s is OpenAPI's, and changes nothing here: dropped`, val.short())
			}
		})
	})
	r.loosen(widened, false)
}

// admitNull makes a schema accept null and reports whether it had to change for that.
func (n *node) admitNull() bool {
	if n.hasAny("$ref", "$dynamicRef", "allOf", "oneOf", "not", "if") || n.hasAny("const") && n.hasAny("enum") {
		n.orNull()
		return true
	}
	changed := false
	null := &node{kind: nullNode, raw: "null"}
	if val := n.get("const"); val != nil && !val.is(nullNode) {
		n.set("const", newArray(val, null))
		renameMember(n, "const", "enum")
		changed = true
	}
	if enum := n.get("enum"); enum.is(arrayNode) && !slices.ContainsFunc(enum.items, null.equal) {
		enum.items = append(enum.items, null)
		changed = true
	}
	switch kind := n.get("type"); {
	case kind.is(textNode) && kind.text() != "null":
		n.set("type", newArray(kind, newText("null")))
		changed = true
	case kind.is(arrayNode) && !kind.hasText("null"):
		kind.items = append(kind.items, newText("null"))
		changed = true
	}
	if any := n.get("anyOf"); any.is(arrayNode) && !slices.ContainsFunc(any.items, (*node).admitsNull) {
		any.items = append(any.items, nullSchema())
		changed = true
	}
	return changed
}

func nullSchema() *node { return newObject(member{"type", newText("null")}) }

// admitsNull reports whether a schema plainly has null among its types.
func (n *node) admitsNull() bool {
	if n.get("nullable").truth() {
		return true
	}
	kind := n.get("type")
	return (kind.text() == "null" || kind.hasText("null")) && n.get("enum") == nil && n.get("const") == nil
}

// orNull puts what a schema demands below an anyOf, beside null.
func (n *node) orNull() {
	demands := newObject()
	n.members = slices.DeleteFunc(n.members, func(m member) bool {
		if assertions[m.key] {
			demands.members = append(demands.members, m)
		}
		return assertions[m.key]
	})
	if all := demands.get("allOf"); len(demands.members) == 1 && all.is(arrayNode) && len(all.items) == 1 {
		demands = all.items[0] // the way to put something beside a $ref before 2019-09
	}
	n.set("anyOf", newArray(demands, nullSchema()))
}
