package toolformat

import "slices"

// An obvious schema is one of types, properties and required names alone, as those of most
// tools are: whether a value meets it can be seen at a glance. It only ever says yes, and
// only when the answer is the same in every draft; all else is the engine's to judge and to
// put in words.
type obvious struct {
	kinds      [objectNode + 1]bool // that a value may have
	whole      bool                 // of numbers, only those that are written as integers
	properties map[string]*obvious
	required   []string
	closed     bool // no other properties
	items      *obvious
	values     []string // raw strings, one of which it must be; nil: any
}

// annotations are keywords that refuse nothing, in every draft.
var annotations = []string{"$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated", "readOnly", "writeOnly"}

// newObvious is what is obvious of a schema; nil when it has more to it.
func newObvious(schema *node) *obvious {
	if !schema.is(objectNode) {
		return nil
	}
	o := &obvious{}
	if schema.get("type") == nil {
		o.kinds = [...]bool{true, true, true, true, true, true}
	}
	for _, m := range schema.members {
		if !slices.Contains(annotations, m.key) && !o.take(m.key, m.val) {
			return nil
		}
	}
	return o
}

// take adds a keyword; false: it is not an obvious one.
func (o *obvious) take(keyword string, v *node) bool {
	switch keyword {
	case "type":
		if v.is(arrayNode) {
			return len(v.items) > 0 && !slices.ContainsFunc(v.items, func(t *node) bool { return !o.takeType(t) })
		}
		return o.takeType(v)
	case "properties":
		o.properties = make(map[string]*obvious, len(v.members))
		for _, p := range v.members {
			if o.properties[p.key] = newObvious(p.val); o.properties[p.key] == nil {
				return false
			}
		}
		return v.is(objectNode)
	case "required":
		for _, name := range v.items {
			if !name.is(textNode) {
				return false
			}
			o.required = append(o.required, name.text())
		}
		return v.is(arrayNode)
	case "additionalProperties":
		o.closed = v.is(boolNode) && v.raw == "false"
		return v.is(boolNode) || v.is(objectNode) && len(v.members) == 0
	case "items":
		o.items = newObvious(v)
		return o.items != nil
	case "enum":
		for _, value := range v.items {
			if !value.is(textNode) {
				return false
			}
			o.values = append(o.values, value.raw)
		}
		return len(o.values) > 0
	}
	return false
}

func (o *obvious) takeType(t *node) bool {
	if !t.is(textNode) {
		return false
	}
	switch t.text() {
	case "null":
		o.kinds[nullNode] = true
	case "boolean":
		o.kinds[boolNode] = true
	case "integer":
		o.whole = !o.kinds[numberNode]
		o.kinds[numberNode] = true
	case "number":
		o.whole, o.kinds[numberNode] = false, true
	case "string":
		o.kinds[textNode] = true
	case "array":
		o.kinds[arrayNode] = true
	case "object":
		o.kinds[objectNode] = true
	default:
		return false
	}
	return true
}

// accepts reports whether a value is sure to meet the schema. A nil one is sure of nothing.
func (o *obvious) accepts(n *node) bool {
	if o == nil || !o.kinds[n.kind] || o.values != nil && !slices.Contains(o.values, n.raw) {
		return false
	}
	switch n.kind {
	case numberNode:
		return !o.whole || isDigits(n.raw)
	case arrayNode:
		return o.items == nil || !slices.ContainsFunc(n.items, func(item *node) bool { return !o.items.accepts(item) })
	case objectNode:
		for _, m := range n.members {
			if p := o.properties[m.key]; p != nil && !p.accepts(m.val) || p == nil && o.closed {
				return false
			}
		}
		return !slices.ContainsFunc(o.required, func(name string) bool { return !n.has(name) })
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
