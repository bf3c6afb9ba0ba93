package toolformat

import "slices"

// addProperties gives every object schema properties: OpenAI refuses one without, at any
// depth (spring-ai#4776, langchain-mcp-adapters#137, kubernetes-mcp-server#340,
// mcphost#90: "object schema missing properties"). An empty list says nothing.
func addProperties(r *rewrite) {
	r.each(func(s *node, at *path) {
		if slices.Contains(typesOf(s), "object") && s.get("properties") == nil {
			s.set("properties", newObject())
			r.note(at, `"properties": {} added: %s refuses an object without`, r.dialect)
		}
	})
}

// addItems gives every array schema items: OpenAI refuses one without (mcphost#35,
// ruflo#1294, opencode#20273: "array schema missing items"), a tuple too. The schema {}
// accepts what no schema did; where unevaluatedItems speaks of these items, it is what
// they are given, or it would have nothing left to say.
func addItems(r *rewrite) {
	r.each(func(s *node, at *path) {
		if !slices.Contains(typesOf(s), "array") || s.get("items") != nil {
			return
		}
		items := newObject()
		if rest := s.get("unevaluatedItems"); rest != nil && !slices.ContainsFunc(s.members, func(m member) bool { return evaluating[m.key] && m.key != "prefixItems" && m.key != "unevaluatedItems" }) {
			s.cut("unevaluatedItems")
			items = rest
		}
		s.set("items", items)
		r.note(at, `"items": %s added: %s refuses an array without`, items.short(), r.dialect)
	})
}
