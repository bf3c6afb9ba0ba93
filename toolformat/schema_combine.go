package toolformat

import (
	"slices"
	"strconv"
)

// eachUp visits the schemas that stay in a dialect of few keywords, children before
// parents. Those below not, if and contains are not visited: there a schema that accepts
// more makes the whole accept less, and the keyword is taken out as it was written.
func eachUp(s *node, at *path, visit func(s *node, at *path)) {
	kept := s
	if slices.ContainsFunc(s.members, func(m member) bool { return inverted[m.key] }) {
		kept = newObject(s.members...)
		kept.members = slices.DeleteFunc(slices.Clone(s.members), func(m member) bool { return inverted[m.key] })
	}
	eachChild(kept, at, func(child *node, at *path) { eachUp(child, at, visit) })
	visit(s, at)
}

var inverted = map[string]bool{"contains": true, "if": true, "not": true}

// mergeAllOf makes the branches of every allOf part of the schema that it stands in:
// OpenAI's strict mode refuses allOf (notion-mcp-server#102), Gemini does not list it,
// Ollama's struct has no field for it. What does not fit into one schema is described.
//
// Definitions come first: where two references meet, one is put in, and is then merged.
func mergeAllOf(r *rewrite) {
	if definitions := r.root.get("$defs"); definitions.is(objectNode) {
		eachUp(newObject(member{"$defs", definitions}), r.base, func(s *node, at *path) { r.mergeAllOf(s, at, nil) })
	}
	eachUp(r.root, r.base, func(s *node, at *path) { r.mergeAllOf(s, at, nil) })
}

func (r *rewrite) mergeAllOf(s *node, at *path, open *references) {
	left := maxBranches
	for s.get("allOf") != nil {
		all := s.cut("allOf")
		if !all.is(arrayNode) {
			return // no schema: whoever checks it says so
		}
		r.note(at, `"allOf" is part of the schema itself now: %s takes none`, r.dialect)
		for i, branch := range r.bounded(s, all, &left, at) {
			below := at.at("allOf").at(strconv.Itoa(i))
			switch {
			case branch.is(boolNode) && !branch.truth():
				r.note(below, "the branch false refuses everything: left out")
			case branch.is(objectNode):
				r.meet(s, branch, below, open)
			}
		}
	}
}

// oneOfToAnyOf writes anyOf for oneOf, which OpenAI's strict mode refuses, Ollama's
// struct has no field for, and Gemini reads as anyOf (googleapis/go-genai, comment on
// ParametersJsonSchema). That only one may match is described where it is not plain
// from the branches.
func oneOfToAnyOf(r *rewrite) {
	eachUp(r.root, r.base, func(s *node, at *path) {
		i := slices.IndexFunc(s.members, func(m member) bool { return m.key == "oneOf" })
		switch {
		case i < 0:
		case s.get("anyOf") != nil:
			r.leave(s, newObject(member{"oneOf", s.cut("oneOf")}), at)
		default:
			branches := s.members[i].val
			s.members[i].key = "anyOf"
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
func disjoint(branches *node) bool {
	if !branches.is(arrayNode) || len(branches.items) > maxBranches {
		return false
	}
	for i, a := range branches.items {
		for _, b := range branches.items[:i] {
			if !apart(a, b) && !apartByProperty(a, b) {
				return false
			}
		}
	}
	return true
}

// apart reports whether the types or the constants of two schemas exclude each other.
func apart(a, b *node) bool {
	if x, y := constant(a), constant(b); x != nil && y != nil {
		return !x.equal(y)
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
func apartByProperty(a, b *node) bool {
	theirs := b.get("required")
	return slices.ContainsFunc(textsOf(a.get("required")), func(name string) bool {
		return theirs.hasText(name) && apart(a.get("properties").get(name), b.get("properties").get(name)) &&
			slices.Equal(typesOf(a), []string{"object"}) && slices.Equal(typesOf(b), []string{"object"})
	})
}

// constToEnum writes an enum of one value for const, which Gemini has trouble with
// (python-genai#1732) and Ollama's struct has no field for. The type is added where it
// is missing; it follows from the value.
func constToEnum(r *rewrite) {
	r.each(func(s *node, at *path) {
		i := slices.IndexFunc(s.members, func(m member) bool { return m.key == "const" })
		if i < 0 {
			return
		}
		value := s.members[i].val
		if e := s.get("enum"); e != nil {
			s.cut("const")
			if !e.is(arrayNode) || !slices.ContainsFunc(e.items, value.equal) {
				r.note(at, "const %s and enum %s contradict each other, so that nothing is accepted: const is kept", value.short(), e.short())
			}
			s.set("enum", newArray(value))
		} else {
			s.members[i] = member{"enum", newArray(value)}
			r.note(at, `"const" is an "enum" of one value now: %s does not take it`, r.dialect)
		}
		if s.get("type") == nil {
			s.set("type", newText(typeOf(value)))
		}
	})
}
