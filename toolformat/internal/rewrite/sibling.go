package rewrite

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/vocabulary"
	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// clash reports whether two schemas that both hold cannot become one object without a
// change of meaning.
func clash(s, d *tree.Node) bool {
	if !d.Is(tree.Object) {
		return false
	}
	demands := 0
	for _, m := range s.Members {
		if !vocabulary.Assertions[m.Key] {
			continue
		}
		demands++
		if other := d.Get(m.Key); other != nil && (m.Value.Is(tree.Object) || !m.Value.Equal(other)) {
			return true
		}
	}
	if demands == 0 {
		return false
	}
	for _, kin := range [][]string{propertyKin, tupleKin, conditionKin, containsKin} {
		if s.HasAny(kin...) && d.HasAny(kin...) {
			return true
		}
	}
	return d.HasAny("unevaluatedProperties", "unevaluatedItems") // what s knows is not known to it
}

// absorb takes the members of a schema that does not clash, which is used up. Annotations
// that both have stay as they are here; absorb returns those that the other had otherwise.
func absorb(n *tree.Node, d *tree.Node) (overruled []string) {
	switch {
	case d.IsTrue():
		return nil
	case d.Is(tree.Bool) && len(n.Members) == 0:
		*n = *d
		return nil
	case d.Is(tree.Bool):
		also(n, "not", tree.NewObject())
		return nil
	}
	own := n.Members
	n.Members = d.Members
	for _, m := range own {
		if old := n.Get(m.Key); old != nil && m.Key != "title" && !vocabulary.Assertions[m.Key] && !old.Equal(m.Value) {
			overruled = append(overruled, m.Key)
		}
		n.Set(m.Key, m.Value)
	}
	return overruled
}

// overruled says which annotations of a definition are not those of its copy.
func overruled(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return "; what stood beside it stands instead of its " + wording.List(keys)
}

// allOfNext is where the next schema of an allOf will stand.
func allOfNext(p *tree.Path, s *tree.Node) *tree.Path {
	next := 0
	if all := s.Get("allOf"); all.Is(tree.Array) {
		next = len(all.Items)
	}
	return p.At("allOf").At(strconv.Itoa(next))
}

// also adds a keyword to a schema; in an allOf when the schema has it already.
func also(n *tree.Node, keyword string, val *tree.Node) {
	if n.Get(keyword) == nil {
		n.Set(keyword, val)
		return
	}
	addAllOf(n, tree.NewObject(tree.NewMember(keyword, val)))
}

// addAllOf adds a schema that has to hold as well and returns its place in allOf.
func addAllOf(n *tree.Node, s *tree.Node) int {
	all := n.Get("allOf")
	if !all.Is(tree.Array) {
		all = tree.NewArray()
		n.Set("allOf", all)
	}
	all.Items = append(all.Items, s)
	return len(all.Items) - 1
}
