package toolformat

import (
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A keyMap knows the properties that a conversion has renamed, so that arguments in the
// new names can be given the tool's own, and those that it made nullable because they
// may not be left out. A nil keyMap changes nothing. One that a schema's recursion leads
// back to is part of itself.
type keyMap struct {
	original   map[string]string  // the tool's own key by the new one
	optional   map[string]bool    // properties whose null says that they are not given, by the new key
	properties map[string]*keyMap // what is changed below a property, by its new key
	additional *keyMap            // below properties that the schema does not name
	items      *keyMap            // below the items of an array
}

// restore gives arguments the tool's own keys, in place and in their order. A key that
// is the tool's own already is left as it is; where the new one stands beside it, the
// new one counts, since that is what the model was told to write.
func (k *keyMap) restore(arguments *tree.Node) {
	switch {
	case k == nil || arguments == nil:
	case arguments.Is(tree.Array):
		for _, it := range arguments.Items {
			k.items.restore(it)
		}
	case arguments.Is(tree.Object):
		k.restoreMembers(arguments)
	}
}

func (k *keyMap) restoreMembers(object *tree.Node) {
	renamed := make(map[string]string, len(k.original))
	for name, original := range k.original {
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
		if k.optional[name] && m.Value.Is(tree.Null) {
			continue
		}
		if below, named := k.properties[name]; named {
			below.restore(m.Value)
		} else {
			k.additional.restore(m.Value)
		}
		if original, ok := k.original[name]; ok {
			m.Key = original
		}
		kept = append(kept, m)
	}
	object.Members = kept
}

// spell puts the names of a conversion for a tool's own, in the keys of a path; below is
// what is renamed there.
func (k *keyMap) spell(tokens []string) (spelled []string, below *keyMap) {
	spelled = slices.Clone(tokens)
	for i, token := range tokens {
		if k == nil {
			break
		}
		name := token
		for renamed, original := range k.original {
			if original == token {
				name = renamed
			}
		}
		spelled[i] = name
		next, named := k.properties[name]
		if !named {
			next = k.additional
		}
		if k.items != nil && tree.IsIndex(token) {
			next = k.items
		}
		k = next
	}
	return spelled, k
}
