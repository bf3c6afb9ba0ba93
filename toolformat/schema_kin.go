package toolformat

import (
	"slices"
	"strconv"
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
func (r *rewrite) meetKin(dst, src *node, kin []string, at *path, open *references) bool {
	none, same := true, true
	for _, key := range kin {
		mine, other := dst.get(key), src.get(key)
		none = none && mine == nil
		same = same && (mine == other || mine.equal(other))
	}
	switch {
	case same:
		return true
	case none:
		for _, key := range kin {
			if val := src.get(key); val != nil {
				dst.set(key, val)
			}
		}
		return true
	}
	return slices.Equal(kin, tupleKin) && r.meetItems(dst, src, at, open)
}

// meetItems makes dst's items and prefixItems those of both schemas.
func (r *rewrite) meetItems(dst, src *node, at *path, open *references) bool {
	mine, other := dst.get("prefixItems"), src.get("prefixItems")
	if (mine == nil) != (other == nil) || mine != nil && (!mine.is(arrayNode) || !other.is(arrayNode) || len(mine.items) != len(other.items)) {
		return false
	}
	if mine != nil {
		for i := range mine.items {
			mine.items[i] = r.meetSchemas(mine.items[i], other.items[i], at.at("prefixItems").at(strconv.Itoa(i)), open)
		}
	}
	rest := dst.get("items")
	switch more := src.get("items"); {
	case rest == nil && more != nil:
		dst.set("items", more)
	case more != nil:
		dst.set("items", r.meetSchemas(rest, more, at.at("items"), open))
	}
	return true
}

// meetProperties makes dst's properties those of both schemas. What additionalProperties
// says in one of them is kept for what neither of them names: authors close each of two
// schemas and mean that both may speak.
func (r *rewrite) meetProperties(dst, src *node, at *path, open *references) {
	if widened(dst, src) || widened(src, dst) {
		r.note(at, "additionalProperties of schemas that all hold is not applied to the properties that another of them names")
	}
	for _, key := range []string{"properties", "patternProperties"} {
		mine, other := dst.get(key), src.get(key)
		switch {
		case mine == nil && other != nil:
			dst.set(key, other)
		case mine != nil && other != nil:
			meetMembers(mine, other, func(name string, a, b *node) *node { return r.meetSchemas(a, b, at.at(key).at(name), open) })
		}
	}
	mine, other := dst.get("additionalProperties"), src.get("additionalProperties")
	switch {
	case mine == nil && other != nil:
		dst.set("additionalProperties", other)
	case mine != nil && other != nil:
		dst.set("additionalProperties", r.meetSchemas(mine, other, at.at("additionalProperties"), open))
	}
}

// widened reports whether a schema's additionalProperties covers a property that only
// another one names.
func widened(s, other *node) bool {
	additional, properties := s.get("additionalProperties"), other.get("properties")
	if additional == nil || unconstrained(additional) || !properties.is(objectNode) {
		return false
	}
	named := map[string]bool{}
	if mine := s.get("properties"); mine.is(objectNode) {
		for _, m := range mine.members {
			named[m.key] = true
		}
	}
	return slices.ContainsFunc(properties.members, func(m member) bool { return !named[m.key] })
}

// meetMembers puts the members of one object into another; both decides about those that
// stand in both.
func meetMembers(mine, other *node, both func(key string, a, b *node) *node) bool {
	if !mine.is(objectNode) || !other.is(objectNode) {
		return false
	}
	index := make(map[string]int, len(mine.members))
	for i, m := range mine.members {
		index[m.key] = i
	}
	for _, m := range other.members {
		if i, ok := index[m.key]; ok {
			mine.members[i].val = both(m.key, mine.members[i].val, m.val)
		} else {
			mine.members = append(mine.members, m)
		}
	}
	return true
}

// joinTexts adds the strings of an array to another one.
func joinTexts(mine, other *node) bool {
	if !mine.is(arrayNode) || !other.is(arrayNode) {
		return false
	}
	has := make(map[string]bool, len(mine.items))
	for _, it := range mine.items {
		has[it.text()] = true
	}
	for _, it := range other.items {
		if !has[it.text()] {
			has[it.text()] = true
			mine.items = append(mine.items, it)
		}
	}
	return true
}
