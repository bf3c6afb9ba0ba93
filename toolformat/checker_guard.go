package toolformat

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A guard makes a schema fit for jsonschema/v5, which reads files that a reference
// names, panics on large numbers, and refuses the whole schema for one keyword. It
// leaves a schema of one document, without identifiers: what keeps from compiling is left
// out and noted, and each reference points to a place in the document.
//
// A schema without a keyword accepts more than before; below "not" that would be less.
// So what depends on it the other way round is left out as well: see relax.
type guard struct {
	root   *node
	draft  int
	notes  []Note
	places []*place         // every schema, parents before children
	of     map[*node]*place // by the schema
	known  map[string]*place
	moved  map[*node]*place // copies of what a reference points to outside of any schema
	parts  bool             // a schema below the root is a resource of its own
	spare  int              // nodes that may still be copied

	patterns int // instructions of regular expressions that there may still be
}

// A place is one schema of a document.
type place struct {
	schema  *node
	at      *path
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
func (g *guard) has(s *node, keyword string) bool {
	since, ok := checked[keyword]
	if g.draft < 2019 && s.get("$ref").is(textNode) {
		return keyword == "$ref" || keyword == "definitions"
	}
	return ok && since <= g.draft
}

// newGuard finds the schemas of a document and follows their references.
func newGuard(root *node, draft int) (*guard, error) {
	count, _ := measure(root)
	g := &guard{root: root, draft: draft, of: map[*node]*place{}, known: map[string]*place{}, moved: map[*node]*place{}, spare: maxSchemaNodes - count, patterns: maxPatterns}
	base, _ := url.Parse(documentURL)
	g.find(root, nil, nil, "", base)
	for i := 0; i < len(g.places); i++ { // moved schemas come on top
		g.follow(g.places[i])
	}
	if len(g.places) > maxSchemas {
		return nil, fmt.Errorf("the schema is too large: more than %d schemas in it", maxSchemas)
	}
	for _, p := range g.places {
		p.schema.members = slices.DeleteFunc(p.schema.members, func(m member) bool { return !g.has(p.schema, m.key) })
	}
	return g, nil
}

// documentURL is what a schema's identifiers and references are relative to.
const documentURL = "tool:///schema"

// find lists a schema and those below it. One that is new is given its identifiers.
func (g *guard) find(s *node, at *path, above *place, keyword string, base *url.URL) {
	p := g.of[s]
	if p == nil {
		p = &place{schema: s, at: at, base: base}
		g.of[s] = p
		g.identify(p)
	}
	p.above, p.keyword = above, keyword
	g.places = append(g.places, p)
	eachChild(s, at, func(child *node, childAt *path) {
		keyword := childAt.key
		if childAt.parent != at {
			keyword = childAt.parent.key
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
	ignored := g.draft < 2019 && p.schema.get("$ref") != nil
	if id := p.schema.get(keyword); id.is(textNode) && !ignored {
		if u, err := p.base.Parse(id.text()); err == nil {
			know(u) // with its fragment, which was an anchor before 2019-09
			if whole := withFragment(u, ""); whole.String() != p.base.String() {
				p.base = whole
				know(whole)
				g.parts = g.parts || p.at != nil
			}
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := p.schema.get(keyword); anchor.is(textNode) {
			know(withFragment(p.base, anchor.text()))
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
		ref := s.get(dynamic)
		if !ref.is(textNode) || g.draft < 2019 {
			continue
		}
		if g.parts || s.get("$ref") != nil {
			g.leave(p, dynamic, "what it means depends on where it is used from")
		} else {
			renameMember(s, dynamic, "$ref")
		}
	}
	ref := s.get("$ref")
	if !ref.is(textNode) {
		return // none, or a violation
	}
	if p.target = g.resolve(p, ref.text()); p.target == nil {
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
	n := from.schema.find(pointerTokens(u.Fragment))
	if known := g.of[n]; known != nil || !n.is(objectNode) && !n.is(boolNode) {
		return known
	}
	return g.move(n, from)
}

// move copies what no keyword makes a schema, such as what stands under OpenAPI's
// "components", to the definitions.
func (g *guard) move(n *node, from *place) *place {
	if known := g.moved[n]; known != nil {
		return known
	}
	count, _ := measure(n)
	if g.spare -= count + 1; g.spare < 0 || g.root.is(boolNode) {
		return nil
	}
	keyword := "$defs"
	if g.draft < 2019 {
		keyword = "definitions"
	}
	definitions := g.root.get(keyword)
	if !definitions.is(objectNode) {
		definitions = newObject()
		g.root.set(keyword, definitions)
	}
	name := "moved" + strconv.Itoa(len(g.moved))
	for definitions.get(name) != nil {
		name += "_"
	}
	moved := n.clone()
	definitions.set(name, moved)
	g.find(moved, (*path)(nil).at(keyword).at(name), g.of[g.root], keyword, from.base)
	g.moved[n] = g.of[moved]
	return g.of[moved]
}
