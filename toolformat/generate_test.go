package toolformat

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// generator makes up schemas and instances of them.
type generator struct{ rand *rand.Rand }

func (g *generator) oneIn(n int) bool { return g.rand.IntN(n) == 0 }

func pick[T any](g *generator, from ...T) T { return from[g.rand.IntN(len(from))] }

func newNumber(n int) *node { return &node{kind: numberNode, raw: strconv.Itoa(n)} }

// objectSchema is a schema as the root of a tool may have it.
func (g *generator) objectSchema(depth int) *node {
	s := newObject(member{"type", newText("object")})
	g.properties(s, depth)
	switch g.rand.IntN(8) {
	case 0:
		s.set(pick(g, "anyOf", "oneOf"), newArray(g.branch(depth), g.branch(depth)))
	case 1:
		s.set("allOf", newArray(g.branch(depth), g.branch(depth)))
	case 2:
		s.set("anyOf", newArray(newObject(member{"required", newArray(newText("a"))}), newObject(member{"required", newArray(newText("b"))})))
	case 3:
		s.set(pick(g, "minProperties", "maxProperties"), newNumber(g.rand.IntN(3)))
	case 4:
		s.set("$defs", newObject(member{"D", g.schema(depth - 1)}, member{"E", g.schema(depth - 1)}))
	case 5:
		s.set("if", g.branch(1))
		s.set("then", g.branch(1))
	case 6:
		s.set("not", g.branch(1))
	}
	return s
}

// plainSchema is a schema of an object that every format carries.
func (g *generator) plainSchema(depth int) *node {
	properties, required := newObject(), newArray()
	for _, key := range []string{"query", "limit", "tags", "where"} {
		p := newObject(member{"type", newText(pick(g, "string", "integer", "number", "boolean"))}, member{"description", newText("What " + key + " is.")})
		switch {
		case key == "tags":
			p = newObject(member{"type", newText("array")}, member{"items", newObject(member{"type", newText("string")})})
		case key == "where" && depth == 0:
			continue
		case key == "where":
			p = g.plainSchema(depth - 1)
			p.cut("required") // older models of Ollama lose it, which is noted
		}
		properties.set(key, p)
		if g.oneIn(2) {
			required.items = append(required.items, newText(key))
		}
	}
	s := newObject(member{"type", newText("object")}, member{"properties", properties})
	if len(required.items) > 0 {
		s.set("required", required)
	}
	return s
}

// branch is an object schema below a combinator.
func (g *generator) branch(depth int) *node {
	s := newObject()
	if g.oneIn(2) {
		s.set("type", newText("object"))
	}
	g.properties(s, depth-1)
	return s
}

func (g *generator) properties(s *node, depth int) {
	properties, required := newObject(), newArray()
	for _, key := range []string{"a", "b", "c", "$top", "title", "x[y]"} {
		if g.oneIn(2) {
			properties.set(key, g.schema(depth-1))
		}
		if g.oneIn(5) {
			required.items = append(required.items, newText(key))
		}
	}
	if !g.oneIn(8) {
		s.set("properties", properties)
	}
	if len(required.items) > 0 {
		s.set("required", required)
	}
	switch g.rand.IntN(6) {
	case 0:
		s.set("additionalProperties", newBool(g.oneIn(2)))
	case 1:
		s.set("additionalProperties", g.schema(depth-1))
	case 2:
		s.set("patternProperties", newObject(member{"^[a-c]$", g.schema(depth - 1)}))
	case 3:
		s.set("dependentRequired", newObject(member{"a", newArray(newText("b"))}))
	}
}

// schema is any schema.
func (g *generator) schema(depth int) *node {
	if depth <= 0 {
		return g.scalarSchema()
	}
	switch g.rand.IntN(12) {
	case 0:
		return newBool(!g.oneIn(4))
	case 1, 2:
		s := newObject(member{"type", newText("object")})
		g.properties(s, depth)
		return s
	case 3:
		return g.arraySchema(depth)
	case 4:
		return newObject(member{pick(g, "anyOf", "oneOf"), newArray(g.schema(depth-1), g.schema(depth-1))})
	case 5:
		return newObject(member{"allOf", newArray(g.schema(depth-1), g.schema(depth-1))}, member{"description", newText("both")})
	case 6:
		return newObject(member{"$ref", newText(pick(g, "#/$defs/D", "#/$defs/E", "#", "#/properties/a", "#/$defs/none"))}, member{"description", newText("a reference")})
	case 7:
		return newObject(member{"not", g.schema(depth - 1)})
	}
	return g.scalarSchema()
}

func (g *generator) arraySchema(depth int) *node {
	s := newObject(member{"type", newText("array")})
	switch g.rand.IntN(4) {
	case 0:
		s.set("items", g.schema(depth-1))
	case 1:
		s.set("prefixItems", newArray(g.schema(depth-1), g.schema(depth-1)))
		if g.oneIn(2) {
			s.set("items", newBool(g.oneIn(2)))
		}
	case 2:
		s.set("contains", g.schema(depth-1))
	}
	if g.oneIn(3) {
		s.set(pick(g, "minItems", "maxItems"), newNumber(g.rand.IntN(4)))
	}
	if g.oneIn(5) {
		s.set("uniqueItems", newBool(true))
	}
	return s
}

func (g *generator) scalarSchema() *node {
	s := newObject()
	switch g.rand.IntN(9) {
	case 0:
		s.set("const", g.scalar())
	case 1:
		s.set("enum", newArray(g.scalar(), g.scalar(), newText(fmt.Sprint("e", g.rand.IntN(99)))))
	case 2:
		s.set("type", newArray(newText("string"), newText(pick(g, "null", "integer"))))
	case 3, 4:
		s.set("type", newText(pick(g, "integer", "number")))
		s.set(pick(g, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "default"), newNumber(g.rand.IntN(5)))
	case 5:
		s.set("type", newText("string"))
		s.set(pick(g, "minLength", "maxLength"), newNumber(g.rand.IntN(4)))
	case 6:
		s.set("type", newText("string"))
		s.set("pattern", newText("^[a-z]*$"))
	default:
		s.set("type", newText(pick(g, "string", "boolean", "null", "integer")))
	}
	if g.oneIn(4) {
		s.set("description", newText("A thing."))
	}
	if g.oneIn(4) {
		s.set("title", newText("Thing"))
	}
	return s
}

func (g *generator) scalar() *node {
	switch g.rand.IntN(5) {
	case 0:
		return newBool(g.oneIn(2))
	case 1:
		return newNumber(g.rand.IntN(6))
	case 2:
		return &node{raw: "null"}
	}
	return newText(pick(g, "", "a", "b", "abc", "Zx 9"))
}

// instance is something that a schema may well accept; who needs one that is valid
// checks it.
func (g *generator) instance(s, root *node, depth int) *node {
	if s == nil || depth < 0 || s.is(boolNode) {
		return g.scalar()
	}
	if ref := s.get("$ref"); ref != nil {
		return g.instance(g.target(ref.text(), root), root, depth-1)
	}
	if c := s.get("const"); c != nil {
		return c.clone()
	}
	if e := s.get("enum"); e.is(arrayNode) && len(e.items) > 0 {
		return pick(g, e.items...).clone()
	}
	kind := s.get("type").text()
	if list := s.get("type"); list.is(arrayNode) && len(list.items) > 0 {
		kind = pick(g, list.items...).text()
	}
	if kind == "" && (s.get("properties") != nil || s.get("required") != nil) {
		kind = "object"
	}
	var made *node
	switch kind {
	case "object":
		made = g.objectOf(s, root, depth)
	case "array":
		made = g.arrayOf(s, root, depth)
	case "string":
		made = newText(pick(g, "", "a", "abc", "hello"))
	case "integer", "number":
		made = newNumber(g.rand.IntN(7))
	case "boolean":
		made = newBool(g.oneIn(2))
	case "null":
		made = &node{raw: "null"}
	}
	return g.combined(made, s, root, depth)
}

// combined adds what the combinators of a schema want.
func (g *generator) combined(made, s, root *node, depth int) *node {
	for _, m := range s.members {
		if !m.val.is(arrayNode) || len(m.val.items) == 0 {
			continue
		}
		var parts []*node
		switch m.key {
		case "anyOf", "oneOf":
			parts = []*node{pick(g, m.val.items...)}
		case "allOf":
			parts = m.val.items
		}
		for _, part := range parts {
			other := g.instance(part, root, depth-1)
			if made.is(objectNode) && other.is(objectNode) {
				for _, m := range other.members {
					made.set(m.key, m.val)
				}
			} else if made == nil || g.oneIn(2) {
				made = other
			}
		}
	}
	if made == nil {
		return g.scalar()
	}
	return made
}

func (g *generator) objectOf(s, root *node, depth int) *node {
	made := newObject()
	if properties := s.get("properties"); properties.is(objectNode) {
		for _, m := range properties.members {
			required := s.get("required").hasText(m.key)
			if required && !g.oneIn(10) || !required && g.oneIn(2) {
				made.set(m.key, g.instance(m.val, root, depth-1))
			}
		}
	}
	if required := s.get("required"); required.is(arrayNode) {
		for _, key := range required.items {
			if made.get(key.text()) == nil {
				made.set(key.text(), g.scalar())
			}
		}
	}
	if g.oneIn(4) {
		made.set(pick(g, "a", "b", "more"), g.scalar())
	}
	return made
}

func (g *generator) arrayOf(s, root *node, depth int) *node {
	made := newArray()
	prefix := s.get("prefixItems")
	for i := range g.rand.IntN(4) {
		item := s.get("items")
		if prefix.is(arrayNode) && i < len(prefix.items) {
			item = prefix.items[i]
		} else if contains := s.get("contains"); contains != nil && item == nil {
			item = contains
		}
		made.items = append(made.items, g.instance(item, root, depth-1))
	}
	return made
}

// target is what a local reference names.
func (g *generator) target(ref string, root *node) *node {
	switch ref {
	case "#":
		return root
	case "#/properties/a":
		return root.get("properties").get("a")
	case "#/$defs/D":
		return root.get("$defs").get("D")
	case "#/$defs/E":
		return root.get("$defs").get("E")
	}
	return nil
}
