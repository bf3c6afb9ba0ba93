package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// misspelt says which key of a definition is another one that it lacks. Others that
// nobody here reads may be those of its format.
func misspelt(t toolformat.Tool) error {
	keys := map[string]bool{}
	for key := range wire.Members(t.Extra) {
		keys[key] = true
	}
	known := []string{"kind", "api", "context", "annotations"}
	if word, _ := wire.Text(wire.Lookup(t.Extra, "kind")); word != "" {
		known = append(known, word)
	}
	known = slices.DeleteFunc(known, func(key string) bool { return keys[key] })
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if near := toolformat.Closest(key, known); near != "" {
			return fmt.Errorf("unknown key %s (did you mean %q?)", quoteShort(key), near)
		}
	}
	if context := wire.Lookup(t.Extra, "context"); len(context) > 0 && context[0] != '[' && string(context) != "null" {
		return fmt.Errorf("context: expected an array of names of properties")
	}
	return nil
}

// unknownRequired warns of what a schema requires without saying what it is.
func unknownRequired(schema json.RawMessage) (notes []toolformat.Note) {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} {
		if wire.Lookup(schema, key) != nil {
			return nil // it may stand there
		}
	}
	for raw := range wire.Elements(wire.Lookup(schema, "required")) {
		if name, ok := wire.Text(raw); ok && wire.Lookup(schema, "properties", name) == nil {
			notes = append(notes, toolformat.Note{Path: "/input_schema/required", Rule: "required", Text: quoteShort(name) + " is no property of the tool"})
		}
	}
	return notes
}
