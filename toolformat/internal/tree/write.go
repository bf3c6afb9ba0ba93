package tree

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat/internal/wording"
)

// JSON returns n as compact JSON.
func (n *Node) JSON() json.RawMessage { return n.append(nil) }

// Short returns n as JSON for an error or a note, cut after 60 bytes.
func (n *Node) Short() string { return wording.Cut(string(n.append(nil)), 60) }

func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case Object:
		b = append(b, '{')
		for i, m := range n.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, Quote(m.Key)...), ':')
			b = m.Value.append(b)
		}
		return append(b, '}')
	case Array:
		b = append(b, '[')
		for i, it := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = it.append(b)
		}
		return append(b, ']')
	}
	return append(b, n.Raw...)
}

// Quote returns s as JSON, without the escapes that only HTML needs.
func Quote(s string) string {
	if quoted := `"` + s + `"`; isPlain([]byte(quoted)) {
		return quoted
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// unquote decodes a JSON string, which is valid: Parse or Quote has seen to that.
func unquote(raw string) string {
	if !strings.Contains(raw, `\`) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s)
	return s
}
