package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A join collects, property by property, what the branches of a union say of it.
type join struct {
	names   []string // in the order in which they come
	schemas map[string][]*tree.Node
	opens   map[string]int  // branches that name the property and are open to others
	opened  map[string]bool // properties that some branch lets be anything
}

func newJoin() *join {
	return &join{schemas: map[string][]*tree.Node{}, opens: map[string]int{}, opened: map[string]bool{}}
}

// add takes the properties of a branch; shut says that it takes no others.
func (j *join) add(properties *tree.Node, shut bool) {
	if !properties.Is(tree.Object) {
		return
	}
	for _, m := range properties.Members {
		if _, known := j.schemas[m.Key]; !known {
			j.names = append(j.names, m.Key)
		}
		j.schemas[m.Key] = append(j.schemas[m.Key], m.Value)
		if !shut {
			j.opens[m.Key]++
		}
	}
}

// schema is what a property may be, when so many branches are open to properties that
// they do not name: where one of those says nothing of this one, it may be anything.
func (j *join) schema(name string, open int) *tree.Node {
	j.opened[name] = open > j.opens[name]
	return either(j.schemas[name], j.opened[name])
}

// An alternative is a schema that a union offers, and the descriptions it came with.
type alternative struct {
	schema *tree.Node
	about  []string
}

// either is a schema that accepts what one of several accepts: itself when they are the
// same, one enum where they are lists of values, else an anyOf. With open set it accepts
// everything, and still shows what it usually is. The schemas are used up.
func either(schemas []*tree.Node, open bool) *tree.Node {
	var kinds []*alternative
	var about []string // of those that accept everything
	for _, s := range schemas {
		text := s.Remove("description").Text()
		known := slices.IndexFunc(kinds, func(k *alternative) bool { return k.schema.Equal(s) || addValues(k, s, text) })
		switch {
		case unconstrained(s), len(kinds) > maxBranches:
			open = true
			about = addText(about, text)
		case s.Is(tree.Bool): // false: nothing
		case known >= 0:
			kinds[known].about = addText(kinds[known].about, text)
		default:
			kinds = append(kinds, &alternative{s, addText(nil, text)})
		}
	}
	return alternatives(kinds, about, open)
}

func addText(all []string, text string) []string {
	if text == "" || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// alternatives is a schema of several. A description that only one has, or that all
// share, stands above them.
func alternatives(kinds []*alternative, about []string, open bool) *tree.Node {
	switch {
	case len(kinds) == 0 && !open:
		return tree.NewBool(false)
	case len(kinds) == 1 && !open:
		s := kinds[0].schema
		if len(kinds[0].about) > 0 {
			s.Set("description", tree.NewText(strings.Join(kinds[0].about, " / ")))
		}
		return s
	}
	told := about
	for _, k := range kinds {
		for _, text := range k.about {
			told = addText(told, text)
		}
	}
	s, list := tree.NewObject(), tree.NewArray()
	if len(told) == 1 {
		about = told
	}
	if len(about) > 0 {
		s.Set("description", tree.NewText(strings.Join(about, " / ")))
	}
	for _, k := range kinds {
		if len(k.about) > 0 && len(told) > 1 {
			k.schema.Set("description", tree.NewText(strings.Join(k.about, " / ")))
		}
		list.Items = append(list.Items, k.schema)
	}
	if open {
		list.Items = append(list.Items, tree.NewObject())
	}
	if len(list.Items) > 1 {
		s.Set("anyOf", list)
	}
	return s
}

// addValues makes an alternative that is a list of values accept those of s too, when s
// is another one and no description sets them apart.
func addValues(k *alternative, s *tree.Node, text string) bool {
	if !isValues(k.schema) || !isValues(s) || text != "" && !slices.Equal(k.about, []string{text}) || text == "" && len(k.about) > 0 {
		return false
	}
	a, b := valuesOf(k.schema), valuesOf(s)
	if len(a)+len(b) > maxBranches || len(a) == 0 || len(b) == 0 {
		return false
	}
	all := tree.NewArray(a...)
	for _, v := range b {
		if !slices.ContainsFunc(all.Items, v.Equal) {
			all.Items = append(all.Items, v)
		}
	}
	var types []string
	for _, v := range all.Items {
		types = addText(types, typeOf(v))
	}
	k.schema.Remove("const")
	setTypes(k.schema, types)
	k.schema.Set("enum", all)
	return true
}

// isValues reports whether a schema is a list of values and nothing else.
func isValues(s *tree.Node) bool {
	c, e := s.Get("const"), s.Get("enum")
	return (c == nil) != (e == nil) && (e == nil || e.Is(tree.Array)) && !slices.ContainsFunc(s.Members, func(m tree.Member) bool {
		return vocabulary.Assertions[m.Key] && !slices.Contains([]string{"type", "const", "enum"}, m.Key)
	})
}

// valuesOf are the values that such a schema accepts.
func valuesOf(s *tree.Node) []*tree.Node {
	all := []*tree.Node{s.Get("const")}
	if e := s.Get("enum"); e != nil {
		all = e.Items
	}
	types := typesOf(s)
	return slices.DeleteFunc(slices.Clone(all), func(v *tree.Node) bool {
		name := typeOf(v)
		return len(types) > 0 && !slices.Contains(types, name) && (name != "integer" || !slices.Contains(types, "number"))
	})
}
