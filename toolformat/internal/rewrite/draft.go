package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// A draft is a version of JSON Schema, by the number that drafts has for it. A schema of
// the draft 0 declares none, or one that nobody knows.
type draft int

func (d draft) String() string {
	switch {
	case d == 0:
		return "an unknown dialect"
	case d < 2019:
		return fmt.Sprintf("draft-%02d", int(d))
	case d == 2019:
		return "2019-09"
	}
	return "2020-12"
}

// declaredDraft is the draft that the $schema of a schema declares.
func declaredDraft(schema *tree.Node) draft {
	if known, declared := vocabulary.DraftOf(schema); declared {
		return draft(known)
	}
	if strings.Contains(schema.Get("$schema").Text(), "json-schema.org/draft-03/") {
		return 3 // too old to be checked, and not too old to be sent
	}
	return 0
}

// UpgradeDraft makes a schema of any draft since 03 one of 2020-12. A schema that
// declares none is of 2020-12, but what only an older draft knows in it is read as that
// draft meant it: servers send such mixtures. In the same way a keyword that is newer
// than the declared draft is taken at its word.
//
// $schema is dropped: it says nothing of the values.
func UpgradeDraft(r *Schema) {
	u := &upgrade{Schema: r, declared: map[*tree.Node]draft{}}
	r.moving(func(*links) { u.referencesAlone(r.Root, r.base, 0) })
	u.identify(r.Root, r.base, 0)
	r.moving(func(x *links) {
		u.x = x
		u.countAnchors()
		u.schema(r.Root, r.base, 0)
	})
}

// An upgrade works in three walks: the first takes out what does not count, the second
// makes everything found that is a schema or a name, the third moves schemas.
type upgrade struct {
	*Schema
	declared map[*tree.Node]draft // by a $schema of its own
	x        *links
	anchors  int // how many schemas have $recursiveAnchor
}

// referencesAlone is the first walk: up to draft-07 a $ref makes everything beside it
// ignored (draft-07 core, 8.3); since 2019-09 both count. What refuses nothing stays.
// Children come first: what is dropped may still be referred to.
func (u *upgrade) referencesAlone(s *tree.Node, at *tree.Path, d draft) {
	if s.Get("$schema") != nil {
		d = declaredDraft(s)
	}
	vocabulary.EachChild(s, at, func(child *tree.Node, at *tree.Path) { u.referencesAlone(child, at, d) })
	if d == 0 || d > 7 || !s.Get("$ref").Is(tree.Text) {
		return
	}
	var dropped []string
	s.Members = slices.DeleteFunc(s.Members, func(m tree.Member) bool {
		drop := m.Key != "$ref" && vocabulary.Assertions[m.Key] || s != u.Root && (m.Key == "$id" || m.Key == "id")
		if drop {
			dropped = append(dropped, strconv.Quote(m.Key))
		}
		return drop
	})
	if len(dropped) > 0 {
		u.note(at, `%s dropped: %s ignores what stands beside a "$ref"`, wording.List(dropped), d)
	}
}

// identify is the second walk.
func (u *upgrade) identify(s *tree.Node, at *tree.Path, d draft) {
	if uri := s.Get("$schema"); uri != nil {
		d = declaredDraft(s)
		s.Remove("$schema")
		u.declared[s] = d
		if d == vocabulary.LatestDraft {
			u.note(at, `"$schema" is dropped: a schema is read as 2020-12 in any case`)
		} else {
			u.note(at, `"$schema": %s is dropped: %s is read as 2020-12`, uri.Short(), d)
		}
	}
	u.identifier(s, at, d)
	u.types(s, at)
	if d <= 3 {
		u.draft03(s, at)
	}
	vocabulary.EachChild(s, at, func(child *tree.Node, at *tree.Path) { u.identify(child, at, d) })
}

// identifier: draft-04 has id for $id, and up to draft-07 one that is only a fragment
// gives a name, which is $anchor since 2019-09 (8.2.2). A fragment that is a pointer, as
// generators write into every property, names nothing.
func (u *upgrade) identifier(s *tree.Node, at *tree.Path, d draft) {
	id := s.Get("id").Text()
	if s.Get("$id") == nil && (d == 3 || d == 4 || d == 0 && strings.HasPrefix(id, "#")) && id != "" {
		u.note(at, `"id" is "$id" since draft-06`)
		s.Rename("id", "$id")
	}
	uri, name, _ := strings.Cut(s.Get("$id").Text(), "#")
	switch {
	case name == "":
		return
	case uri != "":
		s.Set("$id", tree.NewText(uri))
	default:
		s.Remove("$id")
	}
	if strings.HasPrefix(name, "/") || s.Get("$anchor") != nil {
		u.note(at, `the fragment %.80q of "$id" is dropped: 2020-12 allows none, and it names nothing`, "#"+name)
		return
	}
	u.note(at, `the fragment %.80q of "$id" is an "$anchor" since 2019-09`, "#"+name)
	s.Set("$anchor", tree.NewText(name))
}

// draft03 is what draft-04 replaced.
func (u *upgrade) draft03(s *tree.Node, at *tree.Path) {
	if extends := s.Get("extends"); extends.Is(tree.Object) || extends.Is(tree.Array) {
		u.note(at, `"extends" is "allOf" since draft-04`)
		s.Remove("extends")
		parts := extends.Items
		if extends.Is(tree.Object) {
			parts = []*tree.Node{extends}
		}
		for _, part := range parts {
			addAllOf(s, part)
		}
	}
	if s.Get("divisibleBy") != nil && s.Get("multipleOf") == nil {
		u.note(at, `"divisibleBy" is "multipleOf" since draft-04`)
		s.Rename("divisibleBy", "multipleOf")
	}
	if refused := s.Get("disallow"); refused.Is(tree.Text) || refused.Is(tree.Array) {
		u.note(at, `"disallow" is "not" since draft-04`)
		s.Remove("disallow")
		not := tree.NewObject(tree.NewMember("type", refused))
		u.types(not, at)
		also(s, "not", not)
	}
}

// schema is the third walk.
func (u *upgrade) schema(s *tree.Node, at *tree.Path, d draft) {
	if declared, ok := u.declared[s]; ok {
		d = declared
	}
	u.definitions(s, at)
	u.required(s, at)
	u.exclusive(s, at)
	u.tuple(s, at)
	if d < 2019 {
		u.dependencies(s, at)
	}
	u.recursive(s, at)
	u.examples(s, at)
	vocabulary.EachChild(s, at, func(child *tree.Node, at *tree.Path) { u.schema(child, at, d) })
}

// "definitions" is "$defs" since 2019-09 (8.2.4).
func (u *upgrade) definitions(s *tree.Node, at *tree.Path) {
	old := s.Get("definitions")
	if !old.Is(tree.Object) {
		return
	}
	u.note(at, `"definitions" is "$defs" since 2019-09`)
	defs := s.Get("$defs")
	if !defs.Is(tree.Object) {
		s.Remove("$defs")
		s.Rename("definitions", "$defs")
		return
	}
	s.Remove("definitions")
	taken := newNames(defs)
	for _, m := range old.Members {
		defs.Members = append(defs.Members, tree.NewMember(taken.free(m.Key), m.Value))
	}
}

// required: draft-03 has a boolean in the property, since draft-04 it is a list beside
// the properties (draft-04 validation, 5.4.3). Servers of every draft still send it.
func (u *upgrade) required(s *tree.Node, at *tree.Path) {
	if s.Get("required").Is(tree.Bool) { // that of a property is gone by now
		u.note(at, `"required": %s is dropped: it is a list of properties`, s.Remove("required").Raw)
	}
	properties := s.Get("properties")
	if !properties.Is(tree.Object) {
		return
	}
	list := s.Get("required")
	listed := map[string]bool{}
	if list.Is(tree.Array) {
		for _, it := range list.Items {
			listed[it.Text()] = true
		}
	}
	for _, m := range properties.Members {
		if !m.Value.Get("required").Is(tree.Bool) {
			continue
		}
		must := m.Value.Remove("required").IsTrue()
		u.note(at.At("properties").At(m.Key), `"required": %t is a list beside the properties since draft-04`, must)
		if !must || listed[m.Key] {
			continue
		}
		if !list.Is(tree.Array) {
			list = tree.NewArray()
			s.Set("required", list)
		}
		list.Items = append(list.Items, tree.NewText(m.Key))
	}
}

// exclusive: in draft-04 it is a boolean beside the limit, since draft-06 the limit.
func (u *upgrade) exclusive(s *tree.Node, at *tree.Path) {
	for _, pair := range [...][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		flag, limit := s.Get(pair[0]), s.Get(pair[1])
		if !flag.Is(tree.Bool) {
			continue
		}
		u.note(at, "%q: %s is a number since draft-06", pair[0], flag.Raw)
		if flag.IsTrue() && limit.Is(tree.Number) {
			s.Remove(pair[1])
			s.Set(pair[0], limit)
		} else {
			s.Remove(pair[0])
		}
	}
}

// tuple: a list in items is prefixItems since 2020-12, and additionalItems, which says
// something beside such a list only, is items (10.3.1).
func (u *upgrade) tuple(s *tree.Node, at *tree.Path) {
	items, rest := s.Get("items"), s.Remove("additionalItems")
	if !items.Is(tree.Array) {
		if rest != nil {
			u.note(at, `"additionalItems" is dropped: without a list in "items" it says nothing`)
		}
		return
	}
	if len(items.Items) == 0 || s.Get("prefixItems") != nil {
		u.note(at, `the list in "items" is dropped: it is empty, or there is "prefixItems"`)
		s.Remove("items")
	} else {
		u.note(at, `a list in "items" is "prefixItems" since 2020-12`)
		s.Rename("items", "prefixItems")
	}
	if rest != nil {
		s.Set("items", rest)
	}
}

// dependencies is dependentRequired and dependentSchemas since 2019-09.
func (u *upgrade) dependencies(s *tree.Node, at *tree.Path) {
	old := s.Get("dependencies")
	if !old.Is(tree.Object) {
		return
	}
	u.note(at, `"dependencies" is "dependentRequired" and "dependentSchemas" since 2019-09`)
	s.Remove("dependencies")
	required, schemas := tree.NewObject(), tree.NewObject()
	for _, m := range old.Members {
		switch m.Value.Kind {
		case tree.Array:
			required.Members = append(required.Members, m)
		case tree.Text: // draft-03
			required.Members = append(required.Members, tree.NewMember(m.Key, tree.NewArray(m.Value)))
		case tree.Object, tree.Bool:
			schemas.Members = append(schemas.Members, m)
		default:
			u.note(at, "the dependency of %.80q is dropped: it is %s", m.Key, m.Value.Kind)
		}
	}
	if len(required.Members) > 0 {
		also(s, "dependentRequired", required)
	}
	if len(schemas.Members) > 0 {
		also(s, "dependentSchemas", schemas)
	}
}

// countAnchors counts what a $recursiveRef may lead to.
func (u *upgrade) countAnchors() {
	for _, s := range u.x.schemas {
		if s.schema.Get("$recursiveAnchor").IsTrue() {
			u.anchors++
		}
	}
}

// recursive: $recursiveRef is $dynamicRef since 2020-12, and plainly a $ref when there
// are not two anchors between which the way decides (2019-09 core, 8.2.4.2).
func (u *upgrade) recursive(s *tree.Node, at *tree.Path) {
	const name = "recursive"
	if anchor := s.Remove("$recursiveAnchor"); anchor != nil {
		u.note(at, `"$recursiveAnchor": %s is dropped: 2020-12 has "$dynamicAnchor"`, anchor.Short())
		if anchor.IsTrue() && u.anchors > 1 {
			s.Set("$dynamicAnchor", tree.NewText(name))
		}
	}
	if s.Remove("$recursiveRef") == nil {
		return
	}
	resource := u.x.resources[u.x.home[s]]
	if u.anchors > 1 && (resource.Get("$recursiveAnchor").IsTrue() || resource.Get("$dynamicAnchor").Text() == name) {
		u.note(at, `"$recursiveRef" is "$dynamicRef" since 2020-12`)
		s.Set("$dynamicRef", tree.NewText("#"+name))
		return
	}
	u.note(at, `"$recursiveRef" is a "$ref": there is one schema that it may mean`)
	also(s, "$ref", tree.NewText("#"))
}

// examples: OpenAPI 3.0 has one example, JSON Schema a list (2020-12 validation, 9.5).
func (u *upgrade) examples(s *tree.Node, at *tree.Path) {
	one, list := s.Remove("example"), s.Get("examples")
	if list != nil && !list.Is(tree.Array) {
		u.note(at, `"examples" is a list of values`)
		list = tree.NewArray(list)
		s.Set("examples", list)
	}
	if one == nil {
		return
	}
	u.note(at, `"example" is a list, "examples", in JSON Schema`)
	if list == nil {
		s.Set("examples", tree.NewArray(one))
	} else if !slices.ContainsFunc(list.Items, one.Equal) {
		list.Items = append(list.Items, one)
	}
}
