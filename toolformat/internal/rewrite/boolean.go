package rewrite

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// dropBooleans writes the schemas true and false (2020-12 core, 4.3.2) as objects, for
// providers that take nothing else: Ollama refuses the whole request, OpenAI's strict
// mode the tool. Those of additionalProperties, unevaluatedProperties and
// unevaluatedItems stay, where every provider knows them.
func dropBooleans(r *Schema) {
	var widened []*tree.Node
	r.each(func(s *tree.Node, at *tree.Path) {
		if !s.Is(tree.Object) {
			return
		}
		b := booleans{Schema: r, schema: s, at: at}
		b.properties()
		b.arrays()
		b.branches()
		b.others()
		if b.widened {
			widened = append(widened, s)
		}
	})
	r.loosen(widened, false)
}

// booleans writes those right below one schema.
type booleans struct {
	*Schema
	schema  *tree.Node
	at      *tree.Path
	widened bool
}

// always accepts everything, never nothing.
func always() *tree.Node { return tree.NewObject() }
func never() *tree.Node  { return tree.NewObject(tree.NewMember("not", tree.NewObject())) }

// asObject is a boolean schema as an object; others are returned as they are.
func (b *booleans) asObject(s *tree.Node, at *tree.Path) *tree.Node {
	switch {
	case !s.Is(tree.Bool):
		return s
	case s.IsTrue():
		b.note(at, "true is {}, which accepts everything too")
		return always()
	}
	b.note(at, `false is {"not":{}}, which accepts nothing either`)
	return never()
}

// properties: one that is false must not be given. It goes; the description says so,
// unless no other properties are allowed anyway.
func (b *booleans) properties() {
	properties := b.schema.Get("properties")
	if !properties.Is(tree.Object) {
		return
	}
	at := b.at.At("properties")
	closed := b.schema.Get("additionalProperties")
	isClosed := closed.Is(tree.Bool) && !closed.IsTrue()
	forbidden := map[string]bool{}
	var listed []string
	properties.Members = slices.DeleteFunc(properties.Members, func(m tree.Member) bool {
		if !m.Value.Is(tree.Bool) || m.Value.IsTrue() {
			return false
		}
		b.note(at.At(m.Key), "false is dropped: the property must not be given")
		forbidden[m.Key] = true
		listed = append(listed, fmt.Sprintf("%.60q", m.Key))
		return true
	})
	for i, m := range properties.Members {
		properties.Members[i].Value = b.asObject(m.Value, at.At(m.Key))
	}
	if len(forbidden) == 0 {
		return
	}
	if required := b.schema.Get("required"); required.Is(tree.Array) {
		required.Items = slices.DeleteFunc(required.Items, func(it *tree.Node) bool {
			drop := forbidden[it.Text()]
			if drop {
				b.note(b.at.At("required"), "%s is dropped: the property must not be given", it.Short())
				b.widened = true
			}
			return drop
		})
	}
	if !isClosed || b.schema.Get("patternProperties") != nil {
		b.widened = true
		(&phraser{}).sentence(b.schema, "Must not be given: "+wording.List(listed)+".")
	}
}

// arrays: where items are false the array ends.
func (b *booleans) arrays() {
	prefix := b.schema.Get("prefixItems")
	length := 0
	if prefix.Is(tree.Array) {
		length = len(prefix.Items)
		end := slices.IndexFunc(prefix.Items, func(it *tree.Node) bool { return it.Is(tree.Bool) && !it.IsTrue() })
		if end >= 0 {
			b.note(b.at.At("prefixItems").At(strconv.Itoa(end)), "false is maxItems %d", end)
			b.atMost("maxItems", end)
			prefix.Items = prefix.Items[:end]
		}
		for i, it := range prefix.Items {
			prefix.Items[i] = b.asObject(it, b.at.At("prefixItems").At(strconv.Itoa(i)))
		}
		if end == 0 {
			b.schema.Remove("prefixItems")
		}
	}
	if items := b.schema.Get("items"); items.Is(tree.Bool) && !items.IsTrue() {
		b.note(b.at.At("items"), "false is maxItems %d", length)
		b.schema.Remove("items")
		b.atMost("maxItems", length)
	}
	if names := b.schema.Get("propertyNames"); names.Is(tree.Bool) && !names.IsTrue() {
		b.note(b.at.At("propertyNames"), "false is maxProperties 0")
		b.schema.Remove("propertyNames")
		b.atMost("maxProperties", 0)
	}
}

// atMost sets a limit unless there is a lower one.
func (b *booleans) atMost(keyword string, most int) {
	if old := b.schema.Get(keyword); old.Is(tree.Number) {
		if limit := tree.Rational(old.Raw); limit != nil && limit.Cmp(new(big.Rat).SetInt64(int64(most))) <= 0 {
			return
		}
	}
	b.schema.Set(keyword, &tree.Node{Kind: tree.Number, Raw: strconv.Itoa(most)})
}

// branches: one of anyOf or oneOf that is false is never taken, one of allOf that is
// true asks for nothing.
func (b *booleans) branches() {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list := b.schema.Get(keyword)
		if !list.Is(tree.Array) || !slices.ContainsFunc(list.Items, func(it *tree.Node) bool { return it.Is(tree.Bool) }) {
			continue
		}
		left := tree.NewArray()
		for i, it := range list.Items {
			at := b.at.At(keyword).At(strconv.Itoa(i))
			if it.Is(tree.Bool) && it.IsTrue() == (keyword == "allOf") {
				b.note(at, "%s is dropped: it changes nothing", it.Raw)
				continue
			}
			left.Items = append(left.Items, b.asObject(it, at))
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

// others are the keywords where a boolean is an object without further thought.
func (b *booleans) others() {
	if not := b.schema.Get("not"); not.Is(tree.Bool) && !not.IsTrue() {
		b.note(b.at.At("not"), "false is dropped: everything is not false")
		b.schema.Remove("not")
	}
	for i, m := range b.schema.Members {
		switch below := vocabulary.Keywords[m.Key]; {
		case m.Key == "additionalProperties" || strings.HasPrefix(m.Key, "unevaluated"):
		case below == vocabulary.OneSchema || below == vocabulary.OneOrList:
			b.schema.Members[i].Value = b.asObject(m.Value, b.at.At(m.Key))
		case below == vocabulary.ManySchemas && m.Value.Is(tree.Object):
			for j, sub := range m.Value.Members {
				m.Value.Members[j].Value = b.asObject(sub.Value, b.at.At(m.Key).At(sub.Key))
			}
		}
	}
}
