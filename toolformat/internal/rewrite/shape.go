package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// addProperties gives every object schema properties: OpenAI refuses one without, at any
// depth (spring-ai#4776, langchain-mcp-adapters#137, kubernetes-mcp-server#340,
// mcphost#90: "object schema missing properties"). An empty list says nothing.
func addProperties(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if slices.Contains(typesOf(s), "object") && s.Get("properties") == nil {
			s.Set("properties", tree.NewObject())
			r.note(at, `"properties": {} added: %s refuses an object without`, r.dialect)
		}
	})
}

// addItems gives every array schema items: OpenAI refuses one without (mcphost#35,
// ruflo#1294, opencode#20273: "array schema missing items"), a tuple too. The schema {}
// accepts what no schema did; where unevaluatedItems speaks of these items, it is what
// they are given, or it would have nothing left to say.
func addItems(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if !slices.Contains(typesOf(s), "array") || s.Get("items") != nil {
			return
		}
		items := tree.NewObject()
		if rest := s.Get("unevaluatedItems"); rest != nil && !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
			return evaluating[m.Key] && m.Key != "prefixItems" && m.Key != "unevaluatedItems"
		}) {
			s.Remove("unevaluatedItems")
			items = rest
		}
		s.Set("items", items)
		r.note(at, `"items": %s added: %s refuses an array without`, items.Short(), r.dialect)
	})
}
