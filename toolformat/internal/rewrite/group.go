package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// propertyKin, tupleKin, conditionKin and containsKin are keywords that mean something
// only together (2020-12 core, 10.2.2 and 10.3).
var (
	propertyKin  = []string{"properties", "patternProperties", "additionalProperties"}
	tupleKin     = []string{"prefixItems", "items"}
	conditionKin = []string{"if", "then", "else"}
	containsKin  = []string{"contains", "minContains", "maxContains"}
)

// isKin reports whether a keyword is one of those.
func isKin(key string) bool {
	return slices.ContainsFunc([][]string{propertyKin, tupleKin, conditionKin, containsKin}, func(kin []string) bool { return slices.Contains(kin, key) })
}

// meetKin puts keywords of src that mean something only together into dst: when dst has
// none of them or the same, or for tuples of one length item by item.
func (r *Schema) meetKin(dst, src *tree.Node, kin []string, at *tree.Path, open *references) bool {
	none, same := true, true
	for _, key := range kin {
		mine, other := dst.Get(key), src.Get(key)
		none = none && mine == nil
		same = same && (mine == other || mine.Equal(other))
	}
	switch {
	case same:
		return true
	case none:
		for _, key := range kin {
			if val := src.Get(key); val != nil {
				dst.Set(key, val)
			}
		}
		return true
	}
	return slices.Equal(kin, tupleKin) && r.meetItems(dst, src, at, open)
}

// meetItems makes dst's items and prefixItems those of both schemas.
func (r *Schema) meetItems(dst, src *tree.Node, at *tree.Path, open *references) bool {
	mine, other := dst.Get("prefixItems"), src.Get("prefixItems")
	if (mine == nil) != (other == nil) || mine != nil && (!mine.Is(tree.Array) || !other.Is(tree.Array) || len(mine.Items) != len(other.Items)) {
		return false
	}
	if mine != nil {
		for i := range mine.Items {
			mine.Items[i] = r.meetSchemas(mine.Items[i], other.Items[i], at.At("prefixItems").At(strconv.Itoa(i)), open)
		}
	}
	rest := dst.Get("items")
	switch more := src.Get("items"); {
	case rest == nil && more != nil:
		dst.Set("items", more)
	case more != nil:
		dst.Set("items", r.meetSchemas(rest, more, at.At("items"), open))
	}
	return true
}

// meetProperties makes dst's properties those of both schemas. What additionalProperties
// says in one of them is kept for what neither of them names: authors close each of two
// schemas and mean that both may speak.
func (r *Schema) meetProperties(dst, src *tree.Node, at *tree.Path, open *references) {
	if widened(dst, src) || widened(src, dst) {
		r.note(at, "additionalProperties of schemas that all hold is not applied to the properties that another of them names")
	}
	for _, key := range []string{"properties", "patternProperties"} {
		mine, other := dst.Get(key), src.Get(key)
		switch {
		case mine == nil && other != nil:
			dst.Set(key, other)
		case mine != nil && other != nil:
			meetMembers(mine, other, func(name string, a, b *tree.Node) *tree.Node { return r.meetSchemas(a, b, at.At(key).At(name), open) })
		}
	}
	mine, other := dst.Get("additionalProperties"), src.Get("additionalProperties")
	switch {
	case mine == nil && other != nil:
		dst.Set("additionalProperties", other)
	case mine != nil && other != nil:
		dst.Set("additionalProperties", r.meetSchemas(mine, other, at.At("additionalProperties"), open))
	}
}

// widened reports whether a schema's additionalProperties covers a property that only
// another one names.
func widened(s, other *tree.Node) bool {
	additional, properties := s.Get("additionalProperties"), other.Get("properties")
	if additional == nil || unconstrained(additional) || !properties.Is(tree.Object) {
		return false
	}
	named := map[string]bool{}
	if mine := s.Get("properties"); mine.Is(tree.Object) {
		for _, m := range mine.Members {
			named[m.Key] = true
		}
	}
	return slices.ContainsFunc(properties.Members, func(m tree.Member) bool { return !named[m.Key] })
}

// meetMembers puts the members of one object into another; both decides about those that
// stand in both.
func meetMembers(mine, other *tree.Node, both func(key string, a, b *tree.Node) *tree.Node) bool {
	if !mine.Is(tree.Object) || !other.Is(tree.Object) {
		return false
	}
	index := make(map[string]int, len(mine.Members))
	for i, m := range mine.Members {
		index[m.Key] = i
	}
	for _, m := range other.Members {
		if i, ok := index[m.Key]; ok {
			mine.Members[i].Value = both(m.Key, mine.Members[i].Value, m.Value)
		} else {
			mine.Members = append(mine.Members, m)
		}
	}
	return true
}

// joinTexts adds the strings of an array to another one.
func joinTexts(mine, other *tree.Node) bool {
	if !mine.Is(tree.Array) || !other.Is(tree.Array) {
		return false
	}
	has := make(map[string]bool, len(mine.Items))
	for _, it := range mine.Items {
		has[it.Text()] = true
	}
	for _, it := range other.Items {
		if !has[it.Text()] {
			has[it.Text()] = true
			mine.Items = append(mine.Items, it)
		}
	}
	return true
}
