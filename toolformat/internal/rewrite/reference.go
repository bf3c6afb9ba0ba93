package rewrite

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A refGraph knows what the references of a schema lead to (2020-12 core, 8.2). Nothing outside of
// the document is ever loaded.
type refGraph struct {
	root    *tree.Node
	refs    []*reference // in the order of the schema
	schemas []located
	paths   map[*tree.Node]*tree.Path
	parents map[*tree.Node][]parent
	refOf   map[*tree.Node]*reference // the $ref of a schema
	outside []*reference              // first references to a value that no keyword makes a schema
	groups  map[*tree.Node]bool       // objects that hold schemas by name, such as $defs

	baseURIs  map[*tree.Node]string // against which a schema resolves its references
	resources map[string]*tree.Node // schemas with an $id, by their URI; "" is the root
	anchors   map[string]*tree.Node // schemas with an $anchor, by "URI#name"
	index     tree.Index
}

// A located schema knows its place.
type located struct {
	schema *tree.Node
	at     *tree.Path
}

// A parent is a schema directly above another one, and the keyword between them: $ref, if it refers
// to the other one.
type parent struct {
	schema  *tree.Node
	keyword string
}

// A reference is a schema that has a $ref.
type reference struct {
	located
	ref      string     // as written
	value    *tree.Node // the string
	target   *tree.Node
	resource *tree.Node // start of the JSON Pointer in ref; nil if ref is not a pointer
	tokens   []string   // keys of the pointer
	fault    string     // why it has no target: a predicate of "the reference"
	state    refState
}

// A refState is how far a pass has come with a reference.
type refState uint8

const (
	notVisited refState = iota
	inProgress
	done
)

// resolveReferences finds and resolves every $ref of the schema.
func (r *Schema) resolveReferences() *refGraph {
	x := &refGraph{
		root: r.Root, paths: map[*tree.Node]*tree.Path{}, groups: map[*tree.Node]bool{}, parents: map[*tree.Node][]parent{}, refOf: map[*tree.Node]*reference{},
		baseURIs: map[*tree.Node]string{}, resources: map[string]*tree.Node{"": r.Root}, anchors: map[string]*tree.Node{},
	}
	x.addSchema(r.Root, r.base, "")
	copies := map[*tree.Node]*tree.Node{}
	for i := 0; i < len(x.refs); i++ { // copies add references of their own
		s := x.refs[i]
		if x.resolve(s); s.target == nil {
			continue
		}
		if _, known := x.baseURIs[s.target]; !known {
			r.copyOutside(x, s, copies)
		}
		if s.target != nil {
			x.parents[s.target] = append(x.parents[s.target], parent{s.schema, "$ref"})
		}
	}
	x.findLoops()
	return x
}

// Targets returns what the references of the schema lead to, by the schemas that have them.
func (r *Schema) Targets() map[*tree.Node]*tree.Node {
	targets := map[*tree.Node]*tree.Node{}
	for _, s := range r.resolveReferences().refs {
		if s.fault == "" {
			targets[s.schema] = s.target
		}
	}
	return targets
}

// copyOutside replaces the target of a reference by a copy if no keyword makes it a schema
// (#/components/schemas/Pet): the original may well be data.
func (r *Schema) copyOutside(x *refGraph, s *reference, copies map[*tree.Node]*tree.Node) {
	found := s.target
	if s.target = copies[found]; s.target != nil {
		return
	}
	if !r.reserve(found) {
		s.fault = "leads to more than can be copied"
		return
	}
	at := r.base
	for _, token := range s.tokens {
		at = at.At(token)
	}
	s.target = found.Clone()
	copies[found] = s.target
	x.outside = append(x.outside, s)
	x.addSchema(s.target, at, x.baseURIs[s.schema])
}

// addSchema adds a schema and all below it.
func (x *refGraph) addSchema(s *tree.Node, at *tree.Path, base string) {
	if id := s.Get("$id").Text(); id != "" {
		uri, _, _ := strings.Cut(id, "#")
		base = resolveURI(base, uri)
		if x.resources[base] == nil {
			x.resources[base] = s
		}
	}
	x.baseURIs[s] = base
	x.schemas = append(x.schemas, located{s, at})
	x.paths[s] = at
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name := base + "#" + s.Get(keyword).Text(); s.Get(keyword) != nil && x.anchors[name] == nil {
			x.anchors[name] = s
		}
	}
	for _, m := range s.Members {
		if vocabulary.Keywords[m.Key] == vocabulary.ManySchemas {
			x.groups[m.Value] = true
		}
	}
	if ref := s.Get("$ref"); ref != nil {
		found := &reference{located: located{s, at}, ref: ref.Text(), value: ref}
		if !ref.Is(tree.Text) {
			found.ref, found.fault = ref.Short(), "is not a string"
		}
		x.refs = append(x.refs, found)
		x.refOf[s] = found
	}
	vocabulary.EachChild(s, at, func(keyword string, child *tree.Node, at *tree.Path) {
		if _, known := x.baseURIs[child]; !known {
			x.parents[child] = append(x.parents[child], parent{s, keyword})
			x.addSchema(child, at, base)
		}
	})
}

// resolveURI resolves a URI against a base; it returns the URI itself if one of them is not valid.
func resolveURI(base, uri string) string {
	if uri == "" {
		return base
	}
	if b, err := url.Parse(base); err == nil {
		if u, err := b.Parse(uri); err == nil {
			return u.String()
		}
	}
	return uri
}

// resolve finds the target of a reference.
func (x *refGraph) resolve(s *reference) {
	if s.fault != "" {
		return
	}
	uri, fragment, _ := strings.Cut(s.ref, "#")
	base := resolveURI(x.baseURIs[s.schema], uri)
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	resource := x.resources[base]
	switch {
	case resource == nil:
		s.fault = "leads out of the schema, and nothing is ever loaded"
		return
	case fragment == "":
		s.resource, s.target = resource, resource
	case fragment[0] == '/':
		s.tokens = tree.ParsePointer(fragment)
		s.resource, s.target = x.searchPointer(s, resource)
	default:
		s.target = x.anchors[base+"#"+fragment]
	}
	if !s.target.Is(tree.Object) && !s.target.Is(tree.Bool) || x.groups[s.target] {
		s.target, s.fault = nil, "leads to no schema"
	}
}

// searchPointer follows the pointer of a reference from its resource. A missing definition is
// searched in the schemas around the reference too, and last in the root: generators put schemas
// into others and keep references that are relative to the inner root
// ({"properties":{"a":{"$ref":"#/$defs/A","$defs":{…}}}}).
func (x *refGraph) searchPointer(s *reference, resource *tree.Node) (from, target *tree.Node) {
	target = x.index.Find(resource, s.tokens...)
	if target != nil || s.tokens[0] != "$defs" && s.tokens[0] != "definitions" {
		return resource, target
	}
	for n := s.schema; n != nil; {
		if target = x.index.Find(n, s.tokens...); target != nil {
			return n, target
		}
		up := x.parents[n]
		if len(up) == 0 || up[0].keyword == "$ref" {
			break
		}
		n = up[0].schema
	}
	return x.root, x.index.Find(x.root, s.tokens...)
}

// findLoops marks the references that lead back to themselves without taking any part of a value:
// following them never ends (2020-12 core, 9.4.1). They connect schemas of one strongly connected
// component of the keywords that apply in place (Tarjan, 1972).
func (x *refGraph) findLoops() {
	order := make(map[*tree.Node]int, len(x.schemas)) // of the first visit, from 1
	low := make(map[*tree.Node]int, len(x.schemas))   // the first known schema of its component; 0 once that is complete
	var open []*tree.Node                             // schemas of incomplete components
	var visit func(s *tree.Node)
	reach := func(s, next *tree.Node) {
		if order[next] == 0 {
			visit(next)
		}
		if low[next] > 0 {
			low[s] = min(low[s], low[next])
		}
	}
	visit = func(s *tree.Node) {
		order[s] = len(order) + 1
		low[s] = order[s]
		open = append(open, s)
		if ref := x.refOf[s]; ref != nil && ref.target != nil {
			reach(s, ref.target)
		}
		vocabulary.EachChild(s, nil, func(keyword string, child *tree.Node, _ *tree.Path) {
			if vocabulary.InPlace(keyword) {
				reach(s, child)
			}
		})
		if low[s] < order[s] {
			return
		}
		first := len(open) - 1
		for open[first] != s {
			first--
		}
		for _, n := range open[first:] {
			if ref := x.refOf[n]; ref != nil && low[ref.target] > 0 && order[ref.target] >= order[s] {
				ref.fault = "leads only back to itself"
			}
		}
		for _, n := range open[first:] {
			low[n] = 0
		}
		open = open[:first]
	}
	for _, s := range x.schemas {
		if order[s.schema] == 0 {
			visit(s.schema)
		}
	}
}

// dropUnresolved drops the references without a target; what stands beside them stays. It returns
// the others.
func (r *Schema) dropUnresolved(x *refGraph) []*reference {
	var dropped []*tree.Node
	resolved := slices.DeleteFunc(slices.Clone(x.refs), func(s *reference) bool {
		if s.fault == "" {
			return false
		}
		r.note(s.at, "the reference %s %s: dropped, so that what it would refuse is accepted", quoteShort(s.ref), s.fault)
		s.schema.Remove("$ref")
		dropped = append(dropped, s.schema)
		return true
	})
	r.relaxAbove(dropped, true)
	return resolved
}

// resolveDynamic replaces every $dynamicRef by a $ref (2020-12 core, 8.2.3.2). One with several
// anchors of its name depends on the way that led to it, and is dropped.
func (r *Schema) resolveDynamic() {
	anchors := map[string]int{}
	r.each(func(s *tree.Node, _ *tree.Path) {
		if name := s.Get("$dynamicAnchor"); name != nil {
			anchors[name.Text()]++
		}
	})
	var dropped []*tree.Node
	r.each(func(s *tree.Node, at *tree.Path) {
		ref := s.Remove("$dynamicRef")
		if ref == nil {
			return
		}
		_, name, _ := strings.Cut(ref.Text(), "#")
		if anchors[name] > 1 {
			r.note(at, `"$dynamicRef": %s has %d possible anchors: dropped, so that what it would refuse is accepted`, ref.Short(), anchors[name])
			dropped = append(dropped, s)
			return
		}
		r.note(at, `"$dynamicRef": %s replaced by a "$ref": it has one possible anchor`, ref.Short())
		addKeyword(s, "$ref", ref)
	})
	r.relaxAbove(dropped, true)
}

// relaxAbove keeps schemas that accept more than before from making the schemas above them accept
// less, through references too. Below most keywords that cannot happen. But oneOf refuses a value
// that a second branch accepts, not refuses what its schema accepts, if decides by it, and
// maxContains counts by it: these are dropped, and oneOf becomes anyOf.
//
// With lostNames, the schemas also lost keywords that named properties or items. Those would be
// refused by unevaluatedProperties and unevaluatedItems around them (2020-12 core, 11), which are
// dropped too.
func (r *Schema) relaxAbove(widened []*tree.Node, lostNames bool) {
	if len(widened) == 0 {
		return
	}
	x := r.resolveReferences()
	type step struct {
		schema    *tree.Node
		lostNames bool
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
		visit(step{s, lostNames})
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		if s.lostNames {
			r.dropStricter(s.schema, x.paths[s.schema], "unevaluatedProperties", "unevaluatedItems")
		}
		for _, up := range x.parents[s.schema] {
			at, lostNames := x.paths[up.schema], s.lostNames && vocabulary.InPlace(up.keyword)
			switch up.keyword {
			case "oneOf":
				r.relaxOneOf(up.schema, at)
			case "not":
				r.dropStricter(up.schema, at, "not")
			case "if":
				lostNames = true // the three may have named properties
				r.dropStricter(up.schema, at, "if", "then", "else")
			case "contains":
				r.dropStricter(up.schema, at, "maxContains")
			}
			visit(step{up.schema, lostNames})
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
