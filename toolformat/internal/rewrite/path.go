package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// copiedNodes is how large a schema may be that is copied to where a pointer into the
// middle of things leads to it; a larger one becomes a definition.
const copiedNodes = 200

// inlinePathReferences leaves references of two forms, #/$defs/name and #, for providers
// that take no others (DEEIX-Chat#546; 5 of 1,234 real tools have some). What a pointer
// into another place leads to is copied to where the reference stands; it becomes a
// definition when it contains itself, is large, or is one below the root.
func inlinePathReferences(r *Schema) {
	r.settleDynamic()
	x := r.links()
	sites := r.dropDead(x)
	r.dropNames(x)
	if len(sites) == 0 {
		return
	}
	w := &rewiring{Schema: r, x: x, names: map[*tree.Node]string{}, settled: map[*tree.Node]bool{}}
	defs := r.Root.Get("$defs")
	w.taken = newNames(defs)
	if defs.Is(tree.Object) {
		for _, m := range defs.Members {
			w.names[m.Value] = m.Key
		}
	}
	for _, s := range sites {
		w.rewire(s)
	}
	w.moveToRoot()
}

// A rewiring gives every reference one of the two forms, or replaces it.
type rewiring struct {
	*Schema
	x       *links
	names   map[*tree.Node]string // of the definitions at the root, those to come among them
	taken   names
	added   []*tree.Node        // the definitions to come
	settled map[*tree.Node]bool // targets with no reference below them that is still to be rewired
}

// rewire takes on one reference, those below its target first.
func (w *rewiring) rewire(s *site) {
	if s.state != notVisited || s.fault != "" {
		return
	}
	s.state = inProgress
	defer func() { s.state = done }()
	if s.target == w.Root {
		w.write(s, "#")
		return
	}
	if !w.named(s.target) && w.copies(s) {
		c := s.target.Clone()
		vocabulary.EachSchema(c, nil, func(s *tree.Node, _ *tree.Path) { s.Remove("$defs") })
		w.put(s.schema, s.at, s.ref, c)
		return
	}
	w.write(s, "#/$defs/"+escapeFragment(w.names[s.target]))
}

func (w *rewiring) named(target *tree.Node) bool {
	_, ok := w.names[target]
	return ok
}

// copies reports whether the target of a reference can be copied; else it is made a
// definition. When it is settled what stands below it is, too.
func (w *rewiring) copies(s *site) bool {
	if !w.settled[s.target] {
		open := false
		vocabulary.EachSchema(s.target, nil, func(n *tree.Node, _ *tree.Path) {
			if inner := w.x.from[n]; inner != nil && inner.fault == "" {
				w.rewire(inner)
				open = open || inner.state != done
			}
		})
		w.settled[s.target] = !open
	}
	if w.named(s.target) { // by a reference below it
		return false
	}
	if w.settled[s.target] && w.x.above[s.target][0].keyword != "$defs" && sizeOf(s.target).cost <= copiedNodes && w.afford(s.target) {
		return true
	}
	w.names[s.target] = w.taken.free(newDefinitionName(s.tokens))
	w.added = append(w.added, s.target)
	return false
}

// afford takes the price of a copy from the budget.
func (r *Schema) afford(n *tree.Node) bool {
	cost := sizeOf(n).cost
	if cost > r.spare {
		return false
	}
	r.spare -= cost
	return true
}

// newDefinitionName is a name for what a pointer leads to: its last key that is neither a
// keyword nor a number, and what follows it.
func newDefinitionName(tokens []string) string {
	var words []string
	for _, token := range slices.Backward(tokens) {
		if below := vocabulary.Keywords[token]; below == vocabulary.ManySchemas || below == vocabulary.ListOfSchemas {
			continue
		}
		words = append(words, token)
		if _, err := strconv.Atoi(token); err != nil && vocabulary.Keywords[token] == vocabulary.NoSchema {
			break
		}
	}
	slices.Reverse(words)
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.Join(words, "_"))
	if name == "" {
		name = "definition"
	}
	return wording.Shorten(name, 60)
}

// write spells a reference, unless it means that already.
func (w *rewiring) write(s *site, ref string) {
	if s.ref == ref || s.resource == w.Root && strings.HasPrefix(s.ref, "#/$defs/") && len(s.tokens) == 2 {
		return
	}
	w.note(s.at, "the reference %.80q is %q", s.ref, ref)
	s.schema.Set("$ref", tree.NewText(ref))
}

// put puts a schema in the place of a reference to it.
func (r *Schema) put(s *tree.Node, at *tree.Path, ref string, c *tree.Node) {
	s.Remove("$ref")
	if clash(s, c) {
		addAllOf(s, c)
		r.note(at, "the reference %.80q is replaced by a copy of what it leads to, in an allOf beside what stood beside it", ref)
		return
	}
	r.note(at, "the reference %.80q is replaced by a copy of what it leads to%s", ref, overruled(absorb(s, c)))
}

// moveToRoot moves what became a definition to the root and leaves a reference, unless
// it was one elsewhere.
func (w *rewiring) moveToRoot() {
	if len(w.added) == 0 {
		return
	}
	defs := w.definitions()
	moved := map[*tree.Node]bool{}
	for _, target := range w.added {
		name := w.names[target]
		w.note(w.x.places[target], "what stands here is the definition %q at the root, since references lead to it", name)
		if up := w.x.above[target][0]; up.keyword == "$defs" {
			moved[target] = true
			defs.Members = append(defs.Members, tree.NewMember(name, target))
			continue
		}
		schema := *target
		*target = tree.Node{Kind: tree.Object, Members: []tree.Member{{Key: "$ref", Value: tree.NewText("#/$defs/" + escapeFragment(name))}}}
		defs.Members = append(defs.Members, tree.NewMember(name, &schema))
	}
	for _, s := range w.x.schemas {
		if old := s.schema.Get("$defs"); old.Is(tree.Object) && old != defs {
			old.Members = slices.DeleteFunc(old.Members, func(m tree.Member) bool { return moved[m.Value] })
			if len(old.Members) == 0 {
				s.schema.Remove("$defs")
			}
		}
	}
}
