package tree

import "slices"

// Set replaces a member in its place, or appends it.
func (n *Node) Set(key string, value *Node) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members[i].Value = value
			return
		}
	}
	n.Members = append(n.Members, Member{key, value})
}

// Remove removes a member and returns its value; nil if there is none.
func (n *Node) Remove(key string) *Node {
	for i, m := range n.Members {
		if m.Key == key {
			n.Members = slices.Delete(n.Members, i, i+1)
			return m.Value
		}
	}
	return nil
}

// Rename gives a member another key, in its place.
func (n *Node) Rename(from, to string) {
	for i := range n.Members {
		if n.Members[i].Key == from {
			n.Members[i].Key = to
		}
	}
}

// Clone returns a deep copy.
func (n *Node) Clone() *Node {
	if n == nil {
		return nil
	}
	c := &Node{Kind: n.Kind, Raw: n.Raw, Start: n.Start}
	for _, m := range n.Members {
		c.Members = append(c.Members, Member{m.Key, m.Value.Clone()})
	}
	for _, it := range n.Items {
		c.Items = append(c.Items, it.Clone())
	}
	return c
}

// Equal reports whether two nodes mean the same JSON: the order of members does not count, and
// strings and numbers count by their value, however they are written.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil || n.Kind != o.Kind || len(n.Members) != len(o.Members) || len(n.Items) != len(o.Items) {
		return n == o
	}
	for _, m := range n.Members {
		if other := o.Get(m.Key); other == nil || !m.Value.Equal(other) {
			return false
		}
	}
	for i := range n.Items {
		if !n.Items[i].Equal(o.Items[i]) {
			return false
		}
	}
	switch {
	case n.Raw == o.Raw:
		return true
	case n.Kind == Text:
		return n.Text() == o.Text()
	case n.Kind == Number:
		x, y := Rational(n.Raw), Rational(o.Raw)
		return x != nil && y != nil && x.Cmp(y) == 0
	}
	return false
}
