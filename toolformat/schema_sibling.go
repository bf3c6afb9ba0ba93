package toolformat

import (
	"strconv"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// clash reports whether two schemas that both hold cannot become one object without a
// change of meaning.
func clash(s, d *node) bool {
	if !d.is(objectNode) {
		return false
	}
	demands := 0
	for _, m := range s.members {
		if !assertions[m.key] {
			continue
		}
		demands++
		if other := d.get(m.key); other != nil && (m.val.is(objectNode) || !m.val.equal(other)) {
			return true
		}
	}
	if demands == 0 {
		return false
	}
	for _, kin := range [][]string{propertyKin, tupleKin, conditionKin, containsKin} {
		if s.hasAny(kin...) && d.hasAny(kin...) {
			return true
		}
	}
	return d.hasAny("unevaluatedProperties", "unevaluatedItems") // what s knows is not known to it
}

// absorb takes the members of a schema that does not clash, which is used up. Annotations
// that both have stay as they are here; absorb returns those that the other had otherwise.
func (n *node) absorb(d *node) (overruled []string) {
	switch {
	case d.truth():
		return nil
	case d.is(boolNode) && len(n.members) == 0:
		*n = *d
		return nil
	case d.is(boolNode):
		n.also("not", newObject())
		return nil
	}
	own := n.members
	n.members = d.members
	for _, m := range own {
		if old := n.get(m.key); old != nil && m.key != "title" && !assertions[m.key] && !old.equal(m.val) {
			overruled = append(overruled, m.key)
		}
		n.set(m.key, m.val)
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
func (p *path) allOfNext(s *node) *path {
	next := 0
	if all := s.get("allOf"); all.is(arrayNode) {
		next = len(all.items)
	}
	return p.at("allOf").at(strconv.Itoa(next))
}

// also adds a keyword to a schema; in an allOf when the schema has it already.
func (n *node) also(keyword string, val *node) {
	if n.get(keyword) == nil {
		n.set(keyword, val)
		return
	}
	n.addAllOf(newObject(member{keyword, val}))
}

// addAllOf adds a schema that has to hold as well and returns its place in allOf.
func (n *node) addAllOf(s *node) int {
	all := n.get("allOf")
	if !all.is(arrayNode) {
		all = newArray()
		n.set("allOf", all)
	}
	all.items = append(all.items, s)
	return len(all.items) - 1
}
