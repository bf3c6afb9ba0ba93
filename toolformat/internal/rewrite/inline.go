package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// How much references may make of a schema.
const (
	// unrolled is how often a definition may stand within itself: once shows a model that
	// it nests.
	unrolled = 1
	// unrolledNodes is how much a schema may grow by copies when something stands within
	// itself in them. Definitions that all contain each other grow with the factorial of
	// their number.
	unrolledNodes = 5_000
	// inlinedNodes is how much it may grow by copies at all: half a megabyte or so, more
	// than any model is given.
	inlinedNodes = MaxNodes / 4
	// bytesPerNode is how many bytes of text count as one more value, so that the bound
	// on values bounds bytes, too: the copy of a long description is as long.
	bytesPerNode = 64
	// maxTypes bounds a type that is copied to where a reference is cut.
	maxTypes = 12
)

// inlineReferences puts a copy of its target in the place of every $ref, for providers
// that do not know them (Ollama loses a $ref below properties; Gemini: opencode#12295,
// gemini-cli#13326), and drops the definitions. What contains itself is cut after one more level, and what
// grows beyond all bounds where it does: there any value of the type is accepted, and
// the description says so.
//
// What stands beside a $ref holds as well (2020-12 core, 7.7.1.1). It goes into the
// copy, where its annotations stand instead of the definition's; an allOf keeps apart
// what would mean something else there.
func inlineReferences(r *Schema) {
	r.settleDynamic()
	x := r.links()
	sites := r.dropDead(x)
	r.dropNames(x)
	unused := r.cutDefinitions(x)
	if len(sites) > 0 {
		notes := len(r.Notes)
		g := r.grow(x, unrolled, min(unrolledNodes, r.spare))
		if g.full {
			r.Notes = r.Notes[:notes]
			g = r.grow(x, 0, min(inlinedNodes, r.spare))
		}
		r.Root = g.root
		r.spare -= g.spent
		r.loosen(g.cut, true)
		unused = slices.DeleteFunc(unused, func(d placed) bool { return g.grown[d.schema] })
	}
	r.noteUnused(unused)
}

// cutDefinitions takes the definitions out of all schemas; links still know them.
func (r *Schema) cutDefinitions(x *links) []placed {
	var all []placed
	for _, s := range x.schemas {
		defs := s.schema.Remove("$defs")
		if !defs.Is(tree.Object) {
			continue
		}
		at := s.at.At("$defs")
		for _, m := range defs.Members {
			all = append(all, placed{m.Value, at.At(m.Key)})
		}
	}
	return all
}

// noteUnused says which definitions went without having been put anywhere. They refused
// nothing, so that nothing is lost.
func (r *Schema) noteUnused(unused []placed) {
	for len(unused) > 0 {
		at := unused[0].at.Parent
		var listed []string
		for len(unused) > 0 && unused[0].at.Parent == at {
			listed = append(listed, fmt.Sprintf("%.60q", unused[0].at.Key))
			unused = unused[1:]
		}
		r.note(at, "definitions that nothing refers to are dropped: %s", wording.List(listed))
	}
}

// dropNames takes away what only references need (2020-12 core, 8.2): they are pointers
// from the root or copies after this. An $id below the root would also change what they
// mean. That of the root stays.
func (r *Schema) dropNames(x *links) {
	for _, s := range x.schemas {
		for _, keyword := range []string{"$id", "$anchor", "$dynamicAnchor"} {
			if keyword == "$id" && s.schema == r.Root {
				continue
			}
			if name := s.schema.Remove(keyword); name != nil {
				r.note(s.at, "%q: %s is dropped: no reference needs it any more", keyword, name.Short())
			}
		}
	}
}

// A growth is a schema whose references are being replaced, all of one level before
// those of the next, so that a bound cuts the deepest.
type growth struct {
	*Schema
	x      *links // of the schema as it was, which is only read
	root   *tree.Node
	levels int // how often a target may stand within itself
	budget int // what may be spent

	pending []sprout
	spent   int
	full    bool                // something did not fit
	grown   map[*tree.Node]bool // the targets that were copied
	cut     []*tree.Node        // where it was cut
	sizes   map[*tree.Node]size
	noted   map[*site]map[string]bool
}

// A sprout is a reference in the growing schema.
type sprout struct {
	placed
	site   *site
	within *within
}

// within is a target inside of which a reference stands.
type within struct {
	target *tree.Node
	at     *tree.Path
	up     *within
	depth  int
}

// around is the outermost place of a target among those around, and how many there are.
func (w *within) around(target *tree.Node) (at *tree.Path, count int) {
	for ; w != nil; w = w.up {
		if w.target == target {
			at, count = w.at, count+1
		}
	}
	return at, count
}

// A size is what a copy costs, and how deep it is.
type size struct{ cost, depth int }

func sizeOf(n *tree.Node) size {
	s := size{cost: 1 + len(n.Raw)/bytesPerNode}
	below := func(n *tree.Node) {
		sub := sizeOf(n)
		s.cost += sub.cost
		s.depth = max(s.depth, sub.depth)
	}
	for _, m := range n.Members {
		s.cost += len(m.Key) / bytesPerNode
		below(m.Value)
	}
	for _, it := range n.Items {
		below(it)
	}
	s.depth++
	return s
}

// grow writes the references of a schema out. It stops early when they do not fit and
// something may stand within itself, since it may not in a second attempt.
func (r *Schema) grow(x *links, levels, budget int) *growth {
	g := &growth{
		Schema: r, x: x, levels: levels, budget: budget,
		grown: map[*tree.Node]bool{}, sizes: map[*tree.Node]size{}, noted: map[*site]map[string]bool{},
	}
	g.root = g.copy(x.root, r.base, &within{target: x.root, at: r.base})
	for i := 0; i < len(g.pending) && (!g.full || levels == 0); i++ {
		g.replace(g.pending[i])
	}
	return g
}

// copy is a deep copy of a schema whose references are pending.
func (g *growth) copy(s *tree.Node, at *tree.Path, inside *within) *tree.Node {
	var sites []*site
	vocabulary.EachSchema(s, nil, func(s *tree.Node, _ *tree.Path) { sites = append(sites, g.x.from[s]) })
	c := s.Clone()
	if inside.up != nil {
		c.Remove("$id") // of the root
	}
	i := 0
	vocabulary.EachSchema(c, at, func(s *tree.Node, at *tree.Path) {
		if site := sites[i]; site != nil && site.fault == "" {
			g.pending = append(g.pending, sprout{placed{s, at}, site, inside})
		}
		i++
	})
	return c
}

// replace puts a copy in the place of a reference, or cuts there.
func (g *growth) replace(s sprout) {
	s.schema.Remove("$ref")
	target := s.site.target
	size := g.size(target)
	first, count := s.within.around(target)
	switch {
	case count > g.levels:
		g.prune(s, "leads to what contains itself", fmt.Sprintf("Recursive: of the same shape as %s.", instancePath(first, g.base)))
	case g.spent+size.cost > g.budget:
		g.full = true
		g.prune(s, fmt.Sprintf("makes the schema grow by more than %d values", g.budget), "Its shape is too large to be shown.")
	case s.within.depth >= MaxDepth || len(s.at.Keys(g.base))+size.depth+2 > MaxDepth: // 2: allOf
		g.full = true
		g.prune(s, fmt.Sprintf("makes the schema deeper than %d levels", MaxDepth), "Its shape is too deep to be shown.")
	default:
		g.spent += size.cost
		g.grown[target] = true
		g.put(s)
	}
}

// size is what a copy of a target costs, what may have to be said at its references
// included.
func (g *growth) size(target *tree.Node) size {
	s, known := g.sizes[target]
	if !known {
		s = sizeOf(target)
		vocabulary.EachSchema(target, nil, func(n *tree.Node, _ *tree.Path) {
			if g.x.from[n] != nil {
				s.cost += 2 // type and description
			}
		})
		g.sizes[target] = s
	}
	return s
}

// put puts a copy of the target in the place of a reference.
func (g *growth) put(s sprout) {
	target, at := s.site.target, s.at
	apart := clash(s.schema, target)
	if apart {
		at = allOfNext(s.at, s.schema)
	}
	first := len(g.pending)
	c := g.copy(target, at, &within{target, s.at, s.within, s.within.depth + 1})
	if apart {
		addAllOf(s.schema, c)
		g.once(s, "is replaced by a copy of what it leads to, in an allOf beside what stood beside it")
		return
	}
	for i := first; i < len(g.pending); i++ {
		if g.pending[i].schema == c {
			g.pending[i].schema = s.schema
		}
	}
	g.once(s, "is replaced by a copy of what it leads to"+overruled(absorb(s.schema, c)))
}

// prune accepts anything of the type that the target has.
func (g *growth) prune(s sprout, why, sentence string) {
	accepted := "anything"
	if kind := s.site.target.Get("type"); kind != nil && s.schema.Get("type") == nil && sizeOf(kind).cost <= maxTypes {
		s.schema.Set("type", kind.Clone())
		accepted = "anything of the type " + kind.Short()
	}
	(&phraser{}).sentence(s.schema, sentence)
	g.cut = append(g.cut, s.schema)
	g.once(s, why+" and is cut here: "+accepted+" is accepted")
}

// once notes something of a reference for its first copy.
func (g *growth) once(s sprout, what string) {
	if g.noted[s.site] == nil {
		g.noted[s.site] = map[string]bool{}
	}
	if !g.noted[s.site][what] {
		g.noted[s.site][what] = true
		g.note(s.at, "the reference %.80q %s", s.site.ref, what)
	}
}

// instancePath says where in an instance a schema applies, as a reader would write it:
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
