package providertest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Outline formats JSON for a golden file: down to depth each member and element is on its own
// line, deeper values have no white space.
func Outline(raw []byte, depth int) string {
	var b strings.Builder
	outline(&b, bytes.TrimSpace(raw), depth, "")
	return b.String()
}

func outline(b *strings.Builder, raw []byte, depth int, indent string) {
	var inside []string
	begin := func() *strings.Builder {
		var part strings.Builder
		part.WriteString(indent + "  ")
		return &part
	}
	if depth > 0 {
		for key, value := range wire.Members(raw) {
			part := begin()
			part.Write(append(wire.AppendString(nil, key), ": "...))
			outline(part, value, depth-1, indent+"  ")
			inside = append(inside, part.String())
		}
		for value := range wire.Elements(raw) {
			part := begin()
			outline(part, value, depth-1, indent+"  ")
			inside = append(inside, part.String())
		}
	}
	if inside == nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			compact.WriteString("not JSON: " + err.Error())
		}
		b.Write(compact.Bytes())
		return
	}
	b.WriteString(string(raw[0]) + "\n" + strings.Join(inside, ",\n") + "\n" + indent + string(raw[len(raw)-1]))
}
