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

// A preparer makes a schema fit for jsonschema/v5, which loads files that a reference names, panics
// on large numbers, and refuses the whole schema for one keyword. It leaves one document without
// identifiers: keywords that keep it from compiling are dropped and noted, and each reference is a
// pointer into the document.
//
// A schema without a keyword accepts more than before; below "not" that would mean less. Keywords
// that depend on it in this way are dropped as well: see relaxAbove.
type preparer struct {
	root         *tree.Node
	draft        vocabulary.Draft
	notes        []wording.Note
	places       []*place // every schema, parents before children
	placeOf      map[*tree.Node]*place
	byURI        map[string]*place
	copies       map[*tree.Node]*place // of targets that no keyword makes a schema
	hasResources bool                  // a schema below the root has a URI of its own

	nodeBudget    int // values that may still be copied
	patternBudget int // instructions of regular expressions that are left
}

// A place is one schema of the document.
type place struct {
	schema  *tree.Node
	at      *tree.Path
	keyword string // of the parent, below which it stands
	parent  *place
	base    *url.URL // against which it resolves references
	target  *place   // of its $ref
	loose   bool     // it accepts more than the original
}

// maxSchemas bounds the schemas of a document: jsonschema/v5 takes time by the square of their
// number.
const maxSchemas = 5000

// applies reports whether a keyword of a schema is checked, or holds definitions. "format" is an
// annotation in every draft (2020-12 validation, 7); resolve has replaced "$dynamicRef". Before
// 2019-09 a $ref made all others ignored (draft-07 core, 8.3).
func (p *preparer) applies(s *tree.Node, keyword string) bool {
	switch {
	case keyword == "format", keyword == "$dynamicRef":
		return false
	case keyword == "definitions":
		return true
	case p.draft < 2019 && s.Get("$ref").Is(tree.Text):
		return keyword == "$ref"
	case keyword == "$defs":
		return p.draft >= 2019
	}
	since := vocabulary.Assertions[keyword]
	return since != 0 && since <= p.draft
}

// newPreparer finds the schemas of a document and resolves their references.
func newPreparer(root *tree.Node, draft vocabulary.Draft) (*preparer, error) {
	count, _ := root.Size()
	p := &preparer{root: root, draft: draft, placeOf: map[*tree.Node]*place{}, byURI: map[string]*place{}, copies: map[*tree.Node]*place{}, nodeBudget: rewrite.MaxNodes - count, patternBudget: maxPatterns}
	base, _ := url.Parse(documentURL)
	p.addSchemas(root, nil, nil, "", base)
	for i := 0; i < len(p.places); i++ { // resolving adds copies
		p.resolve(p.places[i])
	}
	if len(p.places) > maxSchemas {
		return nil, fmt.Errorf("the schema is too large: more than %d schemas in it", maxSchemas)
	}
	for _, pl := range p.places {
		pl.schema.Members = slices.DeleteFunc(pl.schema.Members, func(m tree.Member) bool { return !p.applies(pl.schema, m.Key) })
	}
	return p, nil
}

// documentURL is the base of the identifiers and references of a document.
const documentURL = "tool:///schema"

// addSchemas lists a schema and those below it. A schema that is new gets its identifiers.
func (p *preparer) addSchemas(s *tree.Node, at *tree.Path, parent *place, keyword string, base *url.URL) {
	pl := p.placeOf[s]
	if pl == nil {
		pl = &place{schema: s, at: at, base: base}
		p.placeOf[s] = pl
		p.addIdentifiers(pl)
	}
	pl.parent, pl.keyword = parent, keyword
	p.places = append(p.places, pl)
	vocabulary.EachChild(s, at, func(keyword string, child *tree.Node, at *tree.Path) {
		if p.applies(s, keyword) {
			p.addSchemas(child, at, pl, keyword, pl.base)
		}
	})
}

// addIdentifiers adds the URIs of a schema (2020-12 core, 8.2; draft-07 core, 8.2).
func (p *preparer) addIdentifiers(pl *place) {
	add := func(u *url.URL) {
		if _, taken := p.byURI[u.String()]; !taken {
			p.byURI[u.String()] = pl
		}
	}
	if pl.at == nil {
		add(pl.base)
	}
	keyword := "$id"
	if p.draft == 4 {
		keyword = "id"
	}
	ignored := p.draft < 2019 && pl.schema.Get("$ref") != nil
	if id := pl.schema.Get(keyword); id.Is(tree.Text) && !ignored {
		if u, err := pl.base.Parse(id.Text()); err == nil {
			add(u) // with its fragment, which was an anchor before 2019-09
			if whole := withFragment(u, ""); whole.String() != pl.base.String() {
				pl.base = whole
				add(whole)
				p.hasResources = p.hasResources || pl.at != nil
			}
		}
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := pl.schema.Get(keyword); anchor.Is(tree.Text) {
			add(withFragment(pl.base, anchor.Text()))
		}
	}
}

func withFragment(u *url.URL, fragment string) *url.URL {
	changed := *u
	changed.Fragment, changed.RawFragment = fragment, ""
	return &changed
}

// resolve finds the target of a schema's reference. A dynamic one (2020-12 core, 8.2.3.2; 2019-09
// core, 8.2.4.2) is an ordinary one in a document without further resources.
func (p *preparer) resolve(pl *place) {
	s := pl.schema
	for _, dynamic := range []string{"$dynamicRef", "$recursiveRef"} {
		if !s.Get(dynamic).Is(tree.Text) || p.draft < 2019 {
			continue
		}
		if p.hasResources || s.Get("$ref") != nil {
			p.dropKeyword(pl, dynamic, "its target depends on where it is used from")
		} else {
			s.Rename(dynamic, "$ref")
		}
	}
	ref := s.Get("$ref")
	if !ref.Is(tree.Text) {
		return // there is none, or it is a violation
	}
	if pl.target = p.lookup(pl, ref.Text()); pl.target == nil {
		p.dropKeyword(pl, "$ref", "its target is not in the schema, and nothing is loaded")
	}
}

// lookup returns the schema that a reference leads to; nil if it is not in the document.
func (p *preparer) lookup(pl *place, ref string) *place {
	u, err := pl.base.Parse(ref)
	if err != nil {
		if !strings.HasPrefix(ref, "#") {
			return nil
		}
		u = withFragment(pl.base, ref[1:]) // not escaped as a URI has to be
	}
	if !strings.HasPrefix(u.Fragment, "/") {
		return p.byURI[u.String()]
	}
	from := p.byURI[withFragment(u, "").String()]
	if from == nil {
		return nil
	}
	n := from.schema.Find(tree.ParsePointer(u.Fragment)...)
	if known := p.placeOf[n]; known != nil || !n.Is(tree.Object) && !n.Is(tree.Bool) {
		return known
	}
	return p.copyToDefinitions(n, from)
}

// copyToDefinitions copies a value that no keyword makes a schema, such as one below "components"
// of OpenAPI, to the definitions.
func (p *preparer) copyToDefinitions(n *tree.Node, from *place) *place {
	if known := p.copies[n]; known != nil {
		return known
	}
	count, _ := n.Size()
	if p.nodeBudget -= count + 1; p.nodeBudget < 0 || p.root.Is(tree.Bool) {
		return nil
	}
	keyword := "$defs"
	if p.draft < 2019 {
		keyword = "definitions"
	}
	definitions := p.root.Get(keyword)
	if !definitions.Is(tree.Object) {
		definitions = tree.NewObject()
		p.root.Set(keyword, definitions)
	}
	name := "moved" + strconv.Itoa(len(p.copies))
	for definitions.Get(name) != nil {
		name += "_"
	}
	c := n.Clone()
	definitions.Set(name, c)
	p.addSchemas(c, tree.At(keyword).At(name), p.placeOf[p.root], keyword, from.base)
	p.copies[n] = p.placeOf[c]
	return p.placeOf[c]
}
