package rewrite

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// HideProperties is the schema of an object without some of its properties, which it
// does not require any more either. Names count in any letter case, as Acorn compares
// them (FunctionDefinition.removeContext). The error says why the schema cannot be read.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	r, err := New(schema, nil, "")
	if err != nil {
		return nil, err
	}
	Hide(names)(r)
	return r.Root.JSON(), nil
}

// Spelling is a name as one of the properties of a schema is spelled, when there is one
// of it in another letter case.
func Spelling(properties *tree.Node, name string) string {
	if properties.Is(tree.Object) && properties.Get(name) == nil {
		for _, m := range properties.Members {
			if strings.EqualFold(m.Key, name) {
				return m.Key
			}
		}
	}
	return name
}

// Hide is HideProperties as a pass.
func Hide(names []string) func(*Schema) {
	return func(r *Schema) {
		isHidden := func(key string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		}
		if properties := r.Root.Get("properties"); properties.Is(tree.Object) {
			properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool {
				if isHidden(m.Key) {
					r.note(r.base.At("properties").At(m.Key), "is left out: its context fills it in, and a model never sees it")
				}
				return isHidden(m.Key)
			})
		}
		if required := r.Root.Get("required"); required.Is(tree.Array) {
			before := len(required.Items)
			required.Items = slices.DeleteFunc(required.Items, func(it *tree.Node) bool { return it.Is(tree.Text) && isHidden(it.Text()) })
			if len(required.Items) == 0 && before > 0 {
				r.Root.Remove("required")
			}
		}
	}
}
