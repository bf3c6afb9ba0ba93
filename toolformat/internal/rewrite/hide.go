package rewrite

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// HideProperties returns the schema of an object without some of its properties, neither declared
// nor required. Letter case does not count.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	r, err := New(schema, nil, "")
	if err != nil {
		return nil, err
	}
	Hide(names)(r)
	return r.Root.JSON(), nil
}

// Hide returns HideProperties as a pass.
func Hide(names []string) func(*Schema) {
	return func(r *Schema) {
		isHidden := func(key string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		}
		if properties := r.Root.Get("properties"); properties.Is(tree.Object) {
			properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool {
				if isHidden(m.Key) {
					r.note(r.base.At("properties").At(m.Key), "left out: the context fills it in, and models never see it")
				}
				return isHidden(m.Key)
			})
		}
		if required := r.Root.Get("required"); required.Is(tree.Array) && len(required.Items) > 0 {
			required.Items = slices.DeleteFunc(required.Items, func(it *tree.Node) bool { return it.Is(tree.Text) && isHidden(it.Text()) })
			if len(required.Items) == 0 {
				r.Root.Remove("required")
			}
		}
	}
}

// Spelling returns a name as a schema's properties spell it, which may be in another letter case.
func Spelling(properties *tree.Node, name string) string {
	if properties.Get(name) == nil {
		for _, m := range membersOf(properties) {
			if strings.EqualFold(m.Key, name) {
				return m.Key
			}
		}
	}
	return name
}
