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
	for _, m := range vocabulary.MembersOf(defs) {
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

// moveSchemas runs a change that moves schemas, and lets every reference follow its target. A
// target that ends up outside of the schema, or where no keyword leads, becomes a definition.
func (r *Schema) moveSchemas(change func(x *refGraph)) {
	x := r.resolveReferences()
	if len(x.outside) > 0 {
		r.defineDetached(x)
	}
	change(x)
	if len(x.refs) == 0 {
		return
	}
	paths := r.defineDetached(x)
	for _, s := range x.refs {
		s.repoint(paths)
	}
}

// defineDetached makes definitions of what holds targets and is not part of the schema, such as
// siblings of a $ref in draft-07, or the copy of #/components/schemas/Pet, which is what is left of
// an OpenAPI document. It returns the paths of all values.
func (r *Schema) defineDetached(x *refGraph) map[*tree.Node]*tree.Path {
	paths := map[*tree.Node]*tree.Path{}
	root := r.base.At("") // so that no path is nil
	addPath := func(n *tree.Node, at *tree.Path) { paths[n] = at }
	vocabulary.EachValue(r.Root, root, addPath)
	var defs *tree.Node
	var taken nameSet
	queue := slices.Clone(x.refs)
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.target == nil || paths[s.target] != nil || paths[s.value] == nil {
			continue
		}
		if defs == nil {
			defs = r.definitions()
			taken = newNames(defs)
		}
		detached := s.target
		for up := x.parents[detached][0]; up.keyword != "$ref" && paths[up.schema] == nil && isChild(up.schema, detached); up = x.parents[detached][0] {
			detached = up.schema
		}
		name := taken.unused(newDefinitionName(x.paths[detached].Keys(r.base)))
		r.note(s.at, "the target of the reference %s moved to the definition %q: nothing else leads there", quoteShort(s.ref), name)
		defs.Members = append(defs.Members, tree.NewMember(name, detached))
		vocabulary.EachValue(detached, root.At("$defs").At(name), addPath)
		vocabulary.EachSchema(detached, nil, func(n *tree.Node, _ *tree.Path) {
			if inner := x.refOf[n]; inner != nil {
				queue = append(queue, inner)
			}
		})
	}
	return paths
}

// isChild reports whether a schema stands directly below another one.
func isChild(above, s *tree.Node) bool {
	found := false
	vocabulary.EachChild(above, nil, func(_ string, child *tree.Node, _ *tree.Path) { found = found || child == s })
	return found
}

// definitions returns those of the root, which are created if there are none.
func (r *Schema) definitions() *tree.Node {
	defs := r.Root.Get("$defs")
	if !defs.Is(tree.Object) {
		defs = tree.NewObject()
		r.Root.Set("$defs", defs)
	}
	return defs
}

// repoint rewrites the pointer of a reference whose target has moved. Keys that stay keep their
// spelling.
func (s *reference) repoint(paths map[*tree.Node]*tree.Path) {
	from, to := paths[s.resource], paths[s.target]
	if len(s.tokens) == 0 || s.resource == nil || from == nil || to == nil {
		return
	}
	var tokens []string
	for ; to != nil && to != from; to = to.Parent {
		tokens = append(tokens, to.Key)
	}
	slices.Reverse(tokens)
	if to == nil || slices.Equal(tokens, s.tokens) {
		return
	}
	uri, fragment, _ := strings.Cut(s.ref, "#")
	spelled := map[string]string{}
	for i, token := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		if i < len(s.tokens) {
			spelled[s.tokens[i]] = token
		}
	}
	ref := uri + "#"
	for _, token := range tokens {
		if as, ok := spelled[token]; ok {
			ref += "/" + as
		} else {
			ref += "/" + escapeFragment(token)
		}
	}
	s.value.Raw = tree.Quote(ref)
}

// escapeFragment returns a key as a token of a JSON Pointer in a URI (RFC 6901, 6).
func escapeFragment(key string) string { return tree.At(key).Fragment()[len("#/"):] }

// A nameSet gives out keys that an object does not have. Its values are the numbers that were last
// appended to a name; 1 means none.
type nameSet map[string]int

func newNames(n *tree.Node) nameSet {
	taken := nameSet{}
	for _, m := range vocabulary.MembersOf(n) {
		taken[m.Key] = 1
	}
	return taken
}

// unused returns name, with a number if it is taken; the result is taken from then on.
func (t nameSet) unused(name string) string {
	unused := name
	for t[unused] > 0 {
		t[name]++
		unused = name + "_" + strconv.Itoa(t[name])
	}
	t[unused] = 1
	return unused
}
