package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

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
func unconstrained(s *tree.Node) bool {
	return s.IsTrue() || s.Is(tree.Object) && !slices.ContainsFunc(s.Members, func(m tree.Member) bool { return assertions[m.Key] })
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
