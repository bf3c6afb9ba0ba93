package rewrite

import (
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// groups are the keywords that mean something only together (2020-12 core, 10.2.2 and 10.3).
var (
	groups = [][]string{{"properties", "patternProperties", "additionalProperties"}, tupleGroup, {"if", "then", "else"},
		{"contains", "minContains", "maxContains"}}
	tupleGroup = []string{"prefixItems", "items"}
)

// inGroup reports whether a keyword belongs to a group.
func inGroup(key string) bool {
	return slices.ContainsFunc(groups, func(group []string) bool { return slices.Contains(group, key) })
}

// intersectGroup gives dst the keywords of a group from src: if dst has none of them or the same,
// or, for tuples of one length, item by item. It returns false if they do not fit.
func (r *Schema) intersectGroup(dst, src *tree.Node, group []string, at *tree.Path, open *refStack) bool {
	none, same := true, true
	for _, key := range group {
		mine, other := dst.Get(key), src.Get(key)
		none = none && mine == nil
		same = same && (mine == other || mine.Equal(other))
	}
	switch {
	case same:
		return true
	case none:
		for _, key := range group {
			if val := src.Get(key); val != nil {
				dst.Set(key, val)
			}
		}
		return true
	}
	return slices.Equal(group, tupleGroup) && r.intersectItems(dst, src, at, open)
}

// intersectItems intersects the items and prefixItems of two schemas.
func (r *Schema) intersectItems(dst, src *tree.Node, at *tree.Path, open *refStack) bool {
	mine, other := dst.Get("prefixItems"), src.Get("prefixItems")
	if (mine == nil) != (other == nil) || mine != nil && (!mine.Is(tree.Array) || !other.Is(tree.Array) || len(mine.Items) != len(other.Items)) {
		return false
	}
	for i, item := range mine.List() {
		mine.Items[i] = r.intersectSchemas(item, other.Items[i], at.At("prefixItems").At(strconv.Itoa(i)), open)
	}
	r.intersectMember(dst, src, "items", at, open)
	return true
}

// intersectMember intersects the schemas that two schemas have below one keyword.
func (r *Schema) intersectMember(dst, src *tree.Node, keyword string, at *tree.Path, open *refStack) {
	mine, other := dst.Get(keyword), src.Get(keyword)
	switch {
	case mine == nil && other != nil:
		dst.Set(keyword, other)
	case other != nil:
		dst.Set(keyword, r.intersectSchemas(mine, other, at.At(keyword), open))
	}
}

// intersectProperties intersects the properties of two schemas. The additionalProperties of one
// apply only to what neither of them names: authors close each of two schemas and mean that the
// properties of both are allowed.
func (r *Schema) intersectProperties(dst, src *tree.Node, at *tree.Path, open *refStack) {
	if restrictsOther(dst, src) || restrictsOther(src, dst) {
		r.note(at, "additionalProperties of schemas that all apply is not applied to the properties that another of them names")
	}
	for _, key := range []string{"properties", "patternProperties"} {
		mine, other := dst.Get(key), src.Get(key)
		switch {
		case mine == nil && other != nil:
			dst.Set(key, other)
		case mine != nil && other != nil:
			mergeMembers(mine, other, func(name string, a, b *tree.Node) *tree.Node {
				return r.intersectSchemas(a, b, at.At(key).At(name), open)
			})
		}
	}
	r.intersectMember(dst, src, "additionalProperties", at, open)
}

// restrictsOther reports whether the additionalProperties of a schema restrict a property that
// only another one names.
func restrictsOther(s, other *tree.Node) bool {
	additional, properties := s.Get("additionalProperties"), other.Get("properties")
	if additional == nil || acceptsAll(additional) || !properties.Is(tree.Object) {
		return false
	}
	named := map[string]bool{}
	for _, m := range membersOf(s.Get("properties")) {
		named[m.Key] = true
	}
	return slices.ContainsFunc(properties.Members, func(m tree.Member) bool { return !named[m.Key] })
}

// mergeMembers adds the members of one object to another; both returns the value of a member that
// the two have. It returns false if one of them is not an object.
func mergeMembers(mine, other *tree.Node, both func(key string, a, b *tree.Node) *tree.Node) bool {
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

// mergeTexts adds the strings of an array to another one, each once. It returns false if one of
// them is not an array.
func mergeTexts(mine, other *tree.Node) bool {
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
