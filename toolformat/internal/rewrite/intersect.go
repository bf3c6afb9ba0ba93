package rewrite

import (
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// A refStack holds the references that are being replaced, the innermost first, so that one that
// leads back to itself is not followed forever. The nil refStack is empty.
type refStack struct {
	ref string
	up  *refStack
}

func (open *refStack) push(ref string) *refStack { return &refStack{ref, open} }

func (open *refStack) contains(ref string) bool {
	return open != nil && (open.ref == ref || open.up.contains(ref))
}

// definitionName returns the name of the definition of the root that a reference leads to; ok is
// false for any other reference.
func definitionName(ref string) (name string, ok bool) {
	name, ok = strings.CutPrefix(ref, "#/$defs/")
	if !ok || strings.Contains(name, "/") {
		return "", false
	}
	if decoded, err := url.PathUnescape(name); err == nil { // a reference is a URI (RFC 6901, 6)
		name = decoded
	}
	return tree.ParsePointer("/" + name)[0], true
}

// expandReference returns a copy of a definition; nil if there is none of that name, if it is being
// expanded already, or if the schema would become too large or too deep.
func (r *Schema) expandReference(ref string, at *tree.Path, open *refStack) *tree.Node {
	name, ok := definitionName(ref)
	target := r.Root.Get("$defs").Get(name)
	if !ok || target == nil || open.contains(ref) || len(at.Keys(nil)) > MaxDepth || !r.reserve(target) {
		return nil
	}
	return target.Clone()
}

// intersect makes dst accept only what src accepts too, as far as one schema can express that. The
// rest goes to dst's description, so that dst accepts at least what both accept. src is used up.
func (r *Schema) intersect(dst, src *tree.Node, at *tree.Path, open *refStack) {
	rest := tree.NewObject()
	r.intersectProperties(dst, src, at, open)
	for _, group := range groups[1:] { // without properties
		if !r.intersectGroup(dst, src, group, at, open) {
			for _, key := range group {
				if val := src.Get(key); val != nil {
					rest.Set(key, val)
				}
			}
		}
	}
	for _, m := range src.Members {
		if !inGroup(m.Key) && !r.intersectKeyword(dst, m, at, open) {
			rest.Set(m.Key, m.Value)
		}
	}
	r.describeRest(dst, rest, at)
}

// evaluating lists the keywords that decide which values unevaluatedProperties and
// unevaluatedItems are about (2020-12 core, 11): without one of them, these would refuse what it
// had named.
var evaluating = map[string]bool{
	"$dynamicRef": true, "$ref": true, "allOf": true, "anyOf": true, "contains": true, "dependentSchemas": true, "else": true, "if": true,
	"items": true, "oneOf": true, "prefixItems": true, "then": true, "unevaluatedItems": true, "unevaluatedProperties": true,
}

// describeRest describes in dst the members of a schema that dst cannot express.
func (r *Schema) describeRest(dst, rest *tree.Node, at *tree.Path) {
	if len(rest.Members) == 0 {
		return
	}
	if slices.ContainsFunc(rest.Members, func(m tree.Member) bool { return evaluating[m.Key] }) {
		for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
			if val := dst.Remove(key); val != nil && rest.Get(key) == nil {
				rest.Set(key, val)
			}
		}
	}
	d := &describer{}
	d.addPhrases(dst, d.phrases(rest, rest.Members))
	r.note(at, "%s of schemas that all apply cannot be expressed in one: moved into the description%s", quotedKeys(rest.Members), d.remark())
}

// intersectKeyword adds one keyword of src to dst; false means that dst cannot express it.
func (r *Schema) intersectKeyword(dst *tree.Node, m tree.Member, at *tree.Path, open *refStack) bool {
	mine := dst.Get(m.Key)
	switch {
	case m.Key == "description" && mine != nil:
		if text := m.Value.Text(); text != "" && !strings.Contains(mine.Text(), text) {
			(&describer{}).addSentence(dst, text)
		}
		return true
	case m.Key == "allOf" && mine.Is(tree.Array) && m.Value.Is(tree.Array):
		mine.Items = append(mine.Items, m.Value.Items...)
		return true
	case uninformative[m.Key]:
		return true
	case mine == nil:
		dst.Set(m.Key, m.Value)
		return true
	case mine.Equal(m.Value):
		return true
	}
	return r.intersectValues(dst, mine, m, at, open)
}

// intersectValues adds a keyword of src to dst, which has another value for it.
func (r *Schema) intersectValues(dst, mine *tree.Node, m tree.Member, at *tree.Path, open *refStack) bool {
	switch m.Key {
	case "type":
		return r.intersectTypes(dst, m.Value, at)
	case "enum":
		return r.intersectEnums(mine, m.Value, at)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		return tightenBound(dst, mine, m, 1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		return tightenBound(dst, mine, m, -1)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		dst.Set(m.Key, tree.NewBool(mine.IsBool(true) || m.Value.IsBool(true)))
		return true
	case "required":
		return mergeTexts(mine, m.Value)
	case "dependentRequired":
		return mergeMembers(mine, m.Value, func(_ string, a, b *tree.Node) *tree.Node { mergeTexts(a, b); return a })
	case "dependentSchemas":
		return mergeMembers(mine, m.Value, func(key string, a, b *tree.Node) *tree.Node {
			return r.intersectSchemas(a, b, at.At(m.Key).At(key), open)
		})
	case "unevaluatedProperties", "unevaluatedItems": // src's evaluates everything, so that dst's would apply to nothing
		r.describeRest(dst, tree.NewObject(tree.NewMember(m.Key, dst.Remove(m.Key))), at)
		dst.Set(m.Key, m.Value)
		return true
	case "propertyNames":
		dst.Set(m.Key, r.intersectSchemas(mine, m.Value, at.At(m.Key), open))
		return true
	case "$ref":
		target := r.expandReference(m.Value.Text(), at, open)
		if target.Is(tree.Object) {
			r.intersect(dst, target, at, open.push(m.Value.Text()))
		}
		return target.Is(tree.Object)
	}
	return false
}

// intersectSchemas returns a schema that accepts what a and b both accept, as far as one schema can
// express that. Both are used up.
func (r *Schema) intersectSchemas(a, b *tree.Node, at *tree.Path, open *refStack) *tree.Node {
	switch {
	case a.IsBool(true), a.Equal(b):
		return b
	case b.IsBool(true):
		return a
	case a.Is(tree.Bool), b.Is(tree.Bool):
		return tree.NewBool(false)
	case a.Is(tree.Object) && b.Is(tree.Object): // else the check of the schema refuses it
		r.intersect(a, b, at, open)
	}
	return a
}

// intersectTypes keeps the types that both have; an integer is a number.
func (r *Schema) intersectTypes(dst, other *tree.Node, at *tree.Path) bool {
	mine, theirs := typesOf(dst), typesOf(tree.NewObject(tree.NewMember("type", other)))
	var both []string
	for _, name := range mine {
		switch {
		case includesType(theirs, name):
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

// intersectEnums keeps the values that both have.
func (r *Schema) intersectEnums(mine, other *tree.Node, at *tree.Path) bool {
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

// tightenBound keeps the larger of two numbers; with direction -1 the smaller.
func tightenBound(dst, mine *tree.Node, m tree.Member, direction int) bool {
	a, b := numberOf(mine), numberOf(m.Value)
	if a == nil || b == nil {
		return false
	}
	if b.Cmp(a) == direction {
		dst.Set(m.Key, m.Value)
	}
	return true
}

// numberOf returns the value of a number; nil for another kind, or if it is too large to compute
// with.
func numberOf(n *tree.Node) *big.Rat {
	if !n.Is(tree.Number) {
		return nil
	}
	return tree.Rational(n.Raw)
}
