package toolformat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// generator makes up schemas and instances of them.
type generator struct{ rand *rand.Rand }

func (g *generator) oneIn(n int) bool { return g.rand.IntN(n) == 0 }

func pick[T any](g *generator, from ...T) T { return from[g.rand.IntN(len(from))] }

func newNumber(n int) *tree.Node { return &tree.Node{Kind: tree.Number, Raw: strconv.Itoa(n)} }

// objectSchema returns a schema such as the root of a tool has.
func (g *generator) objectSchema(depth int) *tree.Node {
	s := tree.NewObject(tree.NewMember("type", tree.NewText("object")))
	g.properties(s, depth)
	switch g.rand.IntN(8) {
	case 0:
		s.Set(pick(g, "anyOf", "oneOf"), tree.NewArray(g.branch(depth), g.branch(depth)))
	case 1:
		s.Set("allOf", tree.NewArray(g.branch(depth), g.branch(depth)))
	case 2:
		s.Set("anyOf", tree.NewArray(tree.NewObject(tree.NewMember("required", tree.NewArray(tree.NewText("a")))), tree.NewObject(tree.NewMember("required", tree.NewArray(tree.NewText("b"))))))
	case 3:
		s.Set(pick(g, "minProperties", "maxProperties"), newNumber(g.rand.IntN(3)))
	case 4:
		s.Set("$defs", tree.NewObject(tree.NewMember("D", g.schema(depth-1)), tree.NewMember("E", g.schema(depth-1))))
	case 5:
		s.Set("if", g.branch(1))
		s.Set("then", g.branch(1))
	case 6:
		s.Set("not", g.branch(1))
	}
	return s
}

// plainSchema returns the schema of an object that every format can carry.
func (g *generator) plainSchema(depth int) *tree.Node {
	properties, required := tree.NewObject(), tree.NewArray()
	for _, key := range []string{"query", "limit", "tags", "where"} {
		p := tree.NewObject(tree.NewMember("type", tree.NewText(pick(g, "string", "integer", "number", "boolean"))), tree.NewMember("description", tree.NewText("What "+key+" is.")))
		switch {
		case key == "tags":
			p = tree.NewObject(tree.NewMember("type", tree.NewText("array")), tree.NewMember("items", tree.NewObject(tree.NewMember("type", tree.NewText("string")))))
		case key == "where" && depth == 0:
			continue
		case key == "where":
			p = g.plainSchema(depth - 1)
			p.Remove("required") // older models of Ollama lose it, which is noted
		}
		properties.Set(key, p)
		if g.oneIn(2) {
			required.Items = append(required.Items, tree.NewText(key))
		}
	}
	s := tree.NewObject(tree.NewMember("type", tree.NewText("object")), tree.NewMember("properties", properties))
	if len(required.Items) > 0 {
		s.Set("required", required)
	}
	return s
}

// branch returns an object schema below a combinator.
func (g *generator) branch(depth int) *tree.Node {
	s := tree.NewObject()
	if g.oneIn(2) {
		s.Set("type", tree.NewText("object"))
	}
	g.properties(s, depth-1)
	return s
}

func (g *generator) properties(s *tree.Node, depth int) {
	properties, required := tree.NewObject(), tree.NewArray()
	for _, key := range []string{"a", "b", "c", "$top", "title", "x[y]"} {
		if g.oneIn(2) {
			properties.Set(key, g.schema(depth-1))
		}
		if g.oneIn(5) {
			required.Items = append(required.Items, tree.NewText(key))
		}
	}
	if !g.oneIn(8) {
		s.Set("properties", properties)
	}
	if len(required.Items) > 0 {
		s.Set("required", required)
	}
	switch g.rand.IntN(6) {
	case 0:
		s.Set("additionalProperties", tree.NewBool(g.oneIn(2)))
	case 1:
		s.Set("additionalProperties", g.schema(depth-1))
	case 2:
		s.Set("patternProperties", tree.NewObject(tree.NewMember("^[a-c]$", g.schema(depth-1))))
	case 3:
		s.Set("dependentRequired", tree.NewObject(tree.NewMember("a", tree.NewArray(tree.NewText("b")))))
	}
}

// schema returns any schema.
func (g *generator) schema(depth int) *tree.Node {
	if depth <= 0 {
		return g.scalarSchema()
	}
	switch g.rand.IntN(12) {
	case 0:
		return tree.NewBool(!g.oneIn(4))
	case 1, 2:
		s := tree.NewObject(tree.NewMember("type", tree.NewText("object")))
		g.properties(s, depth)
		return s
	case 3:
		return g.arraySchema(depth)
	case 4:
		return tree.NewObject(tree.NewMember(pick(g, "anyOf", "oneOf"), tree.NewArray(g.schema(depth-1), g.schema(depth-1))))
	case 5:
		return tree.NewObject(tree.NewMember("allOf", tree.NewArray(g.schema(depth-1), g.schema(depth-1))), tree.NewMember("description", tree.NewText("both")))
	case 6:
		return tree.NewObject(tree.NewMember("$ref", tree.NewText(pick(g, "#/$defs/D", "#/$defs/E", "#", "#/properties/a", "#/$defs/none"))), tree.NewMember("description", tree.NewText("a reference")))
	case 7:
		return tree.NewObject(tree.NewMember("not", g.schema(depth-1)))
	}
	return g.scalarSchema()
}

func (g *generator) arraySchema(depth int) *tree.Node {
	s := tree.NewObject(tree.NewMember("type", tree.NewText("array")))
	switch g.rand.IntN(4) {
	case 0:
		s.Set("items", g.schema(depth-1))
	case 1:
		s.Set("prefixItems", tree.NewArray(g.schema(depth-1), g.schema(depth-1)))
		if g.oneIn(2) {
			s.Set("items", tree.NewBool(g.oneIn(2)))
		}
	case 2:
		s.Set("contains", g.schema(depth-1))
	}
	if g.oneIn(3) {
		s.Set(pick(g, "minItems", "maxItems"), newNumber(g.rand.IntN(4)))
	}
	if g.oneIn(5) {
		s.Set("uniqueItems", tree.NewBool(true))
	}
	return s
}

func (g *generator) scalarSchema() *tree.Node {
	s := tree.NewObject()
	switch g.rand.IntN(9) {
	case 0:
		s.Set("const", g.scalar())
	case 1:
		s.Set("enum", tree.NewArray(g.scalar(), g.scalar(), tree.NewText(fmt.Sprint("e", g.rand.IntN(99)))))
	case 2:
		s.Set("type", tree.NewArray(tree.NewText("string"), tree.NewText(pick(g, "null", "integer"))))
	case 3, 4:
		s.Set("type", tree.NewText(pick(g, "integer", "number")))
		s.Set(pick(g, "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "default"), newNumber(g.rand.IntN(5)))
	case 5:
		s.Set("type", tree.NewText("string"))
		s.Set(pick(g, "minLength", "maxLength"), newNumber(g.rand.IntN(4)))
	case 6:
		s.Set("type", tree.NewText("string"))
		s.Set("pattern", tree.NewText("^[a-z]*$"))
	default:
		s.Set("type", tree.NewText(pick(g, "string", "boolean", "null", "integer")))
	}
	if g.oneIn(4) {
		s.Set("description", tree.NewText("A thing."))
	}
	if g.oneIn(4) {
		s.Set("title", tree.NewText("Thing"))
	}
	return s
}

func (g *generator) scalar() *tree.Node {
	switch g.rand.IntN(5) {
	case 0:
		return tree.NewBool(g.oneIn(2))
	case 1:
		return newNumber(g.rand.IntN(6))
	case 2:
		return &tree.Node{Raw: "null"}
	}
	return tree.NewText(pick(g, "", "a", "b", "abc", "Zx 9"))
}

// instance returns a value that is probably valid.
func (g *generator) instance(s, root *tree.Node, depth int) *tree.Node {
	if s == nil || depth < 0 || s.Is(tree.Bool) {
		return g.scalar()
	}
	if ref := s.Get("$ref"); ref != nil {
		return g.instance(g.target(ref.Text(), root), root, depth-1)
	}
	if c := s.Get("const"); c != nil {
		return c.Clone()
	}
	if e := s.Get("enum"); e.Is(tree.Array) && len(e.Items) > 0 {
		return pick(g, e.Items...).Clone()
	}
	kind := s.Get("type").Text()
	if list := s.Get("type"); list.Is(tree.Array) && len(list.Items) > 0 {
		kind = pick(g, list.Items...).Text()
	}
	if kind == "" && (s.Get("properties") != nil || s.Get("required") != nil) {
		kind = "object"
	}
	var made *tree.Node
	switch kind {
	case "object":
		made = g.objectOf(s, root, depth)
	case "array":
		made = g.arrayOf(s, root, depth)
	case "string":
		made = tree.NewText(pick(g, "", "a", "abc", "hello"))
	case "integer", "number":
		made = newNumber(g.rand.IntN(7))
	case "boolean":
		made = tree.NewBool(g.oneIn(2))
	case "null":
		made = &tree.Node{Raw: "null"}
	}
	return g.combined(made, s, root, depth)
}

// combined adds what the combinators of a schema ask for.
func (g *generator) combined(made, s, root *tree.Node, depth int) *tree.Node {
	for _, m := range s.Members {
		if !m.Value.Is(tree.Array) || len(m.Value.Items) == 0 {
			continue
		}
		var parts []*tree.Node
		switch m.Key {
		case "anyOf", "oneOf":
			parts = []*tree.Node{pick(g, m.Value.Items...)}
		case "allOf":
			parts = m.Value.Items
		}
		for _, part := range parts {
			other := g.instance(part, root, depth-1)
			if made.Is(tree.Object) && other.Is(tree.Object) {
				for _, m := range other.Members {
					made.Set(m.Key, m.Value)
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

func (g *generator) objectOf(s, root *tree.Node, depth int) *tree.Node {
	made := tree.NewObject()
	if properties := s.Get("properties"); properties.Is(tree.Object) {
		for _, m := range properties.Members {
			required := slices.ContainsFunc(s.Get("required").List(), func(name *tree.Node) bool { return name.Text() == m.Key })
			if required && !g.oneIn(10) || !required && g.oneIn(2) {
				made.Set(m.Key, g.instance(m.Value, root, depth-1))
			}
		}
	}
	if required := s.Get("required"); required.Is(tree.Array) {
		for _, key := range required.Items {
			if made.Get(key.Text()) == nil {
				made.Set(key.Text(), g.scalar())
			}
		}
	}
	if g.oneIn(4) {
		made.Set(pick(g, "a", "b", "more"), g.scalar())
	}
	return made
}

func (g *generator) arrayOf(s, root *tree.Node, depth int) *tree.Node {
	made := tree.NewArray()
	prefix := s.Get("prefixItems")
	for i := range g.rand.IntN(4) {
		item := s.Get("items")
		if prefix.Is(tree.Array) && i < len(prefix.Items) {
			item = prefix.Items[i]
		} else if contains := s.Get("contains"); contains != nil && item == nil {
			item = contains
		}
		made.Items = append(made.Items, g.instance(item, root, depth-1))
	}
	return made
}

// target returns the target of a local reference.
func (g *generator) target(ref string, root *tree.Node) *tree.Node {
	switch ref {
	case "#":
		return root
	case "#/properties/a":
		return root.Get("properties").Get("a")
	case "#/$defs/D":
		return root.Get("$defs").Get("D")
	case "#/$defs/E":
		return root.Get("$defs").Get("E")
	}
	return nil
}
