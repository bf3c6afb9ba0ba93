package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// eachUp visits the schemas that stay in a dialect of few keywords, children before
// parents. Those below not, if and contains are not visited: there a schema that accepts
// more makes the whole accept less, and the keyword is taken out as it was written.
func eachUp(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	kept := s
	if slices.ContainsFunc(s.Members, func(m tree.Member) bool { return inverted[m.Key] }) {
		kept = tree.NewObject(s.Members...)
		kept.Members = slices.DeleteFunc(slices.Clone(s.Members), func(m tree.Member) bool { return inverted[m.Key] })
	}
	vocabulary.EachChild(kept, at, func(child *tree.Node, at *tree.Path) { eachUp(child, at, visit) })
	visit(s, at)
}

var inverted = map[string]bool{"contains": true, "if": true, "not": true}

// mergeAllOf makes the branches of every allOf part of the schema that it stands in:
// OpenAI's strict mode refuses allOf (notion-mcp-server#102), Gemini does not list it,
// Ollama's struct has no field for it. What does not fit into one schema is described.
//
// Definitions come first: where two references meet, one is put in, and is then merged.
func mergeAllOf(r *Schema) {
	if definitions := r.Root.Get("$defs"); definitions.Is(tree.Object) {
		eachUp(tree.NewObject(tree.NewMember("$defs", definitions)), r.base, func(s *tree.Node, at *tree.Path) { r.mergeAllOf(s, at, nil) })
	}
	eachUp(r.Root, r.base, func(s *tree.Node, at *tree.Path) { r.mergeAllOf(s, at, nil) })
}

func (r *Schema) mergeAllOf(s *tree.Node, at *tree.Path, open *references) {
	left := maxBranches
	for s.Get("allOf") != nil {
		all := s.Remove("allOf")
		if !all.Is(tree.Array) {
			return // no schema: whoever checks it says so
		}
		r.note(at, `"allOf" is part of the schema itself now: %s takes none`, r.dialect)
		for i, branch := range r.bounded(s, all, &left, at) {
			below := at.At("allOf").At(strconv.Itoa(i))
			switch {
			case branch.Is(tree.Bool) && !branch.IsTrue():
				r.note(below, "the branch false refuses everything: left out")
			case branch.Is(tree.Object):
				r.meet(s, branch, below, open)
			}
		}
	}
}

// oneOfToAnyOf writes anyOf for oneOf, which OpenAI's strict mode refuses, Ollama's
// struct has no field for, and Gemini reads as anyOf (googleapis/go-genai, comment on
// ParametersJsonSchema). That only one may match is described where it is not plain
// from the branches.
func oneOfToAnyOf(r *Schema) {
	eachUp(r.Root, r.base, func(s *tree.Node, at *tree.Path) {
		i := slices.IndexFunc(s.Members, func(m tree.Member) bool { return m.Key == "oneOf" })
		switch {
		case i < 0:
		case s.Get("anyOf") != nil:
			r.leave(s, tree.NewObject(tree.NewMember("oneOf", s.Remove("oneOf"))), at)
		default:
			branches := s.Members[i].Value
			s.Members[i].Key = "anyOf"
			if disjoint(branches) {
				r.note(at, `"oneOf" is "anyOf" now: %s takes no "oneOf"`, r.dialect)
				return
			}
			(&phraser{}).describe(s, []string{"exactly one of the alternatives"})
			r.note(at, `"oneOf" is "anyOf" now, and the description tells that exactly one may match: %s takes no "oneOf"`, r.dialect)
		}
	})
}

// disjoint reports whether no instance can match two of some schemas, as far as their
// types or the constants of a property that all require tell.
func disjoint(branches *tree.Node) bool {
	if !branches.Is(tree.Array) || len(branches.Items) > maxBranches {
		return false
	}
	for i, a := range branches.Items {
		for _, b := range branches.Items[:i] {
			if !apart(a, b) && !apartByProperty(a, b) {
				return false
			}
		}
	}
	return true
}

// apart reports whether the types or the constants of two schemas exclude each other.
func apart(a, b *tree.Node) bool {
	if x, y := constant(a), constant(b); x != nil && y != nil {
		return !x.Equal(y)
	}
	mine, theirs := typesOf(a), typesOf(b)
	if len(mine) == 0 || len(theirs) == 0 {
		return false
	}
	return !slices.ContainsFunc(mine, func(name string) bool {
		return slices.Contains(theirs, name) || name == "integer" && slices.Contains(theirs, "number") || name == "number" && slices.Contains(theirs, "integer")
	})
}

// apartByProperty reports whether two object schemas tell themselves apart by the value
// of a property.
func apartByProperty(a, b *tree.Node) bool {
	theirs := b.Get("required")
	return slices.ContainsFunc(textsOf(a.Get("required")), func(name string) bool {
		return hasText(theirs, name) && apart(a.Get("properties").Get(name), b.Get("properties").Get(name)) &&
			slices.Equal(typesOf(a), []string{"object"}) && slices.Equal(typesOf(b), []string{"object"})
	})
}

// constToEnum writes an enum of one value for const, which Gemini has trouble with
// (python-genai#1732) and Ollama's struct has no field for. The type is added where it
// is missing; it follows from the value.
func constToEnum(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		i := slices.IndexFunc(s.Members, func(m tree.Member) bool { return m.Key == "const" })
		if i < 0 {
			return
		}
		value := s.Members[i].Value
		if e := s.Get("enum"); e != nil {
			s.Remove("const")
			if !e.Is(tree.Array) || !slices.ContainsFunc(e.Items, value.Equal) {
				r.note(at, "const %s and enum %s contradict each other, so that nothing is accepted: const is kept", value.Short(), e.Short())
			}
			s.Set("enum", tree.NewArray(value))
		} else {
			s.Members[i] = tree.NewMember("enum", tree.NewArray(value))
			r.note(at, `"const" is an "enum" of one value now: %s does not take it`, r.dialect)
		}
		if s.Get("type") == nil {
			s.Set("type", tree.NewText(typeOf(value)))
		}
	})
}
