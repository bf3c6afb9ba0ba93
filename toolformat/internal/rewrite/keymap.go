package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
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

// setProperty sets what changed below a property.
func (k *KeyMap) setProperty(name string, below *KeyMap) {
	if k.Properties == nil {
		k.Properties = map[string]*KeyMap{}
	}
	k.Properties[name] = below
}
