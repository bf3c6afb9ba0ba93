package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// maxCopied bounds the cost of a target that is copied instead of becoming a definition.
const maxCopied = 200

// inlinePathReferences leaves references of two forms, #/$defs/name and #, for providers that take
// no others (DEEIX-Chat#546; 5 of 1,234 real tools have some). The target of any other one is
// copied to the place of the reference; it becomes a definition if it contains itself, is large, or
// is a definition below the root.
func inlinePathReferences(r *Schema) {
	r.resolveDynamic()
	x := r.resolveReferences()
	refs := r.dropUnresolved(x)
	r.dropIdentifiers(x)
	if len(refs) == 0 {
		return
	}
	p := &pathInliner{Schema: r, graph: x, names: map[*tree.Node]string{}, settled: map[*tree.Node]bool{}}
	defs := r.Root.Get("$defs")
	p.taken = newNames(defs)
	for _, m := range membersOf(defs) {
		p.names[m.Value] = m.Key
	}
	for _, s := range refs {
		p.normalize(s)
	}
	p.moveToRoot()
}

// A pathInliner gives every reference one of the two forms, or replaces it.
type pathInliner struct {
	*Schema
	graph   *refGraph
	names   map[*tree.Node]string // definitions at the root, with those to be added
	taken   nameSet
	added   []*tree.Node        // definitions to be added
	settled map[*tree.Node]bool // targets whose own references are normalized
}

// normalize replaces or rewrites one reference, those below its target first.
func (p *pathInliner) normalize(s *reference) {
	if s.state != notVisited || s.fault != "" {
		return
	}
	s.state = inProgress
	defer func() { s.state = done }()
	if s.target == p.Root {
		p.setRef(s, "#")
		return
	}
	if !p.isDefinition(s.target) && p.shouldCopy(s) {
		c := s.target.Clone()
		vocabulary.EachSchema(c, nil, func(s *tree.Node, _ *tree.Path) { s.Remove("$defs") })
		s.schema.Remove("$ref")
		p.note(s.at, "the reference %s %s", quoteShort(s.ref), replaceByCopy(s.schema, c))
		return
	}
	p.setRef(s, "#/$defs/"+escapeFragment(p.names[s.target]))
}

func (p *pathInliner) isDefinition(target *tree.Node) bool {
	_, ok := p.names[target]
	return ok
}

// shouldCopy reports whether the target of a reference is to be copied. Any other target it makes
// a definition.
func (p *pathInliner) shouldCopy(s *reference) bool {
	if !p.settled[s.target] {
		open := false
		vocabulary.EachSchema(s.target, nil, func(n *tree.Node, _ *tree.Path) {
			if inner := p.graph.refOf[n]; inner != nil && inner.fault == "" {
				p.normalize(inner)
				open = open || inner.state != done
			}
		})
		p.settled[s.target] = !open
	}
	if p.isDefinition(s.target) { // by a reference below it
		return false
	}
	if p.settled[s.target] && p.graph.parents[s.target][0].keyword != "$defs" && costOf(s.target) <= maxCopied && p.reserve(s.target) {
		return true
	}
	p.names[s.target] = p.taken.unused(newDefinitionName(s.tokens))
	p.added = append(p.added, s.target)
	return false
}

// newDefinitionName derives a name from the keys of a pointer: from the last that is neither a
// keyword nor an index, and those after it.
func newDefinitionName(keys []string) string {
	var words []string
	for _, key := range slices.Backward(keys) {
		if below := vocabulary.Keywords[key]; below == vocabulary.ManySchemas || below == vocabulary.ListOfSchemas {
			continue
		}
		words = append(words, key)
		if _, err := strconv.Atoi(key); err != nil && vocabulary.Keywords[key] == vocabulary.NoSchema {
			break
		}
	}
	slices.Reverse(words)
	name := keyRule{extra: "-."}.legal(strings.Join(words, "_"))
	if name == "" {
		name = "definition"
	}
	return wording.Shorten(name, 60)
}

// setRef writes a reference in another form, unless it has that form already.
func (p *pathInliner) setRef(s *reference, ref string) {
	if s.ref == ref || s.resource == p.Root && strings.HasPrefix(s.ref, "#/$defs/") && len(s.tokens) == 2 {
		return
	}
	p.note(s.at, "the reference %s rewritten as %q", quoteShort(s.ref), ref)
	s.schema.Set("$ref", tree.NewText(ref))
}

// moveToRoot moves the new definitions to the root. A schema that is not in a $defs is replaced by
// a reference to its definition.
func (p *pathInliner) moveToRoot() {
	if len(p.added) == 0 {
		return
	}
	defs := p.definitions()
	moved := map[*tree.Node]bool{}
	for _, target := range p.added {
		name := p.names[target]
		p.note(p.graph.paths[target], "moved to the definition %q at the root, since references lead to it", name)
		if up := p.graph.parents[target][0]; up.keyword == "$defs" {
			moved[target] = true
			defs.Members = append(defs.Members, tree.NewMember(name, target))
			continue
		}
		schema := *target
		*target = *tree.NewObject(tree.NewMember("$ref", tree.NewText("#/$defs/"+escapeFragment(name))))
		defs.Members = append(defs.Members, tree.NewMember(name, &schema))
	}
	for _, s := range p.graph.schemas {
		if old := s.schema.Get("$defs"); old.Is(tree.Object) && old != defs {
			old.Members = slices.DeleteFunc(old.Members, func(m tree.Member) bool { return moved[m.Value] })
			if len(old.Members) == 0 {
				s.schema.Remove("$defs")
			}
		}
	}
}
