package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A KeyMap knows the properties that a conversion has renamed, so that arguments in the
// new names can be given the tool's own, and those that it made nullable because they
// may not be left out. A nil keyMap changes nothing. One that a schema's recursion leads
// back to is part of itself.
type KeyMap struct {
	Original   map[string]string  // the tool's own key by the new one
	Optional   map[string]bool    // properties whose null says that they are not given, by the new key
	Properties map[string]*KeyMap // what is changed below a property, by its new key
	Additional *KeyMap            // below properties that the schema does not name
	Items      *KeyMap            // below the items of an array
}

// Restore gives arguments the tool's own keys, in place and in their order. A key that
// is the tool's own already is left as it is; where the new one stands beside it, the
// new one counts, since that is what the model was told to write.
func (k *KeyMap) Restore(arguments *tree.Node) {
	switch {
	case k == nil || arguments == nil:
	case arguments.Is(tree.Array):
		for _, it := range arguments.Items {
			k.Items.Restore(it)
		}
	case arguments.Is(tree.Object):
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
		if below, named := k.Properties[name]; named {
			below.Restore(m.Value)
		} else {
			k.Additional.Restore(m.Value)
		}
		if original, ok := k.Original[name]; ok {
			m.Key = original
		}
		kept = append(kept, m)
	}
	object.Members = kept
}

// Spell puts the names of a conversion for a tool's own, in the keys of a path; below is
// what is renamed there.
func (k *KeyMap) Spell(tokens []string) (spelled []string, below *KeyMap) {
	spelled = slices.Clone(tokens)
	for i, token := range tokens {
		if k == nil {
			break
		}
		name := token
		for renamed, original := range k.Original {
			if original == token {
				name = renamed
			}
		}
		spelled[i] = name
		next, named := k.Properties[name]
		if !named {
			next = k.Additional
		}
		if _, err := strconv.Atoi(token); err == nil && k.Items != nil {
			next = k.Items
		}
		k = next
	}
	return spelled, k
}
