package edit

import (
	"bytes"
	"encoding/json"
)

// A Node is a value of a file.
type Node struct {
	Key     string          // "" for the whole file and for elements of arrays
	Line    int             // of the key; of the value if it has no key
	Value   json.RawMessage // of a scalar or an array; nil for an object
	Members []Node          // of an object or an array, in the order of the file
	Lost    []Node          // of an object of JSON: members whose key a later one has, which counts
}

// Read parses text. Blank text, and text that has nothing but comments, is an object without members.
// The error names the line. A value that JSON does not have, such as a date, becomes a string.
func Read(f Format, text []byte) (Node, error) {
	_, d, err := open(f, text)
	if err != nil {
		return Node{}, err
	}
	return publish("", 1, d.tree()), nil
}

func publish(key string, line int, n *node) Node {
	out := Node{Key: key, Line: line}
	if n.kind != object {
		out.Value = n.json()
	}
	for _, it := range n.items {
		if member := publish(it.key, it.line, it.val); it.lost {
			out.Lost = append(out.Lost, member)
		} else {
			out.Members = append(out.Members, member)
		}
	}
	return out
}

// A Duplicate is a member that does not count, as a later one of its object has its key.
type Duplicate struct {
	Key         string
	Line, Later int // its own, and that of the one that counts
}

// Duplicates returns the members that do not count, of those on a path and of all below it.
func (n Node) Duplicates(path ...string) (all []Duplicate) {
	for _, lost := range n.Lost {
		if counts, _ := n.At(lost.Key); len(path) == 0 || path[0] == lost.Key {
			all = append(all, Duplicate{lost.Key, lost.Line, counts.Line})
		}
	}
	for _, m := range n.Members {
		if len(path) == 0 {
			all = append(all, m.Duplicates()...)
		} else if path[0] == m.Key {
			all = append(all, m.Duplicates(path[1:]...)...)
		}
	}
	return all
}

// At returns the value at a path as [Set] takes it.
func (n Node) At(path ...string) (Node, bool) {
	for _, step := range path {
		found := false
		for _, m := range n.Members {
			if n.Value == nil && m.Key == step || n.Value != nil && m.isElement(step) {
				n, found = m, true
				break
			}
		}
		if !found {
			return Node{}, false
		}
	}
	return n, true
}

func (n Node) isElement(step string) bool {
	key, value, ok := element(step)
	if !ok {
		return false
	}
	m, ok := n.At(key)
	return ok && sameText(m.Value, value)
}

// JSON returns the value as JSON, objects with their members in order.
func (n Node) JSON() json.RawMessage {
	if n.Value != nil {
		return n.Value
	}
	var b bytes.Buffer
	for i, m := range n.Members {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(quote(m.Key))
		b.WriteByte(':')
		b.Write(m.JSON())
	}
	if len(n.Members) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes()
}
