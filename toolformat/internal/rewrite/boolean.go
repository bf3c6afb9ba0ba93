package rewrite

import (
	"math/big"
	"slices"
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// dropBooleans writes the schemas true and false (2020-12 core, 4.3.2) as objects, for providers
// that take nothing else: Ollama refuses the whole request, OpenAI's strict mode the tool. Those of
// additionalProperties, unevaluatedProperties and unevaluatedItems stay: every provider knows them.
func dropBooleans(r *Schema) {
	var widened []*tree.Node
	r.each(func(s *tree.Node, at *tree.Path) {
		if !s.Is(tree.Object) {
			return
		}
		b := booleanPass{Schema: r, schema: s, at: at}
		b.properties()
		b.arrays()
		b.branches()
		b.otherKeywords()
		if b.widened {
			widened = append(widened, s)
		}
	})
	r.relaxAbove(widened, false)
}

// booleanPass replaces the boolean schemas directly below one schema.
type booleanPass struct {
	*Schema
	schema  *tree.Node
	at      *tree.Path
	widened bool // the schema accepts more than before
}

// never returns an object schema that accepts nothing.
func never() *tree.Node { return tree.NewObject(tree.NewMember("not", tree.NewObject())) }

// toObject writes a boolean schema as an object.
func (b *booleanPass) toObject(s *tree.Node, at *tree.Path) {
	if s.IsBool(true) {
		*s = *tree.NewObject()
		b.note(at, "true replaced by {}, which accepts everything too")
	} else if s.IsBool(false) {
		*s = *never()
		b.note(at, `false replaced by {"not":{}}, which accepts nothing either`)
	}
}

// properties removes the properties that are false: they must not be given. The description says
// so unless no other properties are allowed anyway.
func (b *booleanPass) properties() {
	properties := b.schema.Get("properties")
	if !properties.Is(tree.Object) {
		return
	}
	at := b.at.At("properties")
	forbidden := map[string]bool{}
	var listed []string
	properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool {
		if !m.Value.IsBool(false) {
			return false
		}
		b.note(at.At(m.Key), "false dropped: the property must not be given")
		forbidden[m.Key] = true
		listed = append(listed, quoteShort(m.Key))
		return true
	})
	for _, m := range properties.Members {
		b.toObject(m.Value, at.At(m.Key))
	}
	if len(forbidden) == 0 {
		return
	}
	if required := b.schema.Get("required"); required.Is(tree.Array) {
		required.Items = slices.DeleteFunc(required.Items, func(it *tree.Node) bool {
			drop := forbidden[it.Text()]
			if drop {
				b.note(b.at.At("required"), "%s dropped: the property must not be given", it.Short())
				b.widened = true
			}
			return drop
		})
	}
	if !isClosed(b.schema) {
		b.widened = true
		(&describer{}).addSentence(b.schema, "Must not be given: "+wording.List(listed)+".")
	}
}

// arrays ends an array where its items are false.
func (b *booleanPass) arrays() {
	length := 0
	if prefix := b.schema.Get("prefixItems"); prefix.Is(tree.Array) {
		length = len(prefix.Items)
		end := slices.IndexFunc(prefix.Items, func(it *tree.Node) bool { return it.IsBool(false) })
		if end >= 0 {
			b.note(b.at.At("prefixItems").At(strconv.Itoa(end)), "false replaced by maxItems %d", end)
			b.lowerLimit("maxItems", end)
			prefix.Items = prefix.Items[:end]
		}
		for i, it := range prefix.Items {
			b.toObject(it, b.at.At("prefixItems").At(strconv.Itoa(i)))
		}
		if end == 0 {
			b.schema.Remove("prefixItems")
		}
	}
	b.falseToLimit("items", "maxItems", length)
	b.falseToLimit("propertyNames", "maxProperties", 0)
}

// falseToLimit replaces a keyword that is false by a limit.
func (b *booleanPass) falseToLimit(keyword, limit string, most int) {
	if b.schema.Get(keyword).IsBool(false) {
		b.note(b.at.At(keyword), "false replaced by %s %d", limit, most)
		b.schema.Remove(keyword)
		b.lowerLimit(limit, most)
	}
}

// lowerLimit sets a limit unless there is a lower one.
func (b *booleanPass) lowerLimit(keyword string, most int) {
	if limit := numberOf(b.schema.Get(keyword)); limit == nil || limit.Cmp(big.NewRat(int64(most), 1)) > 0 {
		b.schema.Set(keyword, &tree.Node{Kind: tree.Number, Raw: strconv.Itoa(most)})
	}
}

// branches removes the branches of anyOf and oneOf that are false, and those of allOf that are
// true.
func (b *booleanPass) branches() {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list := b.schema.Get(keyword)
		if !list.Is(tree.Array) || !slices.ContainsFunc(list.Items, func(it *tree.Node) bool { return it.Is(tree.Bool) }) {
			continue
		}
		left := tree.NewArray()
		for i, it := range list.Items {
			at := b.at.At(keyword).At(strconv.Itoa(i))
			if it.IsBool(keyword == "allOf") {
				b.note(at, "%s dropped: it changes nothing", it.Raw)
				continue
			}
			b.toObject(it, at)
			left.Items = append(left.Items, it)
		}
		switch {
		case len(left.Items) > 0:
			b.schema.Set(keyword, left)
		case keyword == "allOf":
			b.schema.Remove(keyword)
		default:
			b.schema.Set(keyword, tree.NewArray(never()))
		}
	}
}

// otherKeywords replaces the booleans that need no other change.
func (b *booleanPass) otherKeywords() {
	if b.schema.Get("not").IsBool(false) {
		b.note(b.at.At("not"), "false dropped: every value is not false")
		b.schema.Remove("not")
	}
	vocabulary.EachChild(b.schema, b.at, func(keyword string, child *tree.Node, at *tree.Path) {
		if keyword != "additionalProperties" && keyword != "unevaluatedProperties" && keyword != "unevaluatedItems" {
			b.toObject(child, at)
		}
	})
}
