package toolformat

import (
	"slices"
	"strconv"
	"strings"
)

// A state is the schemas that judge one value together: one and what it leads to by
// $ref, allOf, anyOf, if and their like. From the root's state others follow, property
// by property and down to the items, so that all schemas that see a key are known.
type state struct {
	schemas    []*node
	names      []string // of the properties, in order
	properties map[string]*state
	additional *state
	items      *state
}

// A stateGraph holds the states of a root, that of the arguments first.
type stateGraph struct {
	states []*state
	known  map[string]*state
	ids    map[*node]int
	work   int // steps that may still be done
	root   *node
	named  map[string]*node // the definitions
}

// maxStateWork bounds the states of a schema whose unions overlap in every way. What is
// not reached is not renamed.
const maxStateWork = 20 * maxSchemaNodes

func newStateGraph(root *node) *stateGraph {
	g := &stateGraph{known: map[string]*state{}, ids: map[*node]int{}, work: maxStateWork, root: root, named: map[string]*node{}}
	if definitions := root.get("$defs"); definitions.is(objectNode) {
		for _, m := range definitions.members {
			g.named[m.key] = m.val
		}
	}
	g.state([]*node{root})
	for i := 0; i < len(g.states); i++ {
		g.follow(g.states[i])
	}
	return g
}

// state is the state of some schemas, with all that judges the same value; nil for none.
func (g *stateGraph) state(schemas []*node) *state {
	all := make([]*node, 0, len(schemas))
	seen := map[*node]bool{}
	add := func(s *node) {
		if s.is(objectNode) && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	for _, s := range schemas {
		add(s)
	}
	for i := 0; i < len(all); i++ {
		g.inPlace(all[i], add)
	}
	if g.work -= len(all); len(all) == 0 || g.work < 0 {
		return nil
	}
	ids := make([]int, len(all))
	for i, s := range all {
		if _, ok := g.ids[s]; !ok {
			g.ids[s] = len(g.ids)
		}
		ids[i] = g.ids[s]
	}
	slices.Sort(ids)
	var key strings.Builder
	for _, id := range ids {
		key.WriteString(strconv.Itoa(id) + " ")
	}
	if st := g.known[key.String()]; st != nil {
		return st
	}
	st := &state{schemas: all, properties: map[string]*state{}}
	g.known[key.String()] = st
	g.states = append(g.states, st)
	return st
}

// inPlace adds the schemas that judge the same value as s (2020-12 core, 10.2, and $ref).
func (g *stateGraph) inPlace(s *node, add func(*node)) {
	for _, m := range s.members {
		switch m.key {
		case "allOf", "anyOf", "oneOf":
			if m.val.is(arrayNode) {
				for _, it := range m.val.items {
					add(it)
				}
			}
		case "not", "if", "then", "else":
			add(m.val)
		case "dependentSchemas":
			for _, below := range m.val.members {
				add(below.val)
			}
		case "$ref":
			if name, ok := definitionName(m.val.text()); ok {
				add(g.named[name])
			} else if m.val.text() == "#" {
				add(g.root)
			}
		}
	}
}

// follow finds the states right below one.
func (g *stateGraph) follow(st *state) {
	var items, rest []*node
	declared := make([]map[string]*node, len(st.schemas)) // properties by schema
	others := make([][]*node, len(st.schemas))            // what judges those that it does not declare
	seen := map[string]bool{}
	for i, s := range st.schemas {
		declared[i] = map[string]*node{}
		for _, m := range s.members {
			switch m.key {
			case "properties":
				for _, p := range m.val.members {
					if declared[i][p.key] = p.val; !seen[p.key] {
						seen[p.key] = true
						st.names = append(st.names, p.key)
					}
				}
			case "patternProperties":
				for _, p := range m.val.members {
					others[i] = append(others[i], p.val)
				}
			case "additionalProperties", "unevaluatedProperties":
				others[i] = append(others[i], m.val)
			case "items", "contains", "unevaluatedItems":
				items = append(items, m.val)
			case "prefixItems":
				items = append(items, m.val.items...)
			}
		}
		rest = append(rest, others[i]...)
	}
	for _, name := range st.names {
		var below []*node
		for i := range st.schemas {
			if p, ok := declared[i][name]; ok {
				below = append(below, p)
			} else {
				below = append(below, others[i]...)
			}
		}
		if g.work -= len(st.schemas); g.work < 0 {
			return
		}
		st.properties[name] = g.state(below)
	}
	st.additional, st.items = g.state(rest), g.state(items)
}

// renames are what has become of the properties of one schema.
type renames struct {
	original map[string]string // the tool's own key by the new one
	optional map[string]bool   // may not be left out any more, and take null for it
}

// keyMap is the way back for arguments, from the renames of each schema; nil when none
// is reached.
func (g *stateGraph) keyMap(changed map[*node]*renames) *keyMap {
	maps := make(map[*state]*keyMap, len(g.states))
	live := map[*state]bool{nil: false}
	for _, st := range g.states {
		maps[st] = st.changes(changed)
		live[st] = maps[st].original != nil || maps[st].optional != nil
	}
	for again := true; again; {
		again = false
		for _, st := range slices.Backward(g.states) {
			if !live[st] && (live[st.additional] || live[st.items] || slices.ContainsFunc(st.names, func(name string) bool { return live[st.properties[name]] })) {
				live[st], again = true, true
			}
		}
	}
	for _, st := range g.states {
		k := maps[st]
		if live[st.additional] {
			k.additional = maps[st.additional]
		}
		if live[st.items] {
			k.items = maps[st.items]
		}
		for _, name := range st.names {
			if below := st.properties[name]; live[below] {
				k.put(name, maps[below])
			} else if k.additional != nil {
				k.put(name, &keyMap{}) // not one of the additional ones
			}
		}
	}
	if !live[g.states[0]] {
		return nil
	}
	return maps[g.states[0]]
}

func (k *keyMap) put(name string, below *keyMap) {
	if k.properties == nil {
		k.properties = map[string]*keyMap{}
	}
	k.properties[name] = below
}

// changes are the renames of all schemas of a state. A property is only optional where
// every schema that declares it says so: another one may mean null.
func (st *state) changes(changed map[*node]*renames) *keyMap {
	k := &keyMap{}
	for _, s := range st.schemas {
		c := changed[s]
		if c == nil {
			continue
		}
		for name, original := range c.original {
			if k.original == nil {
				k.original = map[string]string{}
			}
			k.original[name] = original
		}
		for name := range c.optional {
			if k.optional == nil {
				k.optional = map[string]bool{}
			}
			k.optional[name] = true
		}
	}
	for _, s := range st.schemas {
		properties := s.get("properties")
		if !properties.is(objectNode) || k.optional == nil {
			continue
		}
		for _, m := range properties.members {
			if c := changed[s]; c == nil || !c.optional[m.key] {
				delete(k.optional, m.key)
			}
		}
	}
	return k
}
