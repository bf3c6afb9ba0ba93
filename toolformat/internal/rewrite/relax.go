package rewrite

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// relaxAbove keeps schemas that accept more than before from making the schemas above them accept
// less, through references too. Below most keywords that cannot happen. But oneOf refuses a value
// that a second branch accepts, not refuses what its schema accepts, if decides by it, and
// maxContains counts by it: these are dropped, and oneOf becomes anyOf.
//
// With blind set, the schemas also lost keywords that named properties or items. Those would be
// refused by unevaluatedProperties and unevaluatedItems around them (2020-12 core, 11), which are
// dropped too.
func (r *Schema) relaxAbove(widened []*tree.Node, blind bool) {
	if len(widened) == 0 {
		return
	}
	x := r.resolveReferences()
	type step struct {
		schema *tree.Node
		blind  bool
	}
	var queue []step
	seen := map[step]bool{}
	visit := func(s step) {
		if !seen[s] {
			seen[s] = true
			queue = append(queue, s)
		}
	}
	for _, s := range widened {
		visit(step{s, blind})
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.blind {
			r.dropStricter(s.schema, x.paths[s.schema], "unevaluatedProperties", "unevaluatedItems")
		}
		for _, up := range x.parents[s.schema] {
			at, blind := x.paths[up.schema], s.blind && vocabulary.InPlace(up.keyword)
			switch up.keyword {
			case "oneOf":
				r.relaxOneOf(up.schema, at)
			case "not":
				r.dropStricter(up.schema, at, "not")
			case "if":
				blind = true // the three may have named properties
				r.dropStricter(up.schema, at, "if", "then", "else")
			case "contains":
				r.dropStricter(up.schema, at, "maxContains")
			}
			visit(step{up.schema, blind})
		}
	}
}

// dropStricter drops keywords that would accept less than before.
func (r *Schema) dropStricter(s *tree.Node, at *tree.Path, keywords ...string) {
	for _, keyword := range keywords {
		if val := s.Remove(keyword); val != nil {
			r.note(at, "%q: %s dropped: a schema below accepts more than before, so that this would refuse more", keyword, val.Short())
		}
	}
}

// relaxOneOf makes oneOf an anyOf.
func (r *Schema) relaxOneOf(s *tree.Node, at *tree.Path) {
	branches := s.Get("oneOf")
	if !branches.Is(tree.Array) || len(branches.Items) < 2 {
		return
	}
	r.note(at, `"oneOf" replaced by "anyOf": a branch accepts more than before, so that two may accept the same value`)
	if s.Get("anyOf") == nil {
		s.Rename("oneOf", "anyOf")
		return
	}
	s.Remove("oneOf")
	addKeyword(s, "anyOf", branches)
}
