package toolformat

import (
	"encoding/json"
	"slices"
	"strings"
)

// HideProperties is the schema of an object without some of its properties, which it
// does not require any more either. Names count in any letter case, as Acorn compares
// them (FunctionDefinition.removeContext). The error says why the schema cannot be read.
func HideProperties(schema json.RawMessage, names []string) (json.RawMessage, error) {
	r, err := newRewrite(schema, nil, "")
	if err != nil {
		return nil, err
	}
	hideProperties(names)(r)
	return r.root.json(), nil
}

// spelling is a name as one of the properties of a schema is spelled, when there is one
// of it in another letter case.
func spelling(properties *node, name string) string {
	if properties.is(objectNode) && properties.get(name) == nil {
		for _, m := range properties.members {
			if strings.EqualFold(m.key, name) {
				return m.key
			}
		}
	}
	return name
}

// hideProperties is HideProperties as a pass.
func hideProperties(names []string) func(*rewrite) {
	return func(r *rewrite) {
		isHidden := func(key string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, key) })
		}
		if properties := r.root.get("properties"); properties.is(objectNode) {
			properties.members = slices.DeleteFunc(properties.members, func(m member) bool {
				if isHidden(m.key) {
					r.note(r.base.at("properties").at(m.key), "is left out: its context fills it in, and a model never sees it")
				}
				return isHidden(m.key)
			})
		}
		if required := r.root.get("required"); required.is(arrayNode) {
			before := len(required.items)
			required.items = slices.DeleteFunc(required.items, func(it *node) bool { return it.is(textNode) && isHidden(it.text()) })
			if len(required.items) == 0 && before > 0 {
				r.root.cut("required")
			}
		}
	}
}
