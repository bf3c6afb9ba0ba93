package rewrite

import (
	"slices"
	"strconv"
	"strings"

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

// branchProperties collects what the branches of a union say about each property.
type branchProperties struct {
	names        []string // in order of appearance
	schemas      map[string][]*tree.Node
	openBranches map[string]int // branches that name the property and allow others
}

// addBranch adds the properties of a branch; closed means that it allows no others.
func (b *branchProperties) addBranch(properties *tree.Node, closed bool) {
	for _, m := range vocabulary.MembersOf(properties) {
		if _, known := b.schemas[m.Key]; !known {
			b.names = append(b.names, m.Key)
		}
		b.schemas[m.Key] = append(b.schemas[m.Key], m.Value)
		if !closed {
			b.openBranches[m.Key]++
		}
	}
}

// property returns the union of a property's schemas. open is how many branches allow properties
// that they do not name: the property is unlimited, and may be anything, if one of them does not
// name it.
func (b *branchProperties) property(name string, open int) (union *tree.Node, unlimited bool) {
	unlimited = open > b.openBranches[name]
	return unionOf(b.schemas[name], unlimited), unlimited
}

// A unionBranch is a schema of a union and the descriptions that it came with.
type unionBranch struct {
	schema       *tree.Node
	descriptions []string
}

// unionOf returns a schema that accepts what any of several accepts: the schema itself if they are
// equal, one enum if they are lists of values, else an anyOf. With open set it accepts everything
// and still shows what is usual. The schemas become parts of it.
func unionOf(schemas []*tree.Node, open bool) *tree.Node {
	var branches []*unionBranch
	var about []string // descriptions of schemas that accept everything
	for _, s := range schemas {
		text := s.Remove("description").Text()
		known := slices.IndexFunc(branches, func(b *unionBranch) bool { return b.schema.Equal(s) || addValues(b, s, text) })
		switch {
		case acceptsAll(s), len(branches) > maxBranches:
			open = true
			about = addText(about, text)
		case s.Is(tree.Bool): // false adds nothing
		case known >= 0:
			branches[known].descriptions = addText(branches[known].descriptions, text)
		default:
			branches = append(branches, &unionBranch{s, addText(nil, text)})
		}
	}
	switch {
	case len(branches) == 0 && !open:
		return tree.NewBool(false)
	case len(branches) == 1 && !open:
		setDescription(branches[0].schema, branches[0].descriptions)
		return branches[0].schema
	}
	return buildUnion(branches, about, open)
}

func addText(all []string, text string) []string {
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

func setDescription(s *tree.Node, texts []string) {
	if len(texts) > 0 {
		s.Set("description", tree.NewText(strings.Join(texts, " / ")))
	}
}

// buildUnion returns the anyOf of branches. A description that only one branch has, or that all
// share, becomes that of the union.
func buildUnion(branches []*unionBranch, about []string, open bool) *tree.Node {
	texts := about
	for _, b := range branches {
		for _, text := range b.descriptions {
			texts = addText(texts, text)
		}
	}
	s, list := tree.NewObject(), tree.NewArray()
	if len(texts) == 1 {
		about = texts
	}
	setDescription(s, about)
	for _, b := range branches {
		if len(texts) > 1 {
			setDescription(b.schema, b.descriptions)
		}
		list.Items = append(list.Items, b.schema)
	}
	if open {
		list.Items = append(list.Items, tree.NewObject())
	}
	if len(list.Items) > 1 {
		s.Set("anyOf", list)
	}
	return s
}

// addValues makes a branch that is a list of values accept those of s too, if s is another such
// list and no description sets them apart.
func addValues(b *unionBranch, s *tree.Node, text string) bool {
	if !isValues(b.schema) || !isValues(s) || !slices.Equal(b.descriptions, addText(nil, text)) {
		return false
	}
	mine, other := valuesOf(b.schema), valuesOf(s)
	if len(mine)+len(other) > maxBranches || len(mine) == 0 || len(other) == 0 {
		return false
	}
	all := tree.NewArray(mine...)
	for _, v := range other {
		if !slices.ContainsFunc(all.Items, v.Equal) {
			all.Items = append(all.Items, v)
		}
	}
	var types []string
	for _, v := range all.Items {
		types = addText(types, typeOf(v))
	}
	b.schema.Remove("const")
	setTypes(b.schema, types)
	b.schema.Set("enum", all)
	return true
}

// isValues reports whether a schema is a list of values and nothing else.
func isValues(s *tree.Node) bool {
	c, e := s.Get("const"), s.Get("enum")
	return (c == nil) != (e == nil) && (e == nil || e.Is(tree.Array)) && !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		return isAssertion(m) && !slices.Contains([]string{"type", "const", "enum"}, m.Key)
	})
}

// valuesOf returns the values that such a schema accepts.
func valuesOf(s *tree.Node) []*tree.Node {
	all := []*tree.Node{s.Get("const")}
	if e := s.Get("enum"); e != nil {
		all = e.Items
	}
	types := typesOf(s)
	return slices.DeleteFunc(slices.Clone(all), func(v *tree.Node) bool { return len(types) > 0 && !includesType(types, typeOf(v)) })
}
