package rewrite

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// addProperties gives every object schema properties: OpenAI refuses one without, at any depth
// (spring-ai#4776, langchain-mcp-adapters#137, kubernetes-mcp-server#340, mcphost#90: "object
// schema missing properties"). The empty list changes no verdict.
func addProperties(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if slices.Contains(typesOf(s), "object") && s.Get("properties") == nil {
			s.Set("properties", tree.NewObject())
			r.note(at, `"properties": {} added: %s refuses an object without`, r.dialect)
		}
	})
}

// addItems gives every array schema items: OpenAI refuses one without, tuples too (mcphost#35,
// ruflo#1294, opencode#20273: "array schema missing items"). They are {}, or the schema of
// unevaluatedItems where that is about all items: it would apply to none beside {}.
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

// dropTitles removes the annotation title (2020-12 validation, 9.1), which generators derive from
// the key of the property: it costs tokens and may confuse a model
// (github.com/pydantic/pydantic/discussions/8504). Only a title that is not a string is worth a
// note.
func dropTitles(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		if title := s.Remove("title"); title != nil && !title.Is(tree.Text) {
			r.note(at, `"title": %s dropped: it is %s, expected a string`, title.Short(), title.Kind)
		}
	})
}
