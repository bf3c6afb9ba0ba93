package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// moving runs a change that takes schemas from one place to another, and lets every
// reference follow the schema that it leads to. What the schema no longer has, or has
// where no keyword leads, becomes a definition.
func (r *Schema) moving(change func(x *links)) {
	x := r.links()
	if len(x.strays) > 0 {
		r.adopt(x)
	}
	change(x)
	if len(x.sites) == 0 {
		return
	}
	places := r.adopt(x)
	for _, s := range x.sites {
		s.follow(places)
	}
}

// adopt makes definitions of what holds targets and stands nowhere, such as what was
// beside a $ref in draft-07, or a copy of #/components/schemas/Pet, which is what is left
// of an OpenAPI document. It returns the places of all values.
func (r *Schema) adopt(x *links) map[*tree.Node]*tree.Path {
	places := map[*tree.Node]*tree.Path{}
	root := r.base.At("") // no place is nil
	locate(r.Root, root, places)
	var defs *tree.Node
	var taken names
	queue := slices.Clone(x.sites)
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.target == nil || places[s.target] != nil || places[s.value] == nil {
			continue
		}
		if defs == nil {
			defs = r.definitions()
			taken = newNames(defs)
		}
		lost := s.target
		for up := x.above[lost][0]; up.keyword != "$ref" && places[up.schema] == nil && holds(up.schema, lost); up = x.above[lost][0] {
			lost = up.schema
		}
		name := taken.free(newDefinitionName(x.places[lost].Keys(r.base)))
		r.note(s.at, "what the reference %.80q leads to is in the definition %q: nothing else leads there", s.ref, name)
		defs.Members = append(defs.Members, tree.NewMember(name, lost))
		locate(lost, root.At("$defs").At(name), places)
		vocabulary.EachSchema(lost, nil, func(n *tree.Node, _ *tree.Path) {
			if inner := x.from[n]; inner != nil {
				queue = append(queue, inner)
			}
		})
	}
	return places
}

// holds reports whether a schema stands right below another one.
func holds(n *tree.Node, s *tree.Node) bool {
	found := false
	vocabulary.EachChild(n, nil, func(child *tree.Node, _ *tree.Path) { found = found || child == s })
	return found
}

// definitions are those of the root, which has none yet perhaps.
func (r *Schema) definitions() *tree.Node {
	defs := r.Root.Get("$defs")
	if !defs.Is(tree.Object) {
		defs = tree.NewObject()
		r.Root.Set("$defs", defs)
	}
	return defs
}

// locate finds the place of every value below a node.
func locate(n *tree.Node, at *tree.Path, places map[*tree.Node]*tree.Path) {
	places[n] = at
	for _, m := range n.Members {
		locate(m.Value, at.At(m.Key), places)
	}
	for i, it := range n.Items {
		locate(it, at.At(strconv.Itoa(i)), places)
	}
}

// follow rewrites the pointer of a site when its target has another place than before.
// What did not change of it stays as it was spelled.
func (s *site) follow(places map[*tree.Node]*tree.Path) {
	from, to := places[s.resource], places[s.target]
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
	var b strings.Builder
	b.WriteString(uri + "#")
	for _, token := range tokens {
		if as, ok := spelled[token]; ok {
			b.WriteString("/" + as)
		} else {
			b.WriteString("/" + escapeFragment(token))
		}
	}
	s.value.Raw = tree.Quote(b.String())
}

// escapeFragment writes a key as a token of a JSON Pointer in a URI (RFC 6901, 6).
func escapeFragment(key string) string {
	return (&tree.Path{Key: key}).Fragment()[len("#/"):]
}
