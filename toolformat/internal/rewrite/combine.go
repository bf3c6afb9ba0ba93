package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// eachUp visits the schemas that a dialect of few keywords keeps, children before parents. Those
// below not, if and contains are not visited: if they accepted more, the whole would accept less.
// These keywords are described as they were written.
func eachUp(s *tree.Node, at *tree.Path, visit func(s *tree.Node, at *tree.Path)) {
	kept := tree.NewObject(slices.DeleteFunc(slices.Clone(s.Members), func(m tree.Member) bool {
		return m.Key == "not" || m.Key == "if" || m.Key == "contains"
	})...)
	vocabulary.EachChild(kept, at, func(_ string, child *tree.Node, at *tree.Path) { eachUp(child, at, visit) })
	visit(s, at)
}

// mergeAllOf merges the branches of every allOf into the schema that has it: OpenAI's strict mode
// refuses allOf (notion-mcp-server#102), Gemini does not list it, Ollama's struct has no field for
// it. What one schema cannot express is described.
//
// Definitions come first: where two references meet, one is expanded, and is merged by then.
func mergeAllOf(r *Schema) {
	if definitions := r.Root.Get("$defs"); definitions.Is(tree.Object) {
		eachUp(tree.NewObject(tree.NewMember("$defs", definitions)), r.base, r.mergeAllOf)
	}
	eachUp(r.Root, r.base, r.mergeAllOf)
}

func (r *Schema) mergeAllOf(s *tree.Node, at *tree.Path) {
	left := maxBranches
	for s.Get("allOf") != nil {
		all := s.Remove("allOf")
		if !all.Is(tree.Array) {
			return // the check of the schema refuses it
		}
		r.note(at, `"allOf" merged into the schema: not supported by %s`, r.dialect)
		for i, branch := range r.takeBranches(s, all, &left, at) {
			below := at.At("allOf").At(strconv.Itoa(i))
			switch {
			case branch.IsBool(false):
				r.note(below, "the branch false left out: it refuses everything")
			case branch.Is(tree.Object):
				r.intersect(s, branch, below, nil)
			}
		}
	}
}

// oneOfToAnyOf replaces oneOf by anyOf: OpenAI's strict mode refuses oneOf, Ollama's struct has no
// field for it, and Gemini reads it as anyOf (googleapis/go-genai, comment on
// ParametersJsonSchema). That only one branch may match is described unless the branches show it.
func oneOfToAnyOf(r *Schema) {
	eachUp(r.Root, r.base, func(s *tree.Node, at *tree.Path) {
		branches := s.Get("oneOf")
		switch {
		case branches == nil:
		case s.Get("anyOf") != nil:
			r.describeRest(s, tree.NewObject(tree.NewMember("oneOf", s.Remove("oneOf"))), at)
		default:
			s.Rename("oneOf", "anyOf")
			if disjoint(branches) {
				r.note(at, `"oneOf" replaced by "anyOf": not supported by %s`, r.dialect)
				return
			}
			(&describer{}).addPhrases(s, []string{"exactly one of the alternatives"})
			r.note(at, `"oneOf" replaced by "anyOf", and the description tells that exactly one may match: not supported by %s`, r.dialect)
		}
	})
}

// disjoint reports whether no value can match two branches, as far as their types, or the constants
// of a property that both require, show it.
func disjoint(branches *tree.Node) bool {
	if !branches.Is(tree.Array) || len(branches.Items) > maxBranches {
		return false
	}
	for i, a := range branches.Items {
		if slices.ContainsFunc(branches.Items[:i], func(b *tree.Node) bool { return !exclusive(a, b) && !exclusiveByProperty(a, b) }) {
			return false
		}
	}
	return true
}

// exclusive reports whether the types or constants of two schemas exclude each other.
func exclusive(a, b *tree.Node) bool {
	if x, y := constant(a), constant(b); x != nil && y != nil {
		return !x.Equal(y)
	}
	mine, theirs := typesOf(a), typesOf(b)
	if len(mine) == 0 || len(theirs) == 0 {
		return false
	}
	return !slices.ContainsFunc(mine, func(name string) bool {
		return includesType(theirs, name) || name == "number" && slices.Contains(theirs, "integer")
	})
}

// exclusiveByProperty reports whether the value of a required property sets two object schemas
// apart.
func exclusiveByProperty(a, b *tree.Node) bool {
	object := []string{"object"}
	if !slices.Equal(typesOf(a), object) || !slices.Equal(typesOf(b), object) {
		return false
	}
	theirs := b.Get("required").Texts()
	return slices.ContainsFunc(a.Get("required").Texts(), func(name string) bool {
		return slices.Contains(theirs, name) && exclusive(a.Get("properties").Get(name), b.Get("properties").Get(name))
	})
}

// constToEnum replaces const by an enum of one value: Gemini has trouble with const
// (python-genai#1732), Ollama's struct has no field for it. A missing type is added.
func constToEnum(r *Schema) {
	r.each(func(s *tree.Node, at *tree.Path) {
		value := s.Get("const")
		if value == nil {
			return
		}
		if e := s.Get("enum"); e != nil {
			s.Remove("const")
			if !e.Is(tree.Array) || !slices.ContainsFunc(e.Items, value.Equal) {
				r.note(at, "const %s and enum %s contradict each other, so that nothing is accepted: const is kept", value.Short(), e.Short())
			}
			s.Set("enum", tree.NewArray(value))
		} else {
			s.Rename("const", "enum")
			s.Set("enum", tree.NewArray(value))
			r.note(at, `"const" replaced by an "enum" of one value: not supported by %s`, r.dialect)
		}
		if s.Get("type") == nil {
			s.Set("type", tree.NewText(typeOf(value)))
		}
	})
}
