package sourcetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// same reports whether two JSON texts are equal as far as the source keeps them.
func (c Contract) same(got, want string) bool {
	known := func(text string) string { return c.canonical(wire.CutMember([]byte(text), "x-unknown")) }
	return got == want || c.Decoded && known(got) == known(want)
}

// canonical returns raw as encoding/json writes it, with its numbers as far as the source keeps them.
func (c Contract) canonical(raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	if !c.Floats {
		d.UseNumber()
	}
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(withoutSign(v))
	return string(text)
}

// withoutSign returns a decoded value with 0 in place of the -0 that JavaScript does not write.
func withoutSign(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case []any:
		for i := range v {
			v[i] = withoutSign(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withoutSign(v[key])
		}
	}
	return v
}

// sameTool is same for the definitions of tools.
func (c Contract) sameTool(got, want string) bool {
	if !c.Decoded {
		return got == want
	}
	for _, key := range []string{"name", "title", "description", "inputSchema", "outputSchema"} {
		if c.canonical(wire.Lookup([]byte(got), key)) != c.canonical(wire.Lookup([]byte(want), key)) {
			return false
		}
	}
	return true
}

// inOrder sorts definitions by name if the source does so.
func (c Contract) inOrder(definitions []string) []string {
	if c.Decoded {
		slices.SortFunc(definitions, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	}
	return definitions
}

func key(definition string) string {
	item, _ := bridge.NewItem(bridge.Tools, []byte(definition))
	return item.Key
}
