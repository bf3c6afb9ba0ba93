package toolformat

import (
	"slices"
	"strings"
)

// A join collects, property by property, what the branches of a union say of it.
type join struct {
	names   []string // in the order in which they come
	schemas map[string][]*node
	opens   map[string]int  // branches that name the property and are open to others
	opened  map[string]bool // properties that some branch lets be anything
}

func newJoin() *join {
	return &join{schemas: map[string][]*node{}, opens: map[string]int{}, opened: map[string]bool{}}
}

// add takes the properties of a branch; shut says that it takes no others.
func (j *join) add(properties *node, shut bool) {
	if !properties.is(objectNode) {
		return
	}
	for _, m := range properties.members {
		if _, known := j.schemas[m.key]; !known {
			j.names = append(j.names, m.key)
		}
		j.schemas[m.key] = append(j.schemas[m.key], m.val)
		if !shut {
			j.opens[m.key]++
		}
	}
}

// schema is what a property may be, when so many branches are open to properties that
// they do not name: where one of those says nothing of this one, it may be anything.
func (j *join) schema(name string, open int) *node {
	j.opened[name] = open > j.opens[name]
	return either(j.schemas[name], j.opened[name])
}

// An alternative is a schema that a union offers, and the descriptions it came with.
type alternative struct {
	schema *node
	about  []string
}

// either is a schema that accepts what one of several accepts: itself when they are the
// same, one enum where they are lists of values, else an anyOf. With open set it accepts
// everything, and still shows what it usually is. The schemas are used up.
func either(schemas []*node, open bool) *node {
	var kinds []*alternative
	var about []string // of those that accept everything
	for _, s := range schemas {
		text := s.cut("description").text()
		known := slices.IndexFunc(kinds, func(k *alternative) bool { return k.schema.equal(s) || addValues(k, s, text) })
		switch {
		case unconstrained(s), len(kinds) > maxBranches:
			open = true
			about = addText(about, text)
		case s.is(boolNode): // false: nothing
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
func alternatives(kinds []*alternative, about []string, open bool) *node {
	switch {
	case len(kinds) == 0 && !open:
		return newBool(false)
	case len(kinds) == 1 && !open:
		s := kinds[0].schema
		if len(kinds[0].about) > 0 {
			s.set("description", newText(strings.Join(kinds[0].about, " / ")))
		}
		return s
	}
	told := about
	for _, k := range kinds {
		for _, text := range k.about {
			told = addText(told, text)
		}
	}
	s, list := newObject(), newArray()
	if len(told) == 1 {
		about = told
	}
	if len(about) > 0 {
		s.set("description", newText(strings.Join(about, " / ")))
	}
	for _, k := range kinds {
		if len(k.about) > 0 && len(told) > 1 {
			k.schema.set("description", newText(strings.Join(k.about, " / ")))
		}
		list.items = append(list.items, k.schema)
	}
	if open {
		list.items = append(list.items, newObject())
	}
	if len(list.items) > 1 {
		s.set("anyOf", list)
	}
	return s
}

// addValues makes an alternative that is a list of values accept those of s too, when s
// is another one and no description sets them apart.
func addValues(k *alternative, s *node, text string) bool {
	if !isValues(k.schema) || !isValues(s) || text != "" && !slices.Equal(k.about, []string{text}) || text == "" && len(k.about) > 0 {
		return false
	}
	a, b := valuesOf(k.schema), valuesOf(s)
	if len(a)+len(b) > maxBranches || len(a) == 0 || len(b) == 0 {
		return false
	}
	all := newArray(a...)
	for _, v := range b {
		if !slices.ContainsFunc(all.items, v.equal) {
			all.items = append(all.items, v)
		}
	}
	var types []string
	for _, v := range all.items {
		types = addText(types, typeOf(v))
	}
	k.schema.cut("const")
	setTypes(k.schema, types)
	k.schema.set("enum", all)
	return true
}

// isValues reports whether a schema is a list of values and nothing else.
func isValues(s *node) bool {
	c, e := s.get("const"), s.get("enum")
	return (c == nil) != (e == nil) && (e == nil || e.is(arrayNode)) && !slices.ContainsFunc(s.members, func(m member) bool {
		return assertions[m.key] && !slices.Contains([]string{"type", "const", "enum"}, m.key)
	})
}

// valuesOf are the values that such a schema accepts.
func valuesOf(s *node) []*node {
	all := []*node{s.get("const")}
	if e := s.get("enum"); e != nil {
		all = e.items
	}
	types := typesOf(s)
	return slices.DeleteFunc(slices.Clone(all), func(v *node) bool {
		name := typeOf(v)
		return len(types) > 0 && !slices.Contains(types, name) && (name != "integer" || !slices.Contains(types, "number"))
	})
}
