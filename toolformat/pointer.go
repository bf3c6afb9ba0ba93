package toolformat

import (
	"strconv"
	"strings"
)

// pointerTokens are the keys of a JSON Pointer (RFC 6901, 4).
func pointerTokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = unescapePointer.Replace(token)
	}
	return tokens
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// find is the value at a place below a node; nil when there is none.
func (n *node) find(tokens []string) *node {
	for _, token := range tokens {
		n = n.step(token)
	}
	return n
}

// step is the member or the item that a key of a JSON Pointer means; nil when there is
// none.
func (n *node) step(token string) *node {
	if slot := n.slot(token); slot != nil {
		return *slot
	}
	return nil
}

// slot is where step's value is held.
func (n *node) slot(token string) **node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == token {
			return &n.members[i].val
		}
	}
	if i, err := strconv.Atoi(token); n.is(arrayNode) && err == nil && i >= 0 && i < len(n.items) {
		return &n.items[i]
	}
	return nil
}

// list is the items of an array; none for another value.
func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// renameMember gives a member another key, in the place where it stands.
func renameMember(n *node, from, to string) {
	for i := range n.members {
		if n.members[i].key == from {
			n.members[i].key = to
		}
	}
}

func isIndex(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}
