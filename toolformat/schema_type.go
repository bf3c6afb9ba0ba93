package toolformat

import "slices"

// assertions are the keywords that can refuse an instance, alone or with others (2020-12
// core, 8.2.3 and 10 and 11; validation, 6). All others are annotations, those that no
// vocabulary knows among them (core, 6.5).
var assertions = map[string]bool{
	"$dynamicRef": true, "$ref": true, "additionalItems": true, "additionalProperties": true, "allOf": true, "anyOf": true, "const": true,
	"contains": true, "dependencies": true, "dependentRequired": true, "dependentSchemas": true, "else": true, "enum": true,
	"exclusiveMaximum": true, "exclusiveMinimum": true, "format": true, "if": true, "items": true, "maxContains": true, "maxItems": true,
	"maxLength": true, "maxProperties": true, "maximum": true, "minContains": true, "minItems": true, "minLength": true,
	"minProperties": true, "minimum": true, "multipleOf": true, "not": true, "oneOf": true, "pattern": true, "patternProperties": true,
	"prefixItems": true, "properties": true, "propertyNames": true, "required": true, "then": true, "type": true,
	"unevaluatedItems": true, "unevaluatedProperties": true, "uniqueItems": true,
}

// unconstrained reports whether a schema accepts everything, as far as its own keywords
// tell.
func unconstrained(s *node) bool {
	return s.truth() || s.is(objectNode) && !slices.ContainsFunc(s.members, func(m member) bool { return assertions[m.key] })
}

// typesOf are the types that a schema names; none when it names none.
func typesOf(s *node) []string {
	var names []string
	switch t := s.get("type"); {
	case t.is(textNode):
		names = append(names, t.text())
	case t.is(arrayNode):
		for _, it := range t.items {
			if it.is(textNode) {
				names = append(names, it.text())
			}
		}
	}
	return names
}

// setTypes makes a schema name some types.
func setTypes(s *node, names []string) {
	if len(names) == 1 {
		s.set("type", newText(names[0]))
		return
	}
	list := newArray()
	for _, name := range names {
		list.items = append(list.items, newText(name))
	}
	s.set("type", list)
}

// typeOf is the type of a value as JSON Schema counts (2020-12 core, 4.2.1).
func typeOf(n *node) string {
	switch n.kind {
	case nullNode:
		return "null"
	case boolNode:
		return "boolean"
	case numberNode:
		if isInteger(n.raw) {
			return "integer"
		}
		return "number"
	case textNode:
		return "string"
	case arrayNode:
		return "array"
	}
	return "object"
}

// mayBe reports whether a schema's own keywords leave room for a type.
func mayBe(s *node, kind string) bool {
	if s.is(boolNode) {
		return s.truth()
	}
	isKind := func(n *node) bool { return typeOf(n) == kind }
	if types := typesOf(s); len(types) > 0 && !slices.Contains(types, kind) {
		return false
	}
	if c := s.get("const"); c != nil && !isKind(c) {
		return false
	}
	if e := s.get("enum"); e.is(arrayNode) && !slices.ContainsFunc(e.items, isKind) {
		return false
	}
	return true
}

// membersOf are the members of an object; none of anything else.
func membersOf(n *node) []member {
	if !n.is(objectNode) {
		return nil
	}
	return n.members
}

// textsOf are the strings of an array.
func textsOf(n *node) []string {
	var all []string
	if n.is(arrayNode) {
		for _, it := range n.items {
			if it.is(textNode) {
				all = append(all, it.text())
			}
		}
	}
	return all
}
