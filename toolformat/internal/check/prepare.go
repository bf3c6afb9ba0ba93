package check

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/rewrite"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A guard makes a schema fit for jsonschema/v5, which reads files that a reference
// names, panics on large numbers, and refuses the whole schema for one keyword. It
// leaves a schema of one document, without identifiers: what keeps from compiling is left
// out and noted, and each reference points to a place in the document.
//
// A schema without a keyword accepts more than before; below "not" that would be less.
// So what depends on it the other way round is left out as well: see relax.
type guard struct {
	root   *tree.Node
	draft  int
	notes  []wording.Note
	places []*place              // every schema, parents before children
	of     map[*tree.Node]*place // by the schema
	known  map[string]*place
	moved  map[*tree.Node]*place // copies of what a reference points to outside of any schema
	parts  bool                  // a schema below the root is a resource of its own
	spare  int                   // nodes that may still be copied

	patterns int // instructions of regular expressions that there may still be
}

// A place is one schema of a document.
type place struct {
	schema  *tree.Node
	at      *tree.Path
	keyword string // of the schema above, under which it stands
	above   *place
	base    *url.URL // what its references are relative to
	target  *place   // of its $ref
	loose   bool     // accepts more than was asked
}

// maxSchemas bounds the schemas in one that is compiled: jsonschema/v5 takes time by the
// square of their number.
const maxSchemas = 5000

// checked are the keywords that are checked, each with the draft that brought it. The
// others are annotations, or locate schemas, which the guard has done. "format" and
// the keywords of content are annotations too, in every draft (2020-12 validation, 7
// and 8): what a server makes of a date is for it to say.
var checked = map[string]int{
	"$ref": 4, "definitions": 4, "$defs": 2019,
	"type": 4, "enum": 4, "const": 6,
	"multipleOf": 4, "minimum": 4, "maximum": 4, "exclusiveMinimum": 4, "exclusiveMaximum": 4,
	"minLength": 4, "maxLength": 4, "pattern": 4,
	"items": 4, "additionalItems": 4, "prefixItems": 2020, "minItems": 4, "maxItems": 4, "uniqueItems": 4,
	"contains": 6, "minContains": 2019, "maxContains": 2019, "unevaluatedItems": 2019,
	"properties": 4, "patternProperties": 4, "additionalProperties": 4, "propertyNames": 6, "unevaluatedProperties": 2019,
	"minProperties": 4, "maxProperties": 4, "required": 4,
	"dependencies": 4, "dependentRequired": 2019, "dependentSchemas": 2019,
	"allOf": 4, "anyOf": 4, "oneOf": 4, "not": 4, "if": 7, "then": 7, "else": 7,
}

// has reports whether a keyword of a schema counts. Before 2019-09 a reference made all
// others count for nothing (draft-07 core, 8.3).
func (g *guard) has(s *tree.Node, keyword string) bool {
	since, ok := checked[keyword]
	if g.draft < 2019 && s.Get("$ref").Is(tree.Text) {
		return keyword == "$ref" || keyword == "definitions"
	}
	return ok && since <= g.draft
}

// newGuard finds the schemas of a document and follows their references.
func newGuard(root *tree.Node, draft int) (*guard, error) {
	count, _ := root.Size()
	g := &guard{root: root, draft: draft, of: map[*tree.Node]*place{}, known: map[string]*place{}, moved: map[*tree.Node]*place{}, spare: rewrite.MaxNodes - count, patterns: maxPatterns}
	base, _ := url.Parse(documentURL)
	g.find(root, nil, nil, "", base)
	for i := 0; i < len(g.places); i++ { // moved schemas come on top
		g.follow(g.places[i])
	}
	if len(g.places) > maxSchemas {
		return nil, fmt.Errorf("the schema is too large: more than %d schemas in it", maxSchemas)
	}
	for _, p := range g.places {
		p.schema.Members = slices.DeleteFunc(p.schema.Members, func(m tree.Member) bool { return !g.has(p.schema, m.Key) })
	}
	return g, nil
}

// documentURL is what a schema's identifiers and references are relative to.
const documentURL = "tool:///schema"

// find lists a schema and those below it. One that is new is given its identifiers.
func (g *guard) find(s *tree.Node, at *tree.Path, above *place, keyword string, base *url.URL) {
	p := g.of[s]
	if p == nil {
		p = &place{schema: s, at: at, base: base}
		g.of[s] = p
		g.identify(p)
	}
	p.above, p.keyword = above, keyword
	g.places = append(g.places, p)
	vocabulary.EachChild(s, at, func(child *tree.Node, childAt *tree.Path) {
		keyword := childAt.Key
		if childAt.Parent != at {
			keyword = childAt.Parent.Key
		}
		if g.has(s, keyword) {
			g.find(child, childAt, p, keyword, p.base)
		}
	})
}

// identify takes a schema's identifiers (2020-12 core, 8.2; draft-07 core, 8.2).
func (g *guard) identify(p *place) {
	know := func(u *url.URL) {
		if _, taken := g.known[u.String()]; !taken {
			g.known[u.String()] = p
		}
	}
	if p.at == nil {
		know(p.base)
	}
	keyword := "$id"
	if g.draft == 4 {
		keyword = "id"
	}
	ignored := g.draft < 2019 && p.schema.Get("$ref") != nil
	if id := p.schema.Get(keyword); id.Is(tree.Text) && !ignored {
		if u, err := p.base.Parse(id.Text()); err == nil {
			know(u) // with its fragment, which was an anchor before 2019-09
			if whole := withFragment(u, ""); whole.String() != p.base.String() {
				p.base = whole
				know(whole)
				g.parts = g.parts || p.at != nil
			}
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := p.schema.Get(keyword); anchor.Is(tree.Text) {
			know(withFragment(p.base, anchor.Text()))
		}
	}
}

func withFragment(u *url.URL, fragment string) *url.URL {
	changed := *u
	changed.Fragment, changed.RawFragment = fragment, ""
	return &changed
}

// follow finds what a schema's reference points to. One that is dynamic (2020-12 core,
// 8.2.3.2; 2019-09 core, 8.2.4.2) is an ordinary one in a document of one resource.
func (g *guard) follow(p *place) {
	s := p.schema
	for _, dynamic := range []string{"$dynamicRef", "$recursiveRef"} {
		ref := s.Get(dynamic)
		if !ref.Is(tree.Text) || g.draft < 2019 {
			continue
		}
		if g.parts || s.Get("$ref") != nil {
			g.leave(p, dynamic, "what it means depends on where it is used from")
		} else {
			s.Rename(dynamic, "$ref")
		}
	}
	ref := s.Get("$ref")
	if !ref.Is(tree.Text) {
		return // none, or a violation
	}
	if p.target = g.resolve(p, ref.Text()); p.target == nil {
		g.leave(p, "$ref", "it points to nothing in the schema, and nothing is loaded")
	}
}

// resolve is the schema that a reference means; nil when there is none in the document.
func (g *guard) resolve(p *place, ref string) *place {
	u, err := p.base.Parse(ref)
	if err != nil && strings.HasPrefix(ref, "#") { // not escaped as a URI wants it
		u, err = withFragment(p.base, ref[1:]), nil
	}
	if err != nil {
		return nil
	}
	if !strings.HasPrefix(u.Fragment, "/") {
		return g.known[u.String()]
	}
	from := g.known[withFragment(u, "").String()]
	if from == nil {
		return nil
	}
	n := from.schema.Find(tree.ParsePointer(u.Fragment)...)
	if known := g.of[n]; known != nil || !n.Is(tree.Object) && !n.Is(tree.Bool) {
		return known
	}
	return g.move(n, from)
}

// move copies what no keyword makes a schema, such as what stands under OpenAPI's
// "components", to the definitions.
func (g *guard) move(n *tree.Node, from *place) *place {
	if known := g.moved[n]; known != nil {
		return known
	}
	count, _ := n.Size()
	if g.spare -= count + 1; g.spare < 0 || g.root.Is(tree.Bool) {
		return nil
	}
	keyword := "$defs"
	if g.draft < 2019 {
		keyword = "definitions"
	}
	definitions := g.root.Get(keyword)
	if !definitions.Is(tree.Object) {
		definitions = tree.NewObject()
		g.root.Set(keyword, definitions)
	}
	name := "moved" + strconv.Itoa(len(g.moved))
	for definitions.Get(name) != nil {
		name += "_"
	}
	moved := n.Clone()
	definitions.Set(name, moved)
	g.find(moved, tree.At(keyword).At(name), g.of[g.root], keyword, from.base)
	g.moved[n] = g.of[moved]
	return g.of[moved]
}
