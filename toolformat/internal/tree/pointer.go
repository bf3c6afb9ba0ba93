package tree

import (
	"strconv"
	"strings"
)

// PointerTokens are the keys of a JSON Pointer (RFC 6901, 4).
func PointerTokens(pointer string) []string {
	tokens := strings.Split(pointer, "/")[1:]
	for i, token := range tokens {
		tokens[i] = unescapePointer.Replace(token)
	}
	return tokens
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// Find is the value at a place below a node; nil when there is none.
func (n *Node) Find(tokens []string) *Node {
	for _, token := range tokens {
		n = n.Child(token)
	}
	return n
}

// Child is the member or the item that a key of a JSON Pointer means; nil when there is
// none.
func (n *Node) Child(token string) *Node {
	if slot := n.Slot(token); slot != nil {
		return *slot
	}
	return nil
}

// Slot is where step's value is held.
func (n *Node) Slot(token string) **Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Key == token {
			return &n.Members[i].Value
		}
	}
	if i, err := strconv.Atoi(token); n.Is(Array) && err == nil && i >= 0 && i < len(n.Items) {
		return &n.Items[i]
	}
	return nil
}

// List is the items of an array; none for another value.
func (n *Node) List() []*Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Rename gives a member another key, in the place where it stands.
func (n *Node) Rename(from, to string) {
	for i := range n.Members {
		if n.Members[i].Key == from {
			n.Members[i].Key = to
		}
	}
}

func IsIndex(token string) bool {
	_, err := strconv.Atoi(token)
	return err == nil
}
