package rewrite

import (
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
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
	return tree.ParsePointer("/" + name)[0], true
}

// expand is a copy of what a reference names; nil when there is no such definition, when
// it is being put in already, or when the schema would become too large or too deep.
func (r *Schema) expand(ref string, at *tree.Path, open *references) *tree.Node {
	name, ok := definitionName(ref)
	target := r.Root.Get("$defs").Get(name)
	if !ok || target == nil || open.has(ref) || len(at.Keys(nil)) > MaxDepth || !r.spend(target) {
		return nil
	}
	return target.Clone()
}

// meet makes dst accept only what src accepts too, as far as the keywords allow that in
// one schema. What does not fit is said in dst's description, so that dst accepts at
// least what both accept. src is used up.
func (r *Schema) meet(dst, src *tree.Node, at *tree.Path, open *references) {
	left := tree.NewObject()
	r.meetProperties(dst, src, at, open)
	for _, kin := range [][]string{tupleKin, conditionKin, containsKin} {
		if !r.meetKin(dst, src, kin, at, open) {
			for _, key := range kin {
				if val := src.Get(key); val != nil {
					left.Set(key, val)
				}
			}
		}
	}
	for _, m := range src.Members {
		if !isKin(m.Key) && !r.meetKeyword(dst, m, at, open) {
			left.Set(m.Key, m.Value)
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
func (r *Schema) leave(dst, left *tree.Node, at *tree.Path) {
	p := &phraser{}
	if len(left.Members) == 0 {
		return
	}
	if slices.ContainsFunc(left.Members, func(m tree.Member) bool { return evaluating[m.Key] }) {
		for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
			if val := dst.Remove(key); val != nil && left.Get(key) == nil {
				left.Set(key, val)
			}
		}
	}
	p.describe(dst, p.phrases(left, left.Members))
	r.note(at, "%s of schemas that all hold, which does not go into one, is told in the description%s", quotedKeys(left.Members), cutRemark(p.cut))
}

// quotedKeys are the keys of members, for a note.
func quotedKeys(members []tree.Member) string {
	var keys []string
	for _, m := range members {
		keys = append(keys, tree.Quote(m.Key))
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
func (r *Schema) meetKeyword(dst *tree.Node, m tree.Member, at *tree.Path, open *references) bool {
	mine := dst.Get(m.Key)
	switch m.Key {
	case "description":
		if mine == nil {
			dst.Set(m.Key, m.Value)
		} else if text := m.Value.Text(); text != "" && !strings.Contains(mine.Text(), text) {
			(&phraser{}).sentence(dst, text)
		}
		return true
	case "allOf":
		if mine.Is(tree.Array) && m.Value.Is(tree.Array) {
			mine.Items = append(mine.Items, m.Value.Items...)
			return true
		}
	}
	switch {
	case silent[m.Key]:
		return true
	case mine == nil:
		dst.Set(m.Key, m.Value)
		return true
	case mine.Equal(m.Value):
		return true
	}
	return r.meetValues(dst, mine, m, at, open)
}

// meetValues puts a keyword of src into dst where both have one, with different values.
func (r *Schema) meetValues(dst, mine *tree.Node, m tree.Member, at *tree.Path, open *references) bool {
	switch m.Key {
	case "type":
		return r.meetTypes(dst, m.Value, at)
	case "enum":
		return r.meetEnums(mine, m.Value, at)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return meetBound(dst, mine, m, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return meetBound(dst, mine, m, -1)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		dst.Set(m.Key, tree.NewBool(mine.IsTrue() || m.Value.IsTrue()))
		return true
	case "required":
		return joinTexts(mine, m.Value)
	case "dependentRequired":
		return meetMembers(mine, m.Value, func(_ string, a, b *tree.Node) *tree.Node { joinTexts(a, b); return a })
	case "dependentSchemas":
		return meetMembers(mine, m.Value, func(key string, a, b *tree.Node) *tree.Node { return r.meetSchemas(a, b, at.At(m.Key).At(key), open) })
	case "unevaluatedProperties", "unevaluatedItems": // src's evaluates all, so that one around it sees nothing left
		r.leave(dst, tree.NewObject(tree.NewMember(m.Key, dst.Remove(m.Key))), at)
		dst.Set(m.Key, m.Value)
		return true
	case "propertyNames":
		dst.Set(m.Key, r.meetSchemas(mine, m.Value, at.At(m.Key), open))
		return true
	case "$ref":
		target := r.expand(m.Value.Text(), at, open)
		if target.Is(tree.Object) {
			r.meet(dst, target, at, open.with(m.Value.Text()))
		}
		return target.Is(tree.Object)
	}
	return false
}

// meetSchemas is a schema that accepts what a and b both accept, as far as that can be
// said in one. Both are used up.
func (r *Schema) meetSchemas(a, b *tree.Node, at *tree.Path, open *references) *tree.Node {
	switch {
	case a.IsTrue(), a.Equal(b):
		return b
	case b.IsTrue():
		return a
	case a.Is(tree.Bool), b.Is(tree.Bool):
		return tree.NewBool(false)
	case !a.Is(tree.Object) || !b.Is(tree.Object):
		return a // no schemas: whoever checks them says so
	}
	r.meet(a, b, at, open)
	return a
}

// meetTypes keeps the types that both have; an integer is a number.
func (r *Schema) meetTypes(dst, other *tree.Node, at *tree.Path) bool {
	mine, theirs := typesOf(dst), typesOf(tree.NewObject(tree.NewMember("type", other)))
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
		r.note(at, "the types %s and %s contradict each other, so that nothing is accepted: the first is kept", dst.Get("type").Short(), other.Short())
		return true
	}
	setTypes(dst, slices.Compact(both))
	return true
}

// maxComparisons bounds the work on two long enumerations.
const maxComparisons = 1_000_000

// meetEnums keeps the values that both have.
func (r *Schema) meetEnums(mine, other *tree.Node, at *tree.Path) bool {
	if !mine.Is(tree.Array) || !other.Is(tree.Array) || len(mine.Items)*len(other.Items) > maxComparisons {
		return false
	}
	var both []*tree.Node
	for _, it := range mine.Items {
		if slices.ContainsFunc(other.Items, it.Equal) {
			both = append(both, it)
		}
	}
	if len(both) == 0 {
		r.note(at, "%s and %s contradict each other, so that nothing is accepted: the first is kept", mine.Short(), other.Short())
		return true
	}
	mine.Items = both
	return true
}

// meetBound keeps the larger of two numbers, or with direction -1 the smaller.
func meetBound(dst, mine *tree.Node, m tree.Member, direction int) bool {
	a, b := number(mine), number(m.Value)
	if a == nil || b == nil {
		return false
	}
	if b.Cmp(a) == direction {
		dst.Set(m.Key, m.Value)
	}
	return true
}

// number is the value of a node; nil for what is no number or too large to compute with.
func number(n *tree.Node) *big.Rat {
	if !n.Is(tree.Number) {
		return nil
	}
	return tree.Rational(n.Raw)
}
