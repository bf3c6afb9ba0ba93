package rewrite

import (
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// loosen answers for schemas that accept more than they did. For most keywords above
// them that only means that these accept more as well. But oneOf refuses what a second
// branch accepts too, not refuses what its schema accepts, if chooses by it, maxContains
// counts by it, so that these would accept less: they give way, and so does what stands
// above them, through references too.
//
// With blind set the schemas also forgot which properties and items they know, so that
// unevaluatedProperties and unevaluatedItems around them would refuse these (2020-12
// core, 11): they give way as well.
func (r *Schema) loosen(widened []*tree.Node, blind bool) {
	if len(widened) == 0 {
		return
	}
	x := r.links()
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
			r.giveWay(s.schema, x.places[s.schema], "unevaluatedProperties", "unevaluatedItems")
		}
		for _, up := range x.above[s.schema] {
			at, blind := x.places[up.schema], s.blind && vocabulary.InPlace(up.keyword)
			switch up.keyword {
			case "oneOf":
				r.anyOfInstead(up.schema, at)
			case "not":
				r.giveWay(up.schema, at, "not")
			case "if":
				blind = true // what the three knew is lost
				r.giveWay(up.schema, at, "if", "then", "else")
			case "contains":
				r.giveWay(up.schema, at, "maxContains")
			}
			visit(step{up.schema, blind})
		}
	}
}

// giveWay drops keywords that would accept less than they did.
func (r *Schema) giveWay(s *tree.Node, at *tree.Path, keywords ...string) {
	for _, keyword := range keywords {
		if val := s.Remove(keyword); val != nil {
			r.note(at, "%q: %s is dropped: a schema below accepts more than it did, so that this would refuse more", keyword, val.Short())
		}
	}
}

// anyOfInstead makes oneOf an anyOf.
func (r *Schema) anyOfInstead(s *tree.Node, at *tree.Path) {
	branches := s.Get("oneOf")
	if !branches.Is(tree.Array) || len(branches.Items) < 2 {
		return
	}
	r.note(at, `"oneOf" is "anyOf": a branch accepts more than it did, so that two may accept one value`)
	if s.Get("anyOf") == nil {
		s.Rename("oneOf", "anyOf")
		return
	}
	s.Remove("oneOf")
	also(s, "anyOf", branches)
}
