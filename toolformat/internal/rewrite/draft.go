package rewrite

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// declaredDraft returns the draft that the $schema of a schema names; 0 if it names none or an
// unknown one.
func declaredDraft(schema *tree.Node) vocabulary.Draft {
	if draft, declared := vocabulary.DraftOf(schema); declared {
		return draft
	}
	if strings.Contains(schema.Get("$schema").Text(), "json-schema.org/draft-03/") {
		return 3 // too old to be checked, not too old to be sent
	}
	return 0
}

// UpgradeDraft makes a schema of any draft since 03 one of 2020-12. A schema that declares no draft
// is of 2020-12, but keywords that only an older draft has are read as that draft meant them:
// servers send such mixtures. In the same way keywords newer than the declared draft count.
//
// $schema is dropped: it says nothing about values.
func UpgradeDraft(r *Schema) {
	u := &upgrade{Schema: r, declared: map[*tree.Node]vocabulary.Draft{}}
	r.moveSchemas(func(*refGraph) { u.dropSiblings(r.Root, r.base, 0) })
	u.identify(r.Root, r.base, 0)
	r.moveSchemas(func(x *refGraph) {
		u.graph = x
		for _, s := range x.schemas {
			if s.schema.Get("$recursiveAnchor").IsBool(true) {
				u.anchors++
			}
		}
		u.schema(r.Root, r.base, 0)
	})
}

// An upgrade walks the schema three times: to drop what the draft ignores, to write everything as
// 2020-12 does that makes a schema or names one, and to move schemas.
type upgrade struct {
	*Schema
	declared map[*tree.Node]vocabulary.Draft // schemas with a $schema of their own
	graph    *refGraph
	anchors  int // schemas with $recursiveAnchor
}

// dropSiblings is the first walk: up to draft-07 a $ref makes everything beside it ignored (draft-07
// core, 8.3); since 2019-09 both count. Annotations stay. Children come first: what is dropped may
// still be referred to.
func (u *upgrade) dropSiblings(s *tree.Node, at *tree.Path, d vocabulary.Draft) {
	if s.Get("$schema") != nil {
		d = declaredDraft(s)
	}
	vocabulary.EachChild(s, at, func(_ string, child *tree.Node, at *tree.Path) { u.dropSiblings(child, at, d) })
	if d == 0 || d > 7 || !s.Get("$ref").Is(tree.Text) {
		return
	}
	var dropped []string
	s.Members = slices.DeleteFunc(s.Members, func(m tree.Member) bool {
		drop := m.Key != "$ref" && isAssertion(m) || s != u.Root && (m.Key == "$id" || m.Key == "id")
		if drop {
			dropped = append(dropped, strconv.Quote(m.Key))
		}
		return drop
	})
	if len(dropped) > 0 {
		u.note(at, `%s dropped: %s ignores siblings of a "$ref"`, wording.List(dropped), d)
	}
}

// identify is the second walk.
func (u *upgrade) identify(s *tree.Node, at *tree.Path, d vocabulary.Draft) {
	if uri := s.Get("$schema"); uri != nil {
		d = declaredDraft(s)
		s.Remove("$schema")
		u.declared[s] = d
		if d == vocabulary.LatestDraft {
			u.note(at, `"$schema" dropped: a schema is read as 2020-12 in any case`)
		} else {
			u.note(at, `"$schema": %s dropped: %s is read as 2020-12`, uri.Short(), d)
		}
	}
	u.identifier(s, at, d)
	u.types(s, at)
	if d <= 3 {
		u.draft03(s, at)
	}
	vocabulary.EachChild(s, at, func(_ string, child *tree.Node, at *tree.Path) { u.identify(child, at, d) })
}

// identifier: draft-04 has id for $id, and up to draft-07 one that is only a fragment gives a name,
// which is $anchor since 2019-09 (8.2.2). A fragment that is a pointer, as generators write into
// every property, names nothing.
func (u *upgrade) identifier(s *tree.Node, at *tree.Path, d vocabulary.Draft) {
	id := s.Get("id").Text()
	if s.Get("$id") == nil && (d == 3 || d == 4 || d == 0 && strings.HasPrefix(id, "#")) && id != "" {
		u.note(at, `"id" renamed to "$id", its name since draft-06`)
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
		u.note(at, `the fragment %s of "$id" dropped: 2020-12 allows none, and it names nothing`, quoteShort("#"+name))
		return
	}
	u.note(at, `the fragment %s of "$id" replaced by an "$anchor", as since 2019-09`, quoteShort("#"+name))
	s.Set("$anchor", tree.NewText(name))
}

// draft03 replaces keywords that draft-04 replaced.
func (u *upgrade) draft03(s *tree.Node, at *tree.Path) {
	if extends := s.Get("extends"); extends.Is(tree.Object) || extends.Is(tree.Array) {
		u.note(at, `"extends" replaced by "allOf", as since draft-04`)
		s.Remove("extends")
		if extends.Is(tree.Object) {
			addAllOf(s, extends)
		}
		for _, branch := range extends.Items {
			addAllOf(s, branch)
		}
	}
	if s.Get("divisibleBy") != nil && s.Get("multipleOf") == nil {
		u.note(at, `"divisibleBy" renamed to "multipleOf", its name since draft-04`)
		s.Rename("divisibleBy", "multipleOf")
	}
	if refused := s.Get("disallow"); refused.Is(tree.Text) || refused.Is(tree.Array) {
		u.note(at, `"disallow" replaced by "not", as since draft-04`)
		s.Remove("disallow")
		not := tree.NewObject(tree.NewMember("type", refused))
		u.types(not, at)
		addKeyword(s, "not", not)
	}
}

// schema is the third walk.
func (u *upgrade) schema(s *tree.Node, at *tree.Path, d vocabulary.Draft) {
	if declared, ok := u.declared[s]; ok {
		d = declared
	}
	u.empties(s, at)
	u.moveDefinitions(s, at)
	u.required(s, at)
	u.exclusive(s, at)
	u.counts(s, at)
	u.tuple(s, at)
	if d < 2019 {
		u.dependencies(s, at)
	}
	u.recursive(s, at)
	u.examples(s, at)
	vocabulary.EachChild(s, at, func(_ string, child *tree.Node, at *tree.Path) { u.schema(child, at, d) })
}

// empties: PHP writes an empty object as an empty list (shopware#18713, elementor#37320), and an empty list as an empty
// object (wordpress-mcp#58), Go one without items as null (opencode#278).
func (u *upgrade) empties(s *tree.Node, at *tree.Path) {
	for i, m := range s.Members {
		empty := tree.NewObject()
		if m.Key == "required" {
			empty = tree.NewArray()
		} else if vocabulary.Keywords[m.Key] != vocabulary.ManySchemas {
			continue
		}
		if m.Value.Kind != empty.Kind && (m.Value.Is(tree.Null) || len(m.Value.Raw)+len(m.Value.Items)+len(m.Value.Members) == 0) {
			u.note(at, "%q: %s replaced by %s: it is empty", m.Key, m.Value.Short(), empty.Short())
			s.Members[i].Value = empty
		}
	}
}

// moveDefinitions: "definitions" is "$defs" since 2019-09 (8.2.4).
func (u *upgrade) moveDefinitions(s *tree.Node, at *tree.Path) {
	old := s.Get("definitions")
	if !old.Is(tree.Object) {
		return
	}
	u.note(at, `"definitions" renamed to "$defs", its name since 2019-09`)
	defs := s.Get("$defs")
	if !defs.Is(tree.Object) {
		s.Remove("$defs")
		s.Rename("definitions", "$defs")
		return
	}
	s.Remove("definitions")
	taken := newNames(defs)
	for _, m := range old.Members {
		defs.Members = append(defs.Members, tree.NewMember(taken.unused(m.Key), m.Value))
	}
}

// required: draft-03 has a boolean in the property, since draft-04 it is a list beside the
// properties (draft-04 validation, 5.4.3). Servers of every draft still send the boolean.
func (u *upgrade) required(s *tree.Node, at *tree.Path) {
	if s.Get("required").Is(tree.Bool) { // that of a property is gone by now
		u.note(at, `"required": %s dropped: it is a list of properties`, s.Remove("required").Raw)
	}
	list := s.Get("required")
	listed := map[string]bool{}
	for _, name := range list.Texts() {
		listed[name] = true
	}
	for _, m := range vocabulary.MembersOf(s.Get("properties")) {
		if !m.Value.Get("required").Is(tree.Bool) {
			continue
		}
		isRequired := m.Value.Remove("required").IsBool(true)
		u.note(at.At("properties").At(m.Key), `"required": %t moved to the list beside the properties, its place since draft-04`, isRequired)
		if !isRequired || listed[m.Key] {
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
		u.note(at, "%q: %s replaced by a number, as since draft-06", pair[0], flag.Raw)
		if flag.IsBool(true) && limit.Is(tree.Number) {
			s.Remove(pair[1])
			s.Set(pair[0], limit)
		} else {
			s.Remove(pair[0])
		}
	}
}

// counts: protocol buffers write integers of 64 bits as strings, so that Gemini's API and its SDKs write these.
func (u *upgrade) counts(s *tree.Node, at *tree.Path) {
	for i, m := range s.Members {
		switch m.Key {
		case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
			if digits := m.Value.Text(); digits != "" && strings.Trim(digits, "0123456789") == "" {
				u.note(at, "%q: %s replaced by a number", m.Key, m.Value.Short())
				s.Members[i].Value = &tree.Node{Kind: tree.Number, Raw: cmp.Or(strings.TrimLeft(digits, "0"), "0")}
			}
		}
	}
}

// tuple: a list in items is prefixItems since 2020-12, and additionalItems, which applies only
// beside such a list, is items (10.3.1).
func (u *upgrade) tuple(s *tree.Node, at *tree.Path) {
	items, rest := s.Get("items"), s.Remove("additionalItems")
	if !items.Is(tree.Array) {
		if rest != nil {
			u.note(at, `"additionalItems" dropped: it applies only beside a list in "items"`)
		}
		return
	}
	if len(items.Items) == 0 || s.Get("prefixItems") != nil {
		u.note(at, `the list in "items" dropped: it is empty, or there is "prefixItems"`)
		s.Remove("items")
	} else {
		u.note(at, `the list in "items" renamed to "prefixItems", its name since 2020-12`)
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
	u.note(at, `"dependencies" replaced by "dependentRequired" and "dependentSchemas", as since 2019-09`)
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
			u.note(at, "the dependency of %s dropped: it is %s", quoteShort(m.Key), m.Value.Kind)
		}
	}
	if len(required.Members) > 0 {
		addKeyword(s, "dependentRequired", required)
	}
	if len(schemas.Members) > 0 {
		addKeyword(s, "dependentSchemas", schemas)
	}
}

// recursive: $recursiveRef is $dynamicRef since 2020-12, and plainly a $ref unless there are two
// anchors between which the way decides (2019-09 core, 8.2.4.2).
func (u *upgrade) recursive(s *tree.Node, at *tree.Path) {
	const name = "recursive"
	if anchor := s.Remove("$recursiveAnchor"); anchor != nil {
		u.note(at, `"$recursiveAnchor": %s dropped: 2020-12 has "$dynamicAnchor"`, anchor.Short())
		if anchor.IsBool(true) && u.anchors > 1 {
			s.Set("$dynamicAnchor", tree.NewText(name))
		}
	}
	if s.Remove("$recursiveRef") == nil {
		return
	}
	resource := u.graph.resources[u.graph.baseURIs[s]]
	if u.anchors > 1 && (resource.Get("$recursiveAnchor").IsBool(true) || resource.Get("$dynamicAnchor").Text() == name) {
		u.note(at, `"$recursiveRef" replaced by "$dynamicRef", as since 2020-12`)
		s.Set("$dynamicRef", tree.NewText("#"+name))
		return
	}
	u.note(at, `"$recursiveRef" replaced by "$ref": it has one possible target`)
	addKeyword(s, "$ref", tree.NewText("#"))
}

// examples: OpenAPI 3.0 has one example, JSON Schema a list (2020-12 validation, 9.5).
func (u *upgrade) examples(s *tree.Node, at *tree.Path) {
	example, list := s.Remove("example"), s.Get("examples")
	if list != nil && !list.Is(tree.Array) {
		u.note(at, `"examples" wrapped in a list`)
		list = tree.NewArray(list)
		s.Set("examples", list)
	}
	if example == nil {
		return
	}
	u.note(at, `"example" replaced by "examples", the list that JSON Schema has`)
	if list == nil {
		s.Set("examples", tree.NewArray(example))
	} else if !slices.ContainsFunc(list.Items, example.Equal) {
		list.Items = append(list.Items, example)
	}
}
