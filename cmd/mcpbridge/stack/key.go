package stack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// keys returns the keys of a definition that the bridge reads, apart from those that all formats
// have in common.
func (n *nativeLoader) keys(t toolformat.Tool, word string) []string {
	known := []string{"kind", "api", "context", "annotations"}
	if n.kind(word) != nil {
		known = append(known, word)
	}
	switch t.Format {
	case toolformat.FormatInternal, toolformat.FormatAnthropic: // without an output_schema the two look alike
		known = append(known, "description", "input_schema", "output_schema")
	case toolformat.FormatMCP:
		known = append(known, "title", "description", "inputSchema", "outputSchema")
	}
	return known
}

// specKeys returns the keys of a definition's object for its kind, and the key of that object.
func (n *nativeLoader) specKeys(t toolformat.Tool, word string) (keys []string, object string) {
	kind := n.kind(word)
	if object = word; word == "api" { // an entry of Acorn
		name, named := wire.Text(wire.Lookup(t.Extra, "api", "name"))
		if !named {
			name = "default"
		}
		if api, err := n.api(name); err == nil {
			kind = n.kind(api.Type)
		}
	}
	if kind == nil || kind.Spec == nil {
		return nil, object
	}
	for field := range kind.Spec.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		keys = append(keys, key)
	}
	return keys, object
}

// misplaced reports a key that stands beside the object of the kind and belongs in it.
func (n *nativeLoader) misplaced(t toolformat.Tool, word string) error {
	keys, object := n.specKeys(t, word)
	read := slices.Concat(n.keys(t, word), keysOfFormat(t.Format))
	for key := range wire.Members(t.Extra) {
		if slices.Contains(keys, key) && !slices.Contains(read, key) {
			return fmt.Errorf("key %q has no effect here: it belongs in %q", key, object)
		}
	}
	return nil
}

// ignored warns of the other keys of a definition that have no effect.
func (n *nativeLoader) ignored(t toolformat.Tool, word string) (notes []toolformat.Note) {
	if t.Format == toolformat.FormatMCP { // which is listed verbatim
		return nil
	}
	keys, object := n.specKeys(t, word)
	read := slices.Concat(n.keys(t, word), keysOfFormat(t.Format))
	for key := range wire.Members(t.Extra) {
		if slices.Contains(read, key) {
			continue
		}
		text := "ignored: unknown key " + hint.Quote(key)
		if near := toolformat.Closest(key, keys); near != "" {
			text += fmt.Sprintf(" (did you mean %q in %q?)", near, object)
		}
		notes = append(notes, toolformat.Note{Rule: "unknown-key", Text: text})
	}
	return notes
}

// keysOfFormat returns the keys of a format that the bridge does not read, or that its reader has
// read.
func keysOfFormat(format toolformat.Format) []string {
	switch format {
	case toolformat.FormatInternal, toolformat.FormatAnthropic:
		return []string{
			"$schema", "name", "title", "type", "strict", "cache_control", "defer_loading", "allowed_callers",
			"input_examples", "eager_input_streaming",
		}
	case toolformat.FormatMCP:
		return []string{"name", "icons", "execution", "_meta"}
	case toolformat.FormatGemini:
		return []string{"name", "description", "behavior", "parameters", "response", "parametersJsonSchema", "responseJsonSchema", "parameters_json_schema", "response_json_schema"}
	}
	return []string{"name", "description", "parameters", "strict", "type", "function", "defer_loading"}
}

// ofAnotherKind reports a key of a definition that belongs to another kind.
func (n *nativeLoader) ofAnotherKind(t toolformat.Tool, word string) error {
	own := n.kind(word)
	if own == nil || t.Format == toolformat.FormatAcorn {
		return nil
	}
	for _, k := range n.kinds {
		if k.Name != own.Name && wire.Lookup(t.Extra, k.Name) != nil {
			return fmt.Errorf("key %q has no effect, as the kind is %q: remove the key or change the kind", k.Name, word)
		}
	}
	return nil
}

// misspelled reports a key of an object that resembles a known key that the object lacks. Other
// unknown keys may belong to its format.
func misspelled(object json.RawMessage, where string, known ...string) error {
	members := maps.Collect(wire.Members(object))
	lacking := slices.DeleteFunc(slices.Clone(known), func(key string) bool { return members[key] != nil })
	for _, key := range slices.Sorted(maps.Keys(members)) {
		near := toolformat.Closest(key, lacking)
		if near != "" && !slices.Contains(known, key) {
			near = cmp.Or(toolformat.Closest(key, known), near) // a nearer one may be there as well
			return fmt.Errorf("%sunknown key %s (did you mean %q?)", where, hint.Quote(key), near)
		}
	}
	return nil
}
