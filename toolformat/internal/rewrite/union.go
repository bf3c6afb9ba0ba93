package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// branchProperties collects what the branches of a union say about each property.
type branchProperties struct {
	names        []string // in order of appearance
	schemas      map[string][]*tree.Node
	openBranches map[string]int  // branches that name the property and allow others
	unlimited    map[string]bool // properties that some branch lets be anything
}

func newBranchProperties() *branchProperties {
	return &branchProperties{schemas: map[string][]*tree.Node{}, openBranches: map[string]int{}, unlimited: map[string]bool{}}
}

// addBranch adds the properties of a branch; closed means that it allows no others.
func (b *branchProperties) addBranch(properties *tree.Node, closed bool) {
	for _, m := range membersOf(properties) {
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
// that they do not name: the property may be anything if one of them does not name it.
func (b *branchProperties) property(name string, open int) *tree.Node {
	b.unlimited[name] = open > b.openBranches[name]
	return unionOf(b.schemas[name], b.unlimited[name])
}

// A unionBranch is a schema of a union and the descriptions that it came with.
type unionBranch struct {
	schema       *tree.Node
	descriptions []string
}

// unionOf returns a schema that accepts what any of several accepts: the schema itself if they are
// equal, one enum if they are lists of values, else an anyOf. With open set it accepts everything
// and still shows what is usual. The schemas are used up.
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
