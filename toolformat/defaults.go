package toolformat

import (
	"slices"
	"strings"
)

// fillDefaults adds to a value the properties that are not there and have a default in
// the schema, those of objects in it too, and reports whether there were any. A nil schema
// has none.
func fillDefaults(schema, n *node) bool {
	f := filler{root: schema, spare: maxSchemaNodes}
	f.fill(schema, n, 0)
	return f.filled
}

// hasKey reports whether a key stands anywhere in a value.
func (n *node) hasKey(key string) bool {
	return slices.ContainsFunc(n.members, func(m member) bool { return m.key == key || m.val.hasKey(key) }) ||
		slices.ContainsFunc(n.items, func(it *node) bool { return it.hasKey(key) })
}

type filler struct {
	root   *node
	spare  int // bounds the work
	filled bool
}

// fill adds to a value what a schema has defaults for.
func (f *filler) fill(s, n *node, depth int) {
	if f.spare--; f.spare < 0 || depth > maxSchemaDepth || s == nil {
		return
	}
	f.fill(f.target(s), n, depth+1)
	for _, part := range s.get("allOf").list() {
		f.fill(part, n, depth+1)
	}
	for _, it := range n.list() {
		f.fill(s.get("items"), it, depth+1)
	}
	properties := s.get("properties")
	if !n.is(objectNode) || !properties.is(objectNode) {
		return
	}
	for _, m := range properties.members {
		value := n.get(m.key)
		if value == nil {
			if value = f.defaultOf(m.val); value == nil {
				continue
			}
			n.set(m.key, value)
			f.filled = true
		}
		f.fill(m.val, value, depth+1)
	}
}

// defaultOf is a copy of a schema's default; nil when it has none.
func (f *filler) defaultOf(s *node) *node {
	for range maxSchemaDepth {
		if value := s.get("default"); value != nil {
			count, _ := measure(value)
			if f.spare -= count; f.spare < 0 {
				return nil
			}
			return value.clone()
		}
		s = f.target(s)
	}
	return nil
}

// target is what a schema's reference points to; nil when that is not in the schema.
func (f *filler) target(s *node) *node {
	pointer, ok := strings.CutPrefix(s.get("$ref").text(), "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	if pointer == "" {
		return f.root
	}
	return f.root.find(pointerTokens(pointer))
}
