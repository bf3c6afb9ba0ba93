package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

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
	r.Root.Walk(root, addPath)
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
		detached.Walk(root.At("$defs").At(name), addPath)
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
	for _, m := range membersOf(n) {
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
