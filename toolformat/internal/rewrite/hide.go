package rewrite

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// HideProperties is what toolformat.HideProperties documents.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	r, err := New(schema, nil, "")
	if err != nil {
		return nil, err
	}
	h := hider{Schema: r, names: names, open: true}
	if !h.hide() {
		return schema, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return r.Root.JSON(), nil
}

// Hide is a pass that removes properties, in any letter case, from every schema. The other values
// stay valid: what a schema said about the removed ones is dropped.
func Hide(names []string) func(*Schema) {
	return func(r *Schema) { (&hider{Schema: r, names: names}).hide() }
}

// Mentions reports whether Hide would change a schema, or may do so.
func Mentions(root *tree.Node, names []string) bool {
	return len(names) > 0 && (&hider{names: names}).isMentioned(root)
}

// HiddenName returns the one of names that a key has, in any letter case: as a whole, or as a part of
// a key that stands for nested objects, such as filter[name] or filter.name. settable reports whether
// a value of that name belongs there: the name is not followed by another part.
func HiddenName(names []string, key string) (name string, settable, found bool) {
	for _, name := range names {
		if strings.EqualFold(name, key) {
			return name, true, true
		}
	}
	if !strings.ContainsAny(key, "[].") || strings.ContainsAny(key, " \t\n") {
		return "", false, false
	}
	parts := strings.FieldsFunc(key, func(r rune) bool { return strings.ContainsRune("[].", r) })
	for i, part := range parts {
		for _, name := range names {
			if strings.EqualFold(name, part) {
				return name, i == len(parts)-1, true
			}
		}
	}
	return "", false, false
}

// hasName reports whether a key has one of names.
func hasName(names []string, key string) bool {
	_, _, found := HiddenName(names, key)
	return found
}

// A hider removes properties.
type hider struct {
	*Schema
	names   []string
	open    bool         // an object that loses a property may have others
	changed []*tree.Node // schemas that accept more than before
}

// hide reports whether a name occurs at all.
func (h *hider) hide() bool {
	if len(h.names) == 0 || !h.isMentioned(h.Root) {
		return false
	}
	h.inlineReferences()
	h.each(h.hideIn)
	h.relaxAbove(h.changed, false)
	h.renameDefinitions()
	return true
}

// isHidden reports whether a key, or a pattern that only a key matches, is one of the names.
func (h *hider) isHidden(key string) bool { return hasName(h.names, strings.Trim(key, "^$")) }

// isMentioned reports whether a value is one of the names or has one as a key, at any depth.
func (h *hider) isMentioned(n *tree.Node) bool {
	return vocabulary.AnyValue(n, func(n *tree.Node) bool { return h.isName(n) || h.hasKey(n) })
}

func (h *hider) isName(n *tree.Node) bool { return n.Is(tree.Text) && h.isHidden(n.Text()) }

func (h *hider) hasKey(n *tree.Node) bool {
	return slices.ContainsFunc(n.Members, func(m tree.Member) bool { return h.isHidden(m.Key) })
}

// inlineReferences replaces the references if one leads through a hidden property, or to a part of
// the document that no keyword makes a schema, which goes if it has one.
func (h *hider) inlineReferences() {
	x := h.resolveReferences()
	through := func(s *reference) bool {
		if len(s.tokens) == 2 && (s.tokens[0] == "$defs" || s.tokens[0] == "definitions") {
			return false // see renameDefinitions
		}
		return slices.ContainsFunc(s.tokens, h.isHidden)
	}
	outside := func(s *reference) bool { return s.target != nil && h.isMentioned(s.target) }
	if slices.ContainsFunc(x.refs, through) || slices.ContainsFunc(x.outside, outside) {
		inlinePathReferences(h.Schema)
	}
}

// hideIn removes the names from one schema.
func (h *hider) hideIn(s *tree.Node, at *tree.Path) {
	lost := h.cutMembers(s, at, "properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies")
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		for _, m := range vocabulary.MembersOf(s.Get(keyword)) {
			lost = h.cutTexts(m.Value) || lost
		}
	}
	if h.cutTexts(s.Get("required")) {
		lost = true
		if len(s.Get("required").Items) == 0 {
			s.Remove("required")
		}
	}
	if keys := s.Get("propertyNames"); keys != nil {
		lost = h.cutTexts(keys.Get("enum")) || lost
	}
	for _, keyword := range []string{"enum", "const"} {
		if value := s.Get(keyword); value != nil && vocabulary.AnyValue(value, h.hasKey) {
			h.fail(at.At(keyword), "it has a value with a property that is hidden: describe the property in properties instead")
		}
	}
	for _, keyword := range []string{"default", "example", "examples"} {
		Strip(s.Get(keyword), h.names)
	}
	s.Members = slices.DeleteFunc(s.Members, func(m tree.Member) bool { return h.isRemark(m.Key) && h.isMentioned(m.Value) })
	if lost {
		h.loosen(s)
	}
}

// isRemark reports whether a keyword holds neither schemas nor names nor values: it is an annotation
// or unknown.
func (h *hider) isRemark(keyword string) bool {
	switch keyword {
	case "default", "example", "examples", "$schema", "$id", "$anchor", "$dynamicAnchor":
		return false
	}
	return vocabulary.Keywords[keyword] == vocabulary.NoSchema && vocabulary.Assertions[keyword] == 0
}

// cutMembers removes the hidden members of the values of keywords.
func (h *hider) cutMembers(s *tree.Node, at *tree.Path, keywords ...string) (cut bool) {
	for _, keyword := range keywords {
		object := s.Get(keyword)
		if !object.Is(tree.Object) || !h.hasKey(object) {
			continue
		}
		cut = true
		object.Members = slices.DeleteFunc(object.Members, func(m tree.Member) bool {
			hidden := h.isHidden(m.Key)
			if hidden && keyword == "properties" {
				h.note(at.At(keyword).At(m.Key), "left out: the context fills it in, and models never see it")
			}
			return hidden
		})
	}
	return cut
}

// cutTexts removes the hidden names of an array.
func (h *hider) cutTexts(list *tree.Node) bool {
	before := len(list.List())
	if before == 0 {
		return false
	}
	list.Items = slices.DeleteFunc(list.Items, h.isName)
	return len(list.Items) < before
}

// loosen drops what counts the properties of a schema that has lost one.
func (h *hider) loosen(s *tree.Node) {
	h.changed = append(h.changed, s)
	s.Remove("minProperties")
	if h.open {
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if s.Get(keyword) != nil && s.Get(keyword).IsBool(false) {
				s.Remove(keyword)
			}
		}
	}
}

// renameDefinitions gives definitions with a hidden name another one, and removes those that
// nothing refers to.
func (h *hider) renameDefinitions() {
	if !slices.ContainsFunc(h.definitionsOf(), h.hasKey) {
		return
	}
	h.moveSchemas(func(x *refGraph) {
		for _, defs := range h.definitionsOf() {
			taken := newNames(defs)
			defs.Members = slices.DeleteFunc(defs.Members, func(m tree.Member) bool {
				referred := slices.ContainsFunc(x.parents[m.Value], func(p parent) bool { return p.keyword == "$ref" })
				return h.isHidden(m.Key) && !referred
			})
			for i, m := range defs.Members {
				if h.isHidden(m.Key) {
					defs.Members[i].Key = taken.unused("definition")
				}
			}
		}
	})
}

// definitionsOf returns the values of all $defs and definitions.
func (h *hider) definitionsOf() (all []*tree.Node) {
	h.each(func(s *tree.Node, _ *tree.Path) {
		for _, keyword := range []string{"$defs", "definitions"} {
			if defs := s.Get(keyword); defs.Is(tree.Object) {
				all = append(all, defs)
			}
		}
	})
	return all
}

// Strip removes the members of a value whose keys are hidden names, at any depth, and reports
// whether there were any.
func Strip(n *tree.Node, names []string) (stripped bool) {
	if n == nil || len(names) == 0 {
		return false
	}
	before := len(n.Members)
	n.Members = slices.DeleteFunc(n.Members, func(m tree.Member) bool { return hasName(names, m.Key) })
	stripped = len(n.Members) < before
	for _, m := range n.Members {
		stripped = Strip(m.Value, names) || stripped
	}
	for _, it := range n.Items {
		stripped = Strip(it, names) || stripped
	}
	return stripped
}
