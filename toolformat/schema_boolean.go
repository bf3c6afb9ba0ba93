package toolformat

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// dropBooleans writes the schemas true and false (2020-12 core, 4.3.2) as objects, for
// providers that take nothing else: Ollama refuses the whole request, OpenAI's strict
// mode the tool. Those of additionalProperties, unevaluatedProperties and
// unevaluatedItems stay, where every provider knows them.
func dropBooleans(r *rewrite) {
	var widened []*node
	r.each(func(s *node, at *path) {
		if !s.is(objectNode) {
			return
		}
		b := booleans{rewrite: r, schema: s, at: at}
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
	*rewrite
	schema  *node
	at      *path
	widened bool
}

// always accepts everything, never nothing.
func always() *node { return newObject() }
func never() *node  { return newObject(member{"not", newObject()}) }

// asObject is a boolean schema as an object; others are returned as they are.
func (b *booleans) asObject(s *node, at *path) *node {
	switch {
	case !s.is(boolNode):
		return s
	case s.truth():
		b.note(at, "true is {}, which accepts everything too")
		return always()
	}
	b.note(at, `false is {"not":{}}, which accepts nothing either`)
	return never()
}

// properties: one that is false must not be given. It goes; the description says so,
// unless no other properties are allowed anyway.
func (b *booleans) properties() {
	properties := b.schema.get("properties")
	if !properties.is(objectNode) {
		return
	}
	at := b.at.at("properties")
	closed := b.schema.get("additionalProperties")
	isClosed := closed.is(boolNode) && !closed.truth()
	forbidden := map[string]bool{}
	var listed []string
	properties.members = slices.DeleteFunc(properties.members, func(m member) bool {
		if !m.val.is(boolNode) || m.val.truth() {
			return false
		}
		b.note(at.at(m.key), "false is dropped: the property must not be given")
		forbidden[m.key] = true
		listed = append(listed, fmt.Sprintf("%.60q", m.key))
		return true
	})
	for i, m := range properties.members {
		properties.members[i].val = b.asObject(m.val, at.at(m.key))
	}
	if len(forbidden) == 0 {
		return
	}
	if required := b.schema.get("required"); required.is(arrayNode) {
		required.items = slices.DeleteFunc(required.items, func(it *node) bool {
			drop := forbidden[it.text()]
			if drop {
				b.note(b.at.at("required"), "%s is dropped: the property must not be given", it.short())
				b.widened = true
			}
			return drop
		})
	}
	if !isClosed || b.schema.get("patternProperties") != nil {
		b.widened = true
		(&phraser{}).sentence(b.schema, "Must not be given: "+wording.List(listed)+".")
	}
}

// arrays: where items are false the array ends.
func (b *booleans) arrays() {
	prefix := b.schema.get("prefixItems")
	length := 0
	if prefix.is(arrayNode) {
		length = len(prefix.items)
		end := slices.IndexFunc(prefix.items, func(it *node) bool { return it.is(boolNode) && !it.truth() })
		if end >= 0 {
			b.note(b.at.at("prefixItems").at(strconv.Itoa(end)), "false is maxItems %d", end)
			b.atMost("maxItems", end)
			prefix.items = prefix.items[:end]
		}
		for i, it := range prefix.items {
			prefix.items[i] = b.asObject(it, b.at.at("prefixItems").at(strconv.Itoa(i)))
		}
		if end == 0 {
			b.schema.cut("prefixItems")
		}
	}
	if items := b.schema.get("items"); items.is(boolNode) && !items.truth() {
		b.note(b.at.at("items"), "false is maxItems %d", length)
		b.schema.cut("items")
		b.atMost("maxItems", length)
	}
	if names := b.schema.get("propertyNames"); names.is(boolNode) && !names.truth() {
		b.note(b.at.at("propertyNames"), "false is maxProperties 0")
		b.schema.cut("propertyNames")
		b.atMost("maxProperties", 0)
	}
}

// atMost sets a limit unless there is a lower one.
func (b *booleans) atMost(keyword string, most int) {
	if old := b.schema.get(keyword); old.is(numberNode) {
		if limit := rational(old.raw); limit != nil && limit.Cmp(new(big.Rat).SetInt64(int64(most))) <= 0 {
			return
		}
	}
	b.schema.set(keyword, &node{kind: numberNode, raw: strconv.Itoa(most)})
}

// branches: one of anyOf or oneOf that is false is never taken, one of allOf that is
// true asks for nothing.
func (b *booleans) branches() {
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		list := b.schema.get(keyword)
		if !list.is(arrayNode) || !slices.ContainsFunc(list.items, func(it *node) bool { return it.is(boolNode) }) {
			continue
		}
		left := newArray()
		for i, it := range list.items {
			at := b.at.at(keyword).at(strconv.Itoa(i))
			if it.is(boolNode) && it.truth() == (keyword == "allOf") {
				b.note(at, "%s is dropped: it changes nothing", it.raw)
				continue
			}
			left.items = append(left.items, b.asObject(it, at))
		}
		switch {
		case len(left.items) > 0:
			b.schema.set(keyword, left)
		case keyword == "allOf":
			b.schema.cut(keyword)
		default:
			b.schema.set(keyword, newArray(never()))
		}
	}
}

// others are the keywords where a boolean is an object without further thought.
func (b *booleans) others() {
	if not := b.schema.get("not"); not.is(boolNode) && !not.truth() {
		b.note(b.at.at("not"), "false is dropped: everything is not false")
		b.schema.cut("not")
	}
	for i, m := range b.schema.members {
		switch below := keywords[m.key]; {
		case m.key == "additionalProperties" || strings.HasPrefix(m.key, "unevaluated"):
		case below == oneSchema || below == oneOrList:
			b.schema.members[i].val = b.asObject(m.val, b.at.at(m.key))
		case below == manySchemas && m.val.is(objectNode):
			for j, sub := range m.val.members {
				m.val.members[j].val = b.asObject(sub.val, b.at.at(m.key).at(sub.key))
			}
		}
	}
}
