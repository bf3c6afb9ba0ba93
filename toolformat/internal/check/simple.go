package check

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A simpleSchema is a schema of types, properties, required names and lists of strings, as most
// tools have. It recognizes values that are valid in every draft without the engine. A value that it
// does not recognize may still be valid: the engine decides and finds the words.
type simpleSchema struct {
	kinds      [tree.Object + 1]bool // that a value may have
	integers   bool                  // numbers must be written as integers
	properties map[string]*simpleSchema
	required   []string
	closed     bool // no other properties
	items      *simpleSchema
	values     []string // raw strings, one of which it must be; nil means any value
}

// annotations lists keywords that refuse nothing, in every draft.
var annotations = []string{"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"}

// newSimpleSchema returns nil for a schema with any other keyword.
func newSimpleSchema(schema *tree.Node) *simpleSchema {
	if !schema.Is(tree.Object) {
		return nil
	}
	s := &simpleSchema{}
	if schema.Get("type") == nil {
		s.kinds = [...]bool{true, true, true, true, true, true}
	}
	for _, m := range schema.Members {
		if !slices.Contains(annotations, m.Key) && !s.addKeyword(m.Key, m.Value) {
			return nil
		}
	}
	return s
}

// addKeyword adds a keyword; false means that the schema is not simple.
func (s *simpleSchema) addKeyword(keyword string, v *tree.Node) bool {
	notText := func(n *tree.Node) bool { return !n.Is(tree.Text) }
	switch keyword {
	case "type":
		if v.Is(tree.Array) {
			return len(v.Items) > 0 && !slices.ContainsFunc(v.Items, func(t *tree.Node) bool { return !s.addType(t) })
		}
		return s.addType(v)
	case "properties":
		s.properties = make(map[string]*simpleSchema, len(v.Members))
		for _, p := range v.Members {
			if s.properties[p.Key] = newSimpleSchema(p.Value); s.properties[p.Key] == nil {
				return false
			}
		}
		return v.Is(tree.Object)
	case "required":
		s.required = v.Texts()
		return v.Is(tree.Array) && !slices.ContainsFunc(v.Items, notText)
	case "additionalProperties":
		s.closed = v.IsBool(false)
		return v.Is(tree.Bool) || v.Is(tree.Object) && len(v.Members) == 0
	case "items":
		s.items = newSimpleSchema(v)
		return s.items != nil
	case "enum":
		for _, value := range v.Items {
			s.values = append(s.values, value.Raw)
		}
		return len(s.values) > 0 && !slices.ContainsFunc(v.Items, notText)
	}
	return false
}

func (s *simpleSchema) addType(t *tree.Node) bool {
	kind := slices.Index(vocabulary.Types[:], t.Text())
	switch {
	case kind < 0:
		return false
	case t.Text() == "integer":
		s.integers = !s.kinds[tree.Number]
		kind = int(tree.Number)
	case t.Text() == "number":
		s.integers = false
	}
	s.kinds[kind] = true
	return true
}

// accepts reports whether a value is certain to be valid; never on nil.
func (s *simpleSchema) accepts(n *tree.Node) bool {
	if s == nil || !s.kinds[n.Kind] || s.values != nil && !slices.Contains(s.values, n.Raw) {
		return false
	}
	switch n.Kind {
	case tree.Number:
		return !s.integers || isDigits(n.Raw)
	case tree.Array:
		return s.items == nil || !slices.ContainsFunc(n.Items, func(item *tree.Node) bool { return !s.items.accepts(item) })
	case tree.Object:
		for _, m := range n.Members {
			if p := s.properties[m.Key]; p != nil && !p.accepts(m.Value) || p == nil && s.closed {
				return false
			}
		}
		return !slices.ContainsFunc(s.required, func(name string) bool { return !n.Has(name) })
	}
	return true
}

// isDigits reports whether a number is written as an integer.
func isDigits(raw string) bool {
	for i := range len(raw) {
		if c := raw[i]; (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}
