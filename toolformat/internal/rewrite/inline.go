package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// The bounds of what references may make of a schema.
const (
	// maxNested is how often a definition may stand within itself: once shows a model that it
	// nests.
	maxNested = 1
	// maxNestedCost bounds the copies if some stand within themselves. Definitions that all
	// contain each other grow with the factorial of their number.
	maxNestedCost = 5_000
	// maxInlinedCost bounds the copies: about half a megabyte, more than any model is given.
	maxInlinedCost = MaxNodes / 4
	// maxTypeCost bounds a type that is copied to the place of a pruned reference.
	maxTypeCost = 12
)

// inlineReferences replaces every $ref by a copy of its target and drops the definitions, for
// providers that do not know references (Ollama loses a $ref below properties; Gemini:
// opencode#12295, gemini-cli#13326). A target that contains itself is pruned after one more level,
// and one that grows beyond the bounds where it does: there any value of its type is accepted, and
// the description says so.
//
// Siblings of a $ref apply as well (2020-12 core, 7.7.1.1): they go into the copy. Annotations of
// the siblings win; assertions that conflict are kept apart by an allOf.
func inlineReferences(r *Schema) {
	r.resolveDynamic()
	x := r.resolveReferences()
	refs := r.dropUnresolved(x)
	r.dropIdentifiers(x)
	unused := r.cutDefinitions(x)
	if len(refs) > 0 {
		notes := len(r.Notes)
		e := r.expandAll(x, maxNested, min(maxNestedCost, r.budget))
		if e.exceeded {
			r.Notes = r.Notes[:notes]
			e = r.expandAll(x, 0, min(maxInlinedCost, r.budget))
		}
		r.Root = e.root
		r.budget -= e.spent
		r.relaxAbove(e.pruned, true)
		unused = slices.DeleteFunc(unused, func(d located) bool { return e.copied[d.schema] })
	}
	r.noteUnused(unused)
}

// cutDefinitions removes the definitions from all schemas; the graph still knows them.
func (r *Schema) cutDefinitions(x *refGraph) []located {
	var all []located
	for _, s := range x.schemas {
		at := s.at.At("$defs")
		for _, m := range vocabulary.MembersOf(s.schema.Remove("$defs")) {
			all = append(all, located{m.Value, at.At(m.Key)})
		}
	}
	return all
}

// noteUnused notes the definitions that were copied nowhere.
func (r *Schema) noteUnused(unused []located) {
	for len(unused) > 0 {
		at := unused[0].at.Parent
		var names []string
		for len(unused) > 0 && unused[0].at.Parent == at {
			names = append(names, quoteShort(unused[0].at.Key))
			unused = unused[1:]
		}
		r.note(at, "definitions that nothing refers to dropped: %s", wording.List(names))
	}
}

// dropIdentifiers drops the names that only references need (2020-12 core, 8.2): from here on these
// are pointers from the root, or replaced. An $id below the root would also change their base; that
// of the root stays.
func (r *Schema) dropIdentifiers(x *refGraph) {
	for _, s := range x.schemas {
		for _, keyword := range []string{"$id", "$anchor", "$dynamicAnchor"} {
			if keyword == "$id" && s.schema == r.Root {
				continue
			}
			if name := s.schema.Remove(keyword); name != nil {
				r.note(s.at, "%q: %s dropped: no reference needs it any more", keyword, name.Short())
			}
		}
	}
}

// An expansion replaces the references of a schema: all of one level before those of the next, so
// that a bound prunes the deepest.
type expansion struct {
	*Schema
	graph  *refGraph // of the schema as it was; only read
	root   *tree.Node
	levels int // how often a target may stand within itself
	budget int // cost that may be spent

	pending  []pendingRef
	spent    int
	exceeded bool                // something did not fit
	copied   map[*tree.Node]bool // targets with a copy
	pruned   []*tree.Node        // schemas where a reference was pruned
	costs    map[*tree.Node]int
	noted    map[noted]bool
}

// A noted is a note on a reference that several copies may have.
type noted struct {
	ref  *reference
	what string
}

// A pendingRef is a reference in the expanded schema that is still to be replaced.
type pendingRef struct {
	located
	ref       *reference
	enclosing *enclosure
}

// An enclosure is a copied target around a reference.
type enclosure struct {
	target *tree.Node
	at     *tree.Path
	up     *enclosure
	depth  int
}

// outermost returns the outermost place of a target among the enclosures, and their number.
func (e *enclosure) outermost(target *tree.Node) (at *tree.Path, count int) {
	for ; e != nil; e = e.up {
		if e.target == target {
			at, count = e.at, count+1
		}
	}
	return at, count
}

// expandAll replaces the references of a schema. If levels allow nesting, it stops once something
// does not fit: the next attempt will allow none.
func (r *Schema) expandAll(x *refGraph, levels, budget int) *expansion {
	e := &expansion{
		Schema: r, graph: x, levels: levels, budget: budget,
		copied: map[*tree.Node]bool{}, costs: map[*tree.Node]int{}, noted: map[noted]bool{},
	}
	e.root = e.copySchema(x.root, r.base, &enclosure{target: x.root, at: r.base})
	for i := 0; i < len(e.pending) && (!e.exceeded || levels == 0); i++ {
		e.expandRef(e.pending[i])
	}
	return e
}

// copySchema returns a copy of a schema whose references are pending.
func (e *expansion) copySchema(s *tree.Node, at *tree.Path, inside *enclosure) *tree.Node {
	var refs []*reference
	vocabulary.EachSchema(s, nil, func(s *tree.Node, _ *tree.Path) { refs = append(refs, e.graph.refOf[s]) })
	c := s.Clone()
	if inside.up != nil {
		c.Remove("$id") // of the root
	}
	i := 0
	vocabulary.EachSchema(c, at, func(s *tree.Node, at *tree.Path) {
		if ref := refs[i]; ref != nil && ref.fault == "" {
			e.pending = append(e.pending, pendingRef{located{s, at}, ref, inside})
		}
		i++
	})
	return c
}

// expandRef replaces a reference by a copy of its target, or prunes it.
func (e *expansion) expandRef(s pendingRef) {
	s.schema.Remove("$ref")
	target := s.ref.target
	cost := e.cost(target)
	_, levels := target.Size()
	first, count := s.enclosing.outermost(target)
	switch {
	case count > e.levels:
		e.pruneRef(s, "its target contains itself", fmt.Sprintf("Recursive: of the same shape as %s.", instancePath(first, e.base)))
	case e.spent+cost > e.budget:
		e.exceeded = true
		e.pruneRef(s, fmt.Sprintf("the schema would grow by more than %d values", e.budget), "Its shape is too large to be shown.")
	case s.enclosing.depth >= MaxDepth || len(s.at.Keys(e.base))+levels+2 > MaxDepth: // 2: allOf
		e.exceeded = true
		e.pruneRef(s, fmt.Sprintf("the schema would become deeper than %d levels", MaxDepth), "Its shape is too deep to be shown.")
	default:
		e.spent += cost
		e.copied[target] = true
		e.copyTarget(s)
	}
}

// cost returns the cost of a copy with all that may have to be said at its references.
func (e *expansion) cost(target *tree.Node) int {
	if e.costs[target] == 0 {
		e.costs[target] = costOf(target)
		vocabulary.EachSchema(target, nil, func(n *tree.Node, _ *tree.Path) {
			if e.graph.refOf[n] != nil {
				e.costs[target] += 2 // type and description
			}
		})
	}
	return e.costs[target]
}

// copyTarget replaces a reference by a copy of its target.
func (e *expansion) copyTarget(s pendingRef) {
	target, at := s.ref.target, s.at
	if conflicts(s.schema, target) {
		at = nextAllOf(s.schema, s.at)
	}
	first := len(e.pending)
	c := e.copySchema(target, at, &enclosure{target, s.at, s.enclosing, s.enclosing.depth + 1})
	if at == s.at {
		for i := first; i < len(e.pending); i++ {
			if e.pending[i].schema == c {
				e.pending[i].schema = s.schema
			}
		}
	}
	e.noteOnce(s, replaceByCopy(s.schema, c))
}

// pruneRef makes a schema accept anything of the type of its target.
func (e *expansion) pruneRef(s pendingRef, why, sentence string) {
	accepted := "anything"
	if types := s.ref.target.Get("type"); types != nil && s.schema.Get("type") == nil && costOf(types) <= maxTypeCost {
		s.schema.Set("type", types.Clone())
		accepted = "anything of the type " + types.Short()
	}
	(&describer{}).addSentence(s.schema, sentence)
	e.pruned = append(e.pruned, s.schema)
	e.noteOnce(s, "pruned, since "+why+": "+accepted+" is accepted")
}

// noteOnce notes what became of a reference, for the first copy that has it.
func (e *expansion) noteOnce(s pendingRef, what string) {
	if key := (noted{s.ref, what}); !e.noted[key] {
		e.noted[key] = true
		e.note(s.at, "the reference %s %s", quoteShort(s.ref.ref), what)
	}
}

// instancePath returns where in a value a schema applies, as a reader would write it:
// "filters[].value".
func instancePath(at, base *tree.Path) string {
	keys := at.Keys(base)
	var b strings.Builder
	for i := 0; i < len(keys); i++ {
		keyword := keys[i]
		switch keyword {
		case "items", "contains", "unevaluatedItems", "prefixItems":
			b.WriteString("[]")
		case "additionalProperties", "unevaluatedProperties", "patternProperties":
			b.WriteString(".*")
		}
		if below := vocabulary.Keywords[keyword]; below == vocabulary.ManySchemas || below == vocabulary.ListOfSchemas {
			i++
			if keyword == "properties" && i < len(keys) {
				b.WriteString("." + keys[i])
			}
		}
	}
	if b.Len() == 0 {
		return "the root"
	}
	return strings.TrimPrefix(b.String(), ".")
}

// conflicts reports whether two schemas that both apply cannot become one object without changing
// their meaning.
func conflicts(s, d *tree.Node) bool {
	if !d.Is(tree.Object) || !slices.ContainsFunc(s.Members, isAssertion) {
		return false
	}
	for _, m := range s.Members {
		if other := d.Get(m.Key); other != nil && isAssertion(m) && (m.Value.Is(tree.Object) || !m.Value.Equal(other)) {
			return true
		}
	}
	return slices.ContainsFunc(groups, func(group []string) bool { return s.HasAny(group...) && d.HasAny(group...) }) ||
		d.HasAny("unevaluatedProperties", "unevaluatedItems") // these do not see what s names
}

// mergeInto moves the members of d, which does not conflict with n, into n. n keeps its own
// annotations; mergeInto returns the keys of those that d had with another value.
func mergeInto(n *tree.Node, d *tree.Node) (overridden []string) {
	switch {
	case d.IsBool(true):
		return nil
	case d.Is(tree.Bool) && len(n.Members) == 0:
		*n = *d
		return nil
	case d.Is(tree.Bool):
		addKeyword(n, "not", tree.NewObject())
		return nil
	}
	own := n.Members
	n.Members = d.Members
	for _, m := range own {
		if old := n.Get(m.Key); old != nil && m.Key != "title" && !isAssertion(m) && !old.Equal(m.Value) {
			overridden = append(overridden, m.Key)
		}
		n.Set(m.Key, m.Value)
	}
	return overridden
}

// replaceByCopy merges a copy of its target into a schema that had a reference, and returns the
// predicate of a note about that reference.
func replaceByCopy(s, c *tree.Node) string {
	const replaced = "replaced by a copy of its target"
	if conflicts(s, c) {
		addAllOf(s, c)
		return replaced + ", in an allOf beside its siblings"
	}
	if overridden := mergeInto(s, c); len(overridden) > 0 {
		return replaced + ", whose " + wording.List(overridden) + " its siblings override"
	}
	return replaced
}

// addKeyword adds a keyword to a schema: in an allOf, if the schema has it already.
func addKeyword(s *tree.Node, keyword string, value *tree.Node) {
	if s.Get(keyword) == nil {
		s.Set(keyword, value)
		return
	}
	addAllOf(s, tree.NewObject(tree.NewMember(keyword, value)))
}

// addAllOf adds a branch to the allOf of a schema.
func addAllOf(s, branch *tree.Node) {
	all := s.Get("allOf")
	if !all.Is(tree.Array) {
		all = tree.NewArray()
		s.Set("allOf", all)
	}
	all.Items = append(all.Items, branch)
}

// nextAllOf returns the place of the branch that addAllOf would add.
func nextAllOf(s *tree.Node, at *tree.Path) *tree.Path {
	return at.At("allOf").At(strconv.Itoa(len(s.Get("allOf").List())))
}
