package rewrite

import (
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// links are what the references of a schema lead to (2020-12 core, 8.2). Only the
// schema itself is looked at: nothing is ever loaded.
type links struct {
	root    *tree.Node
	sites   []*site // in the order of the schema
	schemas []placed
	places  map[*tree.Node]*tree.Path
	above   map[*tree.Node][]above // what a schema stands below
	from    map[*tree.Node]*site   // the site that a schema is
	strays  []*site                // those who are the first to lead to something that no keyword leads to
	groups  map[*tree.Node]bool    // what holds many schemas, and is none

	home      map[*tree.Node]string // the URI that a schema resolves its references against
	resources map[string]*tree.Node // what has an $id, by its URI; "" is the root
	anchors   map[string]*tree.Node // what has an $anchor, by "URI#name"
	index     tree.Index
}

// placed is a schema and where it stands.
type placed struct {
	schema *tree.Node
	at     *tree.Path
}

// above is a schema right above another one, and the keyword between them, which is
// $ref when it is above by reference.
type above struct {
	schema  *tree.Node
	keyword string
}

// A site is a schema that has a $ref.
type site struct {
	placed
	ref      string     // as it is written
	value    *tree.Node // where it is written
	target   *tree.Node // what it leads to
	resource *tree.Node // what the pointer in it starts from; nil when it is no pointer
	tokens   []string   // the pointer
	fault    string     // why it leads nowhere, to follow the reference in a sentence
	state    siteState
}

// A siteState is how far a pass has come with a site.
type siteState uint8

const (
	notVisited siteState = iota
	inProgress
	done
)

// links finds and resolves every $ref of the schema.
func (r *Schema) links() *links {
	x := &links{
		root: r.Root, places: map[*tree.Node]*tree.Path{}, groups: map[*tree.Node]bool{}, above: map[*tree.Node][]above{}, from: map[*tree.Node]*site{}, home: map[*tree.Node]string{},
		resources: map[string]*tree.Node{"": r.Root}, anchors: map[string]*tree.Node{},
	}
	x.add(r.Root, r.base, "")
	strays := map[*tree.Node]*tree.Node{}
	for i := 0; i < len(x.sites); i++ { // a stray adds sites of its own
		s := x.sites[i]
		if x.resolve(s); s.target == nil {
			continue
		}
		if _, known := x.home[s.target]; !known {
			r.stray(x, s, strays)
		}
		if s.target != nil {
			x.above[s.target] = append(x.above[s.target], above{s.schema, "$ref"})
		}
	}
	x.findLoops()
	return x
}

// stray makes the target of a site its own copy of what stands where no keyword leads
// (#/components/schemas/Pet), which may well be data.
func (r *Schema) stray(x *links, s *site, strays map[*tree.Node]*tree.Node) {
	found := s.target
	if s.target = strays[found]; s.target != nil {
		return
	}
	if !r.afford(found) {
		s.fault = "leads to more than can be copied"
		return
	}
	at := r.base
	for _, token := range s.tokens {
		at = at.At(token)
	}
	s.target = found.Clone()
	strays[found] = s.target
	x.strays = append(x.strays, s)
	x.add(s.target, at, x.home[s.schema])
}

// add takes in a schema and all below it.
func (x *links) add(s *tree.Node, at *tree.Path, home string) {
	if id := s.Get("$id").Text(); id != "" {
		uri, _, _ := strings.Cut(id, "#")
		home = resolveURI(home, uri)
		if x.resources[home] == nil {
			x.resources[home] = s
		}
	}
	x.home[s] = home
	x.schemas = append(x.schemas, placed{s, at})
	x.places[s] = at
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if name := home + "#" + s.Get(keyword).Text(); s.Get(keyword) != nil && x.anchors[name] == nil {
			x.anchors[name] = s
		}
	}
	for _, m := range s.Members {
		if vocabulary.Keywords[m.Key] == vocabulary.ManySchemas {
			x.groups[m.Value] = true
		}
	}
	if ref := s.Get("$ref"); ref != nil {
		found := &site{placed: placed{s, at}, ref: ref.Text(), value: ref}
		if !ref.Is(tree.Text) {
			found.ref, found.fault = ref.Short(), "is not a string"
		}
		x.sites = append(x.sites, found)
		x.from[s] = found
	}
	vocabulary.EachChild(s, at, func(child *tree.Node, below *tree.Path) {
		if _, known := x.home[child]; !known {
			x.above[child] = append(x.above[child], above{s, keywordBetween(at, below)})
			x.add(child, below, home)
		}
	})
}

// keywordBetween is the keyword that leads from a schema to one right below it.
func keywordBetween(at, below *tree.Path) string {
	for below.Parent != at {
		below = below.Parent
	}
	return below.Key
}

// resolveURI is a URI resolved against a base; it is itself when it is none that can be read.
func resolveURI(base, uri string) string {
	if uri == "" {
		return base
	}
	b, err := url.Parse(base)
	if err != nil {
		return uri
	}
	u, err := b.Parse(uri)
	if err != nil {
		return uri
	}
	return u.String()
}

// resolve finds what a site leads to.
func (x *links) resolve(s *site) {
	if s.fault != "" {
		return
	}
	uri, fragment, _ := strings.Cut(s.ref, "#")
	home := resolveURI(x.home[s.schema], uri)
	if decoded, err := url.PathUnescape(fragment); err == nil {
		fragment = decoded
	}
	resource := x.resources[home]
	switch {
	case resource == nil:
		s.fault = "leads out of the schema, and nothing is ever loaded"
		return
	case fragment == "":
		s.resource, s.target = resource, resource
	case fragment[0] == '/':
		s.tokens = tree.ParsePointer(fragment)
		s.resource, s.target = x.search(s, resource)
	default:
		s.target = x.anchors[home+"#"+fragment]
	}
	if !s.target.Is(tree.Object) && !s.target.Is(tree.Bool) || x.groups[s.target] {
		s.target, s.fault = nil, "leads to no schema"
	}
}

// search follows the pointer of a site from its resource. One to a definition that is not
// there is looked for in the schemas around the site, too, and at last in the root: those
// who put one schema into another forget that its references were meant from its own
// root ({"properties":{"a":{"$ref":"#/$defs/A","$defs":{…}}}}).
func (x *links) search(s *site, resource *tree.Node) (from, target *tree.Node) {
	target = x.index.Find(resource, s.tokens...)
	if target != nil || s.tokens[0] != "$defs" && s.tokens[0] != "definitions" {
		return resource, target
	}
	for n := s.schema; n != nil; {
		if target = x.index.Find(n, s.tokens...); target != nil {
			return n, target
		}
		up := x.above[n]
		if len(up) == 0 || up[0].keyword == "$ref" {
			break
		}
		n = up[0].schema
	}
	return x.root, x.index.Find(x.root, s.tokens...)
}

// findLoops faults the references that lead back to themselves before any part of an
// instance has been taken: whoever follows them never ends (2020-12 core, 9.4.1). They are
// those within one strongly connected component of what applies in place (Tarjan, 1972).
func (x *links) findLoops() {
	order := make(map[*tree.Node]int, len(x.schemas)) // when a schema was first seen, from 1
	low := make(map[*tree.Node]int, len(x.schemas))   // the first seen of its component that is known
	var open []*tree.Node                             // whose component is not complete
	var visit func(s *tree.Node)
	reach := func(s, next *tree.Node) {
		if order[next] == 0 {
			visit(next)
		}
		if low[next] > 0 { // its component is not complete
			low[s] = min(low[s], low[next])
		}
	}
	visit = func(s *tree.Node) {
		order[s] = len(order) + 1
		low[s] = order[s]
		open = append(open, s)
		if link := x.from[s]; link != nil && link.target != nil {
			reach(s, link.target)
		}
		vocabulary.EachChild(s, nil, func(child *tree.Node, below *tree.Path) {
			if vocabulary.InPlace(keywordBetween(nil, below)) {
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
			if link := x.from[n]; link != nil && low[link.target] > 0 && order[link.target] >= order[s] {
				link.fault = "leads only back to itself"
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

// dropDead takes out the references that lead nowhere: what stands beside them stays,
// else anything is accepted. It returns the sites that are left.
func (r *Schema) dropDead(x *links) []*site {
	var dead []*tree.Node
	alive := slices.DeleteFunc(slices.Clone(x.sites), func(s *site) bool {
		if s.fault == "" {
			return false
		}
		r.note(s.at, "the reference %.80q %s: it is dropped, and what it would have refused is accepted", s.ref, s.fault)
		s.schema.Remove("$ref")
		dead = append(dead, s.schema)
		return true
	})
	r.loosen(dead, true)
	return alive
}

// settleDynamic makes every $dynamicRef a $ref (2020-12 core, 8.2.3.2). With one
// $dynamicAnchor of its name it is one; with several its target depends on the way that
// led to it, and it is dropped.
func (r *Schema) settleDynamic() {
	anchors := map[string]int{}
	r.each(func(s *tree.Node, _ *tree.Path) {
		if name := s.Get("$dynamicAnchor"); name != nil {
			anchors[name.Text()]++
		}
	})
	var dead []*tree.Node
	r.each(func(s *tree.Node, at *tree.Path) {
		ref := s.Remove("$dynamicRef")
		if ref == nil {
			return
		}
		_, name, _ := strings.Cut(ref.Text(), "#")
		if anchors[name] > 1 {
			r.note(at, `"$dynamicRef": %s has %d anchors that it may mean: it is dropped, and what it would have refused is accepted`, ref.Short(), anchors[name])
			dead = append(dead, s)
			return
		}
		r.note(at, `"$dynamicRef": %s has one anchor only, and is a "$ref"`, ref.Short())
		also(s, "$ref", ref)
	})
	r.loosen(dead, true)
}
