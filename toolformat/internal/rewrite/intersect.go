package rewrite

import (
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
)

// A refStack holds the references that are being replaced, the innermost last, so that one that
// leads back to itself is not followed forever.
type refStack []string

func (open refStack) push(ref string) refStack { return append(slices.Clip(open), ref) }

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
func (r *Schema) expandReference(ref string, at *tree.Path, open refStack) *tree.Node {
	name, ok := definitionName(ref)
	target := r.Root.Get("$defs").Get(name)
	if !ok || target == nil || slices.Contains(open, ref) || len(at.Keys(nil)) > MaxDepth || !r.reserve(target) {
		return nil
	}
	return target.Clone()
}

// intersect makes dst accept only what src accepts too, as far as one schema can express that. The
// rest goes to dst's description, so that dst accepts at least what both accept. dst shares parts
// of src from then on.
func (r *Schema) intersect(dst, src *tree.Node, at *tree.Path, open refStack) {
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
func (r *Schema) intersectKeyword(dst *tree.Node, m tree.Member, at *tree.Path, open refStack) bool {
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
func (r *Schema) intersectValues(dst, mine *tree.Node, m tree.Member, at *tree.Path, open refStack) bool {
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
// express that. It is made of their parts.
func (r *Schema) intersectSchemas(a, b *tree.Node, at *tree.Path, open refStack) *tree.Node {
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
func (r *Schema) intersectGroup(dst, src *tree.Node, group []string, at *tree.Path, open refStack) bool {
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
func (r *Schema) intersectItems(dst, src *tree.Node, at *tree.Path, open refStack) bool {
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
func (r *Schema) intersectMember(dst, src *tree.Node, keyword string, at *tree.Path, open refStack) {
	mine, other := dst.Get(keyword), src.Get(keyword)
	switch {
	case other == nil:
	case mine == nil:
		dst.Set(keyword, other)
	case vocabulary.Keywords[keyword] == vocabulary.ManySchemas:
		mergeMembers(mine, other, func(name string, a, b *tree.Node) *tree.Node {
			return r.intersectSchemas(a, b, at.At(keyword).At(name), open)
		})
	default:
		dst.Set(keyword, r.intersectSchemas(mine, other, at.At(keyword), open))
	}
}

// intersectProperties intersects the properties of two schemas. The additionalProperties of one
// apply only to what neither of them names: authors close each of two schemas and mean that the
// properties of both are allowed.
func (r *Schema) intersectProperties(dst, src *tree.Node, at *tree.Path, open refStack) {
	if restrictsOther(dst, src) || restrictsOther(src, dst) {
		r.note(at, "additionalProperties of schemas that all apply is not applied to the properties that another of them names")
	}
	for _, key := range groups[0] {
		r.intersectMember(dst, src, key, at, open)
	}
}

// restrictsOther reports whether the additionalProperties of a schema restrict a property that
// only another one names.
func restrictsOther(s, other *tree.Node) bool {
	additional, properties := s.Get("additionalProperties"), other.Get("properties")
	if additional == nil || acceptsAll(additional) || !properties.Is(tree.Object) {
		return false
	}
	named := map[string]bool{}
	for _, m := range vocabulary.MembersOf(s.Get("properties")) {
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
