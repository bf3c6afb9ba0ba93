package rewrite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A KeyMap undoes in arguments what passes did to the keys of a schema: it knows the properties
// that were renamed, and those that became nullable because they may not be left out. A nil
// KeyMap changes nothing. The KeyMap of a recursive schema contains itself.
type KeyMap struct {
	Original   map[string]string  // the tool's own key, by the new one
	Optional   map[string]bool    // properties whose null means that they are left out, by the new key
	Properties map[string]*KeyMap // what changed below a property, by the new key
	Additional *KeyMap            // below properties that the schema does not name
	Items      *KeyMap            // below the items of an array
}

// Restore gives arguments the tool's own keys, in place and in order. A key that is the tool's own
// is left alone. If the new key is there too, the new one counts: it is what the model was told to
// write.
func (k *KeyMap) Restore(arguments *tree.Node) {
	if k == nil || arguments == nil {
		return
	}
	for _, it := range arguments.Items {
		k.Items.Restore(it)
	}
	if arguments.Is(tree.Object) {
		k.restoreMembers(arguments)
	}
}

func (k *KeyMap) restoreMembers(object *tree.Node) {
	renamed := make(map[string]string, len(k.Original))
	for name, original := range k.Original {
		renamed[original] = name
	}
	given := make(map[string]bool, len(object.Members))
	for _, m := range object.Members {
		given[m.Key] = true
	}
	kept := object.Members[:0]
	for _, m := range object.Members {
		name := m.Key
		if other, ok := renamed[m.Key]; ok {
			if given[other] {
				continue
			}
			name = other
		}
		if k.Optional[name] && m.Value.Is(tree.Null) {
			continue
		}
		k.below(name).Restore(m.Value)
		if original, ok := k.Original[name]; ok {
			m.Key = original
		}
		kept = append(kept, m)
	}
	object.Members = kept
}

// below returns the KeyMap of a property, by its new key.
func (k *KeyMap) below(name string) *KeyMap {
	if below, named := k.Properties[name]; named {
		return below
	}
	return k.Additional
}

// Translate returns the keys of a path with the tool's own keys replaced by the new ones, and the
// KeyMap at its end.
func (k *KeyMap) Translate(path []string) (translated []string, below *KeyMap) {
	translated = slices.Clone(path)
	for i, key := range path {
		if k == nil {
			break
		}
		for renamed, original := range k.Original {
			if original == key {
				translated[i] = renamed
			}
		}
		if _, err := strconv.Atoi(key); err == nil && k.Items != nil {
			k = k.Items
		} else {
			k = k.below(translated[i])
		}
	}
	return translated, k
}

// A state is the set of schemas that apply to one value together: a schema and what it leads to by
// $ref, allOf, anyOf, if and the like. The states of the properties and items follow from it, so
// that all schemas that apply to a key are known.
type state struct {
	schemas    []*tree.Node
	names      []string // of the properties, in order
	properties map[string]*state
	additional *state
	items      *state
}

// A stateGraph holds the states of a root, that of the arguments first.
type stateGraph struct {
	states []*state
	known  map[string]*state // by the ids of the schemas
	ids    map[*tree.Node]int
	work   int // steps left
	root   *tree.Node
	index  tree.Index // of the definitions
}

// maxStateWork bounds the states of a schema whose unions overlap in every way. Beyond it nothing
// is renamed.
const maxStateWork = 20 * MaxNodes

func newStateGraph(root *tree.Node) *stateGraph {
	g := &stateGraph{known: map[string]*state{}, ids: map[*tree.Node]int{}, work: maxStateWork, root: root}
	g.stateOf([]*tree.Node{root})
	for i := 0; i < len(g.states); i++ {
		g.addNext(g.states[i])
	}
	return g
}

// stateOf returns the state of some schemas and all that apply to the same value; nil for none.
func (g *stateGraph) stateOf(schemas []*tree.Node) *state {
	all := make([]*tree.Node, 0, len(schemas))
	seen := map[*tree.Node]bool{}
	add := func(s *tree.Node) {
		if s.Is(tree.Object) && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	for _, s := range schemas {
		add(s)
	}
	for i := 0; i < len(all); i++ {
		g.addInPlace(all[i], add)
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

// addInPlace adds the schemas that apply to the same value as s.
func (g *stateGraph) addInPlace(s *tree.Node, add func(*tree.Node)) {
	if ref := s.Get("$ref").Text(); ref == "#" {
		add(g.root)
	} else if name, ok := definitionName(ref); ok {
		add(g.index.Find(g.root, "$defs", name))
	}
	vocabulary.EachChild(s, nil, func(keyword string, child *tree.Node, _ *tree.Path) {
		if vocabulary.InPlace(keyword) {
			add(child)
		}
	})
}

// addNext adds the states of the properties and items of a state.
func (g *stateGraph) addNext(st *state) {
	var items, rest []*tree.Node
	declared := make([]map[string]*tree.Node, len(st.schemas)) // properties, by schema
	others := make([][]*tree.Node, len(st.schemas))            // what applies to the others
	seen := map[string]bool{}
	for i, s := range st.schemas {
		declared[i] = map[string]*tree.Node{}
		vocabulary.EachChild(s, nil, func(keyword string, child *tree.Node, at *tree.Path) {
			switch keyword {
			case "properties":
				if declared[i][at.Key] = child; !seen[at.Key] {
					seen[at.Key] = true
					st.names = append(st.names, at.Key)
				}
			case "patternProperties", "additionalProperties", "unevaluatedProperties":
				others[i] = append(others[i], child)
			case "items", "contains", "unevaluatedItems", "prefixItems":
				items = append(items, child)
			}
		})
		rest = append(rest, others[i]...)
	}
	for _, name := range st.names {
		var below []*tree.Node
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
		st.properties[name] = g.stateOf(below)
	}
	st.additional, st.items = g.stateOf(rest), g.stateOf(items)
}

// keyChanges is what became of the properties of one schema.
type keyChanges struct {
	original map[string]string // the tool's own key, by the new one
	optional map[string]bool   // properties that may not be left out any more, and take null instead
}

// keyMap returns how to undo the changes in arguments; nil if no changed schema applies to them.
func (g *stateGraph) keyMap(changed map[*tree.Node]*keyChanges) *KeyMap {
	keyMaps := make(map[*state]*KeyMap, len(g.states))
	live := map[*state]bool{nil: false} // states that lead to a change
	for _, st := range g.states {
		keyMaps[st] = st.changesOf(changed)
		live[st] = len(keyMaps[st].Original)+len(keyMaps[st].Optional) > 0
	}
	for again := true; again; {
		again = false
		for _, st := range slices.Backward(g.states) {
			if !live[st] && (live[st.additional] || live[st.items] || slices.ContainsFunc(st.names, func(name string) bool { return live[st.properties[name]] })) {
				live[st], again = true, true
			}
		}
	}
	if !live[g.states[0]] {
		return nil
	}
	for _, st := range g.states {
		k := keyMaps[st]
		if live[st.additional] {
			k.Additional = keyMaps[st.additional]
		}
		if live[st.items] {
			k.Items = keyMaps[st.items]
		}
		for _, name := range st.names {
			if below := st.properties[name]; live[below] {
				k.Properties[name] = keyMaps[below]
			} else if k.Additional != nil {
				k.Properties[name] = &KeyMap{} // not an additional one
			}
		}
	}
	return keyMaps[g.states[0]]
}

// changesOf returns the changes of all schemas of a state. A property is optional only if every
// schema that declares it says so: another one may mean null.
func (st *state) changesOf(changed map[*tree.Node]*keyChanges) *KeyMap {
	k := &KeyMap{Original: map[string]string{}, Optional: map[string]bool{}, Properties: map[string]*KeyMap{}}
	for _, s := range st.schemas {
		if c := changed[s]; c != nil {
			maps.Copy(k.Original, c.original)
			maps.Copy(k.Optional, c.optional)
		}
	}
	for _, s := range st.schemas {
		if len(k.Optional) == 0 {
			break
		}
		for _, m := range vocabulary.MembersOf(s.Get("properties")) {
			if c := changed[s]; c == nil || !c.optional[m.Key] {
				delete(k.Optional, m.Key)
			}
		}
	}
	return k
}
