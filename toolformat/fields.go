package toolformat

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/tree"
)

// fields are the members of a definition to be written, in order. One without a value is not
// written.
type fields []field

type field struct {
	key      string
	val      json.RawMessage
	in       fields // members of its value, instead of val
	fallback bool   // only if the original definition does not have the member
}

func (f field) empty() bool { return f.val == nil && f.in == nil }

// text returns a JSON string; nil for the empty string.
func text(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(tree.Quote(s))
}

// append writes the fields as an object.
func (fs fields) append(b []byte) []byte {
	b = append(b, '{')
	first := true
	for _, f := range fs {
		if f.empty() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(b, tree.Quote(f.key)...), ':')
		if f.in != nil {
			b = f.in.append(b)
		} else {
			b = append(b, f.val...)
		}
	}
	return append(b, '}')
}

// merge puts the fields over the object n of source: a member that is written again keeps its place,
// a known one that is not written is gone, and the others stay. The known members are in the
// innermost fields.
func (fs fields) merge(n *tree.Node, source []byte, known []string) fields {
	nested := slices.ContainsFunc(fs, func(f field) bool { return f.in != nil })
	var all fields
	for _, m := range n.Members {
		i := slices.IndexFunc(fs, func(f field) bool { return f.key == m.Key && !f.empty() })
		switch {
		case i < 0 && !nested && slices.Contains(known, m.Key) && !(m.Key == "description" && m.Value.Text() == ""):
		case i < 0, fs[i].fallback && m.Value.Kind != tree.Null:
			all = append(all, field{key: m.Key, val: compact(source[m.Value.Start:m.Value.End])})
		case fs[i].in != nil && m.Value.Is(tree.Object):
			all = append(all, field{key: m.Key, in: fs[i].in.merge(m.Value, source, known)})
		default:
			all = append(all, fs[i])
		}
	}
	for _, f := range fs {
		if n.Get(f.key) == nil {
			all = append(all, f)
		}
	}
	return all
}

// compact returns JSON without white space between its tokens: carriers take one line for a message.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	_ = json.Compact(&b, raw) // it was parsed
	return b.Bytes()
}
