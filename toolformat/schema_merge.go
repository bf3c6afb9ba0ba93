package toolformat

import (
	"math/big"
	"net/url"
	"slices"
	"strings"
)

// references are those that are being put in, the innermost first, so that one that
// leads back to itself is not followed for ever. A nil one is none.
type references struct {
	ref string
	up  *references
}

func (open *references) with(ref string) *references { return &references{ref, open} }

func (open *references) has(ref string) bool {
	for ; open != nil; open = open.up {
		if open.ref == ref {
			return true
		}
	}
	return false
}

// definitionName is the definition of the root's $defs that a reference names; ok is
// false for any other reference.
func definitionName(ref string) (name string, ok bool) {
	name, ok = strings.CutPrefix(ref, "#/$defs/")
	if !ok || strings.Contains(name, "/") {
		return "", false
	}
	if plain, err := url.PathUnescape(name); err == nil { // a reference is a URI (RFC 6901, 6)
		name = plain
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), true
}

// expand is a copy of what a reference names; nil when there is no such definition, when
// it is being put in already, or when the schema would become too large or too deep.
func (r *rewrite) expand(ref string, at *path, open *references) *node {
	name, ok := definitionName(ref)
	target := r.root.get("$defs").get(name)
	if !ok || target == nil || open.has(ref) || at.depth() > maxSchemaDepth || !r.spend(target) {
		return nil
	}
	return target.clone()
}

// meet makes dst accept only what src accepts too, as far as the keywords allow that in
// one schema. What does not fit is said in dst's description, so that dst accepts at
// least what both accept. src is used up.
func (r *rewrite) meet(dst, src *node, at *path, open *references) {
	left := newObject()
	r.meetProperties(dst, src, at, open)
	for _, kin := range [][]string{tupleKin, conditionKin, containsKin} {
		if !r.meetKin(dst, src, kin, at, open) {
			for _, key := range kin {
				if val := src.get(key); val != nil {
					left.set(key, val)
				}
			}
		}
	}
	for _, m := range src.members {
		if !isKin(m.key) && !r.meetKeyword(dst, m, at, open) {
			left.set(m.key, m.val)
		}
	}
	r.leave(dst, left, at)
}

// evaluating are the keywords that decide what unevaluatedProperties and
// unevaluatedItems are about (2020-12 core, 11): without one of them those would refuse
// what it had let pass.
var evaluating = map[string]bool{
	"$dynamicRef": true, "$ref": true, "allOf": true, "anyOf": true, "contains": true, "dependentSchemas": true, "else": true, "if": true,
	"items": true, "oneOf": true, "prefixItems": true, "then": true, "unevaluatedItems": true, "unevaluatedProperties": true,
}

// leave says in a description what of two schemas does not go into one.
func (r *rewrite) leave(dst, left *node, at *path) {
	p := &phraser{}
	if len(left.members) == 0 {
		return
	}
	if slices.ContainsFunc(left.members, func(m member) bool { return evaluating[m.key] }) {
		for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
			if val := dst.cut(key); val != nil && left.get(key) == nil {
				left.set(key, val)
			}
		}
	}
	p.describe(dst, p.phrases(left, left.members))
	r.note(at, "%s of schemas that all hold, which does not go into one, is told in the description%s", quotedKeys(left.members), cutRemark(p.cut))
}

// quotedKeys are the keys of members, for a note.
func quotedKeys(members []member) string {
	var keys []string
	for _, m := range members {
		keys = append(keys, quote(m.key))
	}
	return strings.Join(keys, ", ")
}

func cutRemark(cut bool) string {
	if cut {
		return ", shortened"
	}
	return ""
}

// meetKeyword puts one keyword of src into dst; false when it does not go.
func (r *rewrite) meetKeyword(dst *node, m member, at *path, open *references) bool {
	mine := dst.get(m.key)
	switch m.key {
	case "description":
		if mine == nil {
			dst.set(m.key, m.val)
		} else if text := m.val.text(); text != "" && !strings.Contains(mine.text(), text) {
			(&phraser{}).sentence(dst, text)
		}
		return true
	case "allOf":
		if mine.is(arrayNode) && m.val.is(arrayNode) {
			mine.items = append(mine.items, m.val.items...)
			return true
		}
	}
	switch {
	case silent[m.key]:
		return true
	case mine == nil:
		dst.set(m.key, m.val)
		return true
	case mine.equal(m.val):
		return true
	}
	return r.meetValues(dst, mine, m, at, open)
}

// meetValues puts a keyword of src into dst where both have one, with different values.
func (r *rewrite) meetValues(dst, mine *node, m member, at *path, open *references) bool {
	switch m.key {
	case "type":
		return r.meetTypes(dst, m.val, at)
	case "enum":
		return r.meetEnums(mine, m.val, at)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return meetBound(dst, mine, m, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return meetBound(dst, mine, m, -1)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		dst.set(m.key, newBool(mine.truth() || m.val.truth()))
		return true
	case "required":
		return joinTexts(mine, m.val)
	case "dependentRequired":
		return meetMembers(mine, m.val, func(_ string, a, b *node) *node { joinTexts(a, b); return a })
	case "dependentSchemas":
		return meetMembers(mine, m.val, func(key string, a, b *node) *node { return r.meetSchemas(a, b, at.at(m.key).at(key), open) })
	case "unevaluatedProperties", "unevaluatedItems": // src's evaluates all, so that one around it sees nothing left
		r.leave(dst, newObject(member{m.key, dst.cut(m.key)}), at)
		dst.set(m.key, m.val)
		return true
	case "propertyNames":
		dst.set(m.key, r.meetSchemas(mine, m.val, at.at(m.key), open))
		return true
	case "$ref":
		target := r.expand(m.val.text(), at, open)
		if target.is(objectNode) {
			r.meet(dst, target, at, open.with(m.val.text()))
		}
		return target.is(objectNode)
	}
	return false
}

// meetSchemas is a schema that accepts what a and b both accept, as far as that can be
// said in one. Both are used up.
func (r *rewrite) meetSchemas(a, b *node, at *path, open *references) *node {
	switch {
	case a.truth(), a.equal(b):
		return b
	case b.truth():
		return a
	case a.is(boolNode), b.is(boolNode):
		return newBool(false)
	case !a.is(objectNode) || !b.is(objectNode):
		return a // no schemas: whoever checks them says so
	}
	r.meet(a, b, at, open)
	return a
}

// meetTypes keeps the types that both have; an integer is a number.
func (r *rewrite) meetTypes(dst, other *node, at *path) bool {
	mine, theirs := typesOf(dst), typesOf(newObject(member{"type", other}))
	var both []string
	for _, name := range mine {
		switch {
		case slices.Contains(theirs, name), name == "integer" && slices.Contains(theirs, "number"):
			both = append(both, name)
		case name == "number" && slices.Contains(theirs, "integer"):
			both = append(both, "integer")
		}
	}
	if len(both) == 0 {
		r.note(at, "the types %s and %s contradict each other, so that nothing is accepted: the first is kept", dst.get("type").short(), other.short())
		return true
	}
	setTypes(dst, slices.Compact(both))
	return true
}

// maxComparisons bounds the work on two long enumerations.
const maxComparisons = 1_000_000

// meetEnums keeps the values that both have.
func (r *rewrite) meetEnums(mine, other *node, at *path) bool {
	if !mine.is(arrayNode) || !other.is(arrayNode) || len(mine.items)*len(other.items) > maxComparisons {
		return false
	}
	var both []*node
	for _, it := range mine.items {
		if slices.ContainsFunc(other.items, it.equal) {
			both = append(both, it)
		}
	}
	if len(both) == 0 {
		r.note(at, "%s and %s contradict each other, so that nothing is accepted: the first is kept", mine.short(), other.short())
		return true
	}
	mine.items = both
	return true
}

// meetBound keeps the larger of two numbers, or with direction -1 the smaller.
func meetBound(dst, mine *node, m member, direction int) bool {
	a, b := number(mine), number(m.val)
	if a == nil || b == nil {
		return false
	}
	if b.Cmp(a) == direction {
		dst.set(m.key, m.val)
	}
	return true
}

// number is the value of a node; nil for what is no number or too large to compute with.
func number(n *node) *big.Rat {
	if !n.is(numberNode) {
		return nil
	}
	return rational(n.raw)
}
