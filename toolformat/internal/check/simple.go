package check

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// An obvious schema is one of types, properties and required names alone, as those of most
// tools are: whether a value meets it can be seen at a glance. It only ever says yes, and
// only when the answer is the same in every draft; all else is the engine's to judge and to
// put in words.
type obvious struct {
	kinds      [tree.Object + 1]bool // that a value may have
	whole      bool                  // of numbers, only those that are written as integers
	properties map[string]*obvious
	required   []string
	closed     bool // no other properties
	items      *obvious
	values     []string // raw strings, one of which it must be; nil: any
}

// annotations are keywords that refuse nothing, in every draft.
var annotations = []string{"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"}

// newObvious is what is obvious of a schema; nil when it has more to it.
func newObvious(schema *tree.Node) *obvious {
	if !schema.Is(tree.Object) {
		return nil
	}
	o := &obvious{}
	if schema.Get("type") == nil {
		o.kinds = [...]bool{true, true, true, true, true, true}
	}
	for _, m := range schema.Members {
		if !slices.Contains(annotations, m.Key) && !o.take(m.Key, m.Value) {
			return nil
		}
	}
	return o
}

// take adds a keyword; false: it is not an obvious one.
func (o *obvious) take(keyword string, v *tree.Node) bool {
	switch keyword {
	case "type":
		if v.Is(tree.Array) {
			return len(v.Items) > 0 && !slices.ContainsFunc(v.Items, func(t *tree.Node) bool { return !o.takeType(t) })
		}
		return o.takeType(v)
	case "properties":
		o.properties = make(map[string]*obvious, len(v.Members))
		for _, p := range v.Members {
			if o.properties[p.Key] = newObvious(p.Value); o.properties[p.Key] == nil {
				return false
			}
		}
		return v.Is(tree.Object)
	case "required":
		for _, name := range v.Items {
			if !name.Is(tree.Text) {
				return false
			}
			o.required = append(o.required, name.Text())
		}
		return v.Is(tree.Array)
	case "additionalProperties":
		o.closed = v.Is(tree.Bool) && v.Raw == "false"
		return v.Is(tree.Bool) || v.Is(tree.Object) && len(v.Members) == 0
	case "items":
		o.items = newObvious(v)
		return o.items != nil
	case "enum":
		for _, value := range v.Items {
			if !value.Is(tree.Text) {
				return false
			}
			o.values = append(o.values, value.Raw)
		}
		return len(o.values) > 0
	}
	return false
}

func (o *obvious) takeType(t *tree.Node) bool {
	if !t.Is(tree.Text) {
		return false
	}
	switch t.Text() {
	case "null":
		o.kinds[tree.Null] = true
	case "boolean":
		o.kinds[tree.Bool] = true
	case "integer":
		o.whole = !o.kinds[tree.Number]
		o.kinds[tree.Number] = true
	case "number":
		o.whole, o.kinds[tree.Number] = false, true
	case "string":
		o.kinds[tree.Text] = true
	case "array":
		o.kinds[tree.Array] = true
	case "object":
		o.kinds[tree.Object] = true
	default:
		return false
	}
	return true
}

// accepts reports whether a value is sure to meet the schema. A nil one is sure of nothing.
func (o *obvious) accepts(n *tree.Node) bool {
	if o == nil || !o.kinds[n.Kind] || o.values != nil && !slices.Contains(o.values, n.Raw) {
		return false
	}
	switch n.Kind {
	case tree.Number:
		return !o.whole || isDigits(n.Raw)
	case tree.Array:
		return o.items == nil || !slices.ContainsFunc(n.Items, func(item *tree.Node) bool { return !o.items.accepts(item) })
	case tree.Object:
		for _, m := range n.Members {
			if p := o.properties[m.Key]; p != nil && !p.accepts(m.Value) || p == nil && o.closed {
				return false
			}
		}
		return !slices.ContainsFunc(o.required, func(name string) bool { return !n.Has(name) })
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
