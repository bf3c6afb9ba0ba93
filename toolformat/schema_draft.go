package toolformat

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
func declaredDraft(schema *node) draft {
	if known, declared := draftOf(schema); declared {
		return draft(known)
	}
	if strings.Contains(schema.get("$schema").text(), "json-schema.org/draft-03/") {
		return 3 // too old to be checked, and not too old to be sent
	}
	return 0
}

// upgradeDraft makes a schema of any draft since 03 one of 2020-12. A schema that
// declares none is of 2020-12, but what only an older draft knows in it is read as that
// draft meant it: servers send such mixtures. In the same way a keyword that is newer
// than the declared draft is taken at its word.
//
// $schema is dropped: it says nothing of the values.
func upgradeDraft(r *rewrite) {
	u := &upgrade{rewrite: r, declared: map[*node]draft{}}
	r.moving(func(*links) { u.referencesAlone(r.root, r.base, 0) })
	u.identify(r.root, r.base, 0)
	r.moving(func(x *links) {
		u.x = x
		u.countAnchors()
		u.schema(r.root, r.base, 0)
	})
}

// An upgrade works in three walks: the first takes out what does not count, the second
// makes everything found that is a schema or a name, the third moves schemas.
type upgrade struct {
	*rewrite
	declared map[*node]draft // by a $schema of its own
	x        *links
	anchors  int // how many schemas have $recursiveAnchor
}

// referencesAlone is the first walk: up to draft-07 a $ref makes everything beside it
// ignored (draft-07 core, 8.3); since 2019-09 both count. What refuses nothing stays.
// Children come first: what is dropped may still be referred to.
func (u *upgrade) referencesAlone(s *node, at *path, d draft) {
	if s.get("$schema") != nil {
		d = declaredDraft(s)
	}
	eachChild(s, at, func(child *node, at *path) { u.referencesAlone(child, at, d) })
	if d == 0 || d > 7 || !s.get("$ref").is(textNode) {
		return
	}
	var dropped []string
	s.members = slices.DeleteFunc(s.members, func(m member) bool {
		drop := m.key != "$ref" && assertions[m.key] || s != u.root && (m.key == "$id" || m.key == "id")
		if drop {
			dropped = append(dropped, strconv.Quote(m.key))
		}
		return drop
	})
	if len(dropped) > 0 {
		u.note(at, `%s dropped: %s ignores what stands beside a "$ref"`, wording.List(dropped), d)
	}
}

// identify is the second walk.
func (u *upgrade) identify(s *node, at *path, d draft) {
	if uri := s.get("$schema"); uri != nil {
		d = declaredDraft(s)
		s.cut("$schema")
		u.declared[s] = d
		if d == latestDraft {
			u.note(at, `"$schema" is dropped: a schema is read as 2020-12 in any case`)
		} else {
			u.note(at, `"$schema": %s is dropped: %s is read as 2020-12`, uri.short(), d)
		}
	}
	u.identifier(s, at, d)
	u.types(s, at)
	if d <= 3 {
		u.draft03(s, at)
	}
	eachChild(s, at, func(child *node, at *path) { u.identify(child, at, d) })
}

// identifier: draft-04 has id for $id, and up to draft-07 one that is only a fragment
// gives a name, which is $anchor since 2019-09 (8.2.2). A fragment that is a pointer, as
// generators write into every property, names nothing.
func (u *upgrade) identifier(s *node, at *path, d draft) {
	id := s.get("id").text()
	if s.get("$id") == nil && (d == 3 || d == 4 || d == 0 && strings.HasPrefix(id, "#")) && id != "" {
		u.note(at, `"id" is "$id" since draft-06`)
		renameMember(s, "id", "$id")
	}
	uri, name, _ := strings.Cut(s.get("$id").text(), "#")
	switch {
	case name == "":
		return
	case uri != "":
		s.set("$id", newText(uri))
	default:
		s.cut("$id")
	}
	if strings.HasPrefix(name, "/") || s.get("$anchor") != nil {
		u.note(at, `the fragment %.80q of "$id" is dropped: 2020-12 allows none, and it names nothing`, "#"+name)
		return
	}
	u.note(at, `the fragment %.80q of "$id" is an "$anchor" since 2019-09`, "#"+name)
	s.set("$anchor", newText(name))
}

// draft03 is what draft-04 replaced.
func (u *upgrade) draft03(s *node, at *path) {
	if extends := s.get("extends"); extends.is(objectNode) || extends.is(arrayNode) {
		u.note(at, `"extends" is "allOf" since draft-04`)
		s.cut("extends")
		parts := extends.items
		if extends.is(objectNode) {
			parts = []*node{extends}
		}
		for _, part := range parts {
			s.addAllOf(part)
		}
	}
	if s.get("divisibleBy") != nil && s.get("multipleOf") == nil {
		u.note(at, `"divisibleBy" is "multipleOf" since draft-04`)
		renameMember(s, "divisibleBy", "multipleOf")
	}
	if refused := s.get("disallow"); refused.is(textNode) || refused.is(arrayNode) {
		u.note(at, `"disallow" is "not" since draft-04`)
		s.cut("disallow")
		not := newObject(member{"type", refused})
		u.types(not, at)
		s.also("not", not)
	}
}

// schema is the third walk.
func (u *upgrade) schema(s *node, at *path, d draft) {
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
	eachChild(s, at, func(child *node, at *path) { u.schema(child, at, d) })
}

// "definitions" is "$defs" since 2019-09 (8.2.4).
func (u *upgrade) definitions(s *node, at *path) {
	old := s.get("definitions")
	if !old.is(objectNode) {
		return
	}
	u.note(at, `"definitions" is "$defs" since 2019-09`)
	defs := s.get("$defs")
	if !defs.is(objectNode) {
		s.cut("$defs")
		renameMember(s, "definitions", "$defs")
		return
	}
	s.cut("definitions")
	taken := newNames(defs)
	for _, m := range old.members {
		defs.members = append(defs.members, member{taken.free(m.key), m.val})
	}
}

// required: draft-03 has a boolean in the property, since draft-04 it is a list beside
// the properties (draft-04 validation, 5.4.3). Servers of every draft still send it.
func (u *upgrade) required(s *node, at *path) {
	if s.get("required").is(boolNode) { // that of a property is gone by now
		u.note(at, `"required": %s is dropped: it is a list of properties`, s.cut("required").raw)
	}
	properties := s.get("properties")
	if !properties.is(objectNode) {
		return
	}
	list := s.get("required")
	listed := map[string]bool{}
	if list.is(arrayNode) {
		for _, it := range list.items {
			listed[it.text()] = true
		}
	}
	for _, m := range properties.members {
		if !m.val.get("required").is(boolNode) {
			continue
		}
		must := m.val.cut("required").truth()
		u.note(at.at("properties").at(m.key), `"required": %t is a list beside the properties since draft-04`, must)
		if !must || listed[m.key] {
			continue
		}
		if !list.is(arrayNode) {
			list = newArray()
			s.set("required", list)
		}
		list.items = append(list.items, newText(m.key))
	}
}

// exclusive: in draft-04 it is a boolean beside the limit, since draft-06 the limit.
func (u *upgrade) exclusive(s *node, at *path) {
	for _, pair := range [...][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		flag, limit := s.get(pair[0]), s.get(pair[1])
		if !flag.is(boolNode) {
			continue
		}
		u.note(at, "%q: %s is a number since draft-06", pair[0], flag.raw)
		if flag.truth() && limit.is(numberNode) {
			s.cut(pair[1])
			s.set(pair[0], limit)
		} else {
			s.cut(pair[0])
		}
	}
}

// tuple: a list in items is prefixItems since 2020-12, and additionalItems, which says
// something beside such a list only, is items (10.3.1).
func (u *upgrade) tuple(s *node, at *path) {
	items, rest := s.get("items"), s.cut("additionalItems")
	if !items.is(arrayNode) {
		if rest != nil {
			u.note(at, `"additionalItems" is dropped: without a list in "items" it says nothing`)
		}
		return
	}
	if len(items.items) == 0 || s.get("prefixItems") != nil {
		u.note(at, `the list in "items" is dropped: it is empty, or there is "prefixItems"`)
		s.cut("items")
	} else {
		u.note(at, `a list in "items" is "prefixItems" since 2020-12`)
		renameMember(s, "items", "prefixItems")
	}
	if rest != nil {
		s.set("items", rest)
	}
}

// dependencies is dependentRequired and dependentSchemas since 2019-09.
func (u *upgrade) dependencies(s *node, at *path) {
	old := s.get("dependencies")
	if !old.is(objectNode) {
		return
	}
	u.note(at, `"dependencies" is "dependentRequired" and "dependentSchemas" since 2019-09`)
	s.cut("dependencies")
	required, schemas := newObject(), newObject()
	for _, m := range old.members {
		switch m.val.kind {
		case arrayNode:
			required.members = append(required.members, m)
		case textNode: // draft-03
			required.members = append(required.members, member{m.key, newArray(m.val)})
		case objectNode, boolNode:
			schemas.members = append(schemas.members, m)
		default:
			u.note(at, "the dependency of %.80q is dropped: it is %s", m.key, m.val.kind)
		}
	}
	if len(required.members) > 0 {
		s.also("dependentRequired", required)
	}
	if len(schemas.members) > 0 {
		s.also("dependentSchemas", schemas)
	}
}

// countAnchors counts what a $recursiveRef may lead to.
func (u *upgrade) countAnchors() {
	for _, s := range u.x.schemas {
		if s.schema.get("$recursiveAnchor").truth() {
			u.anchors++
		}
	}
}

// recursive: $recursiveRef is $dynamicRef since 2020-12, and plainly a $ref when there
// are not two anchors between which the way decides (2019-09 core, 8.2.4.2).
func (u *upgrade) recursive(s *node, at *path) {
	const name = "recursive"
	if anchor := s.cut("$recursiveAnchor"); anchor != nil {
		u.note(at, `"$recursiveAnchor": %s is dropped: 2020-12 has "$dynamicAnchor"`, anchor.short())
		if anchor.truth() && u.anchors > 1 {
			s.set("$dynamicAnchor", newText(name))
		}
	}
	if s.cut("$recursiveRef") == nil {
		return
	}
	resource := u.x.resources[u.x.home[s]]
	if u.anchors > 1 && (resource.get("$recursiveAnchor").truth() || resource.get("$dynamicAnchor").text() == name) {
		u.note(at, `"$recursiveRef" is "$dynamicRef" since 2020-12`)
		s.set("$dynamicRef", newText("#"+name))
		return
	}
	u.note(at, `"$recursiveRef" is a "$ref": there is one schema that it may mean`)
	s.also("$ref", newText("#"))
}

// examples: OpenAPI 3.0 has one example, JSON Schema a list (2020-12 validation, 9.5).
func (u *upgrade) examples(s *node, at *path) {
	one, list := s.cut("example"), s.get("examples")
	if list != nil && !list.is(arrayNode) {
		u.note(at, `"examples" is a list of values`)
		list = newArray(list)
		s.set("examples", list)
	}
	if one == nil {
		return
	}
	u.note(at, `"example" is a list, "examples", in JSON Schema`)
	if list == nil {
		s.set("examples", newArray(one))
	} else if !slices.ContainsFunc(list.items, one.equal) {
		list.items = append(list.items, one)
	}
}

// The drafts of JSON Schema that are known, each with the URL of its meta-schema. The
// numbers are in their order.
var drafts = map[int]string{
	4:    "http://json-schema.org/draft-04/schema",
	6:    "http://json-schema.org/draft-06/schema",
	7:    "http://json-schema.org/draft-07/schema",
	2019: "https://json-schema.org/draft/2019-09/schema",
	2020: "https://json-schema.org/draft/2020-12/schema",
}

// latestDraft is what a schema is written in that does not say (MCP 2025-11-25,
// tools: "defaults to JSON Schema 2020-12 if no $schema field is present").
const latestDraft = 2020

// draftOf is the draft that a schema says it is written in; declared is false when it
// names none, or one that is not known.
func draftOf(schema *node) (draft int, declared bool) {
	url := schema.get("$schema").text()
	url, _ = strings.CutSuffix(url, "#") // the URLs of draft-07 and before end in an empty fragment, which many leave out
	_, url, _ = strings.Cut(url, "://")
	for draft, known := range drafts {
		if _, known, _ := strings.Cut(known, "://"); url == known {
			return draft, true
		}
	}
	return latestDraft, false
}
