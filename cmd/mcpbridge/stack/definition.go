package stack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// validate returns the fault of a definition that does not depend on its kind.
func (n *nativeLoader) validate(t toolformat.Tool, word string) error {
	known := []string{"kind", "api", "context", "annotations"}
	if n.kind(word) != nil {
		known = append(known, word)
	}
	var inner json.RawMessage
	switch t.Format {
	case toolformat.FormatInternal, toolformat.FormatAnthropic: // without an output_schema the two look alike
		known = append(known, "description", "input_schema", "output_schema")
	case toolformat.FormatMCP:
		known = append(known, "title", "description", "inputSchema", "outputSchema")
	case toolformat.FormatAcorn:
		inner = wire.Lookup(t.Extra, "function")
	}
	return cmp.Or(
		misspelled(t.Extra, "", known...),
		misspelled(inner, "function: ", "description", "parameters"),
		n.ofAnotherKind(t, word),
		checkContextNames(wire.Lookup(t.Extra, "context")),
		checkAnnotations(wire.Lookup(t.Extra, "annotations")),
	)
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
	keys := map[string]bool{}
	for key := range wire.Members(object) {
		keys[key] = true
	}
	lacking := slices.DeleteFunc(slices.Clone(known), func(key string) bool { return keys[key] })
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(known, key) {
			continue
		}
		if near := toolformat.Closest(key, lacking); near != "" {
			return fmt.Errorf("%sunknown key %s (did you mean %q?)", where, hint.Quote(key), near)
		}
	}
	return nil
}

var errContextNames = errors.New("context: expected an array of names of properties")

func checkContextNames(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '[' {
		return errContextNames
	}
	for e := range wire.Elements(raw) {
		if name, ok := wire.Text(e); !ok || name == "" {
			return errContextNames
		}
	}
	return nil
}

// checkAnnotations checks the types of annotations (MCP 2025-06-18, schema.ts, ToolAnnotations):
// clients refuse a whole list for one of another type.
func checkAnnotations(raw json.RawMessage) error {
	hints := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
	for key, value := range wire.Members(raw) {
		isBool := string(value) == "true" || string(value) == "false"
		if slices.Contains(hints, key) && !isBool {
			return fmt.Errorf("annotations: %s: expected true or false, got %.40s", key, value)
		}
		if _, isText := wire.Text(value); key == "title" && !isText {
			return fmt.Errorf("annotations: title: expected a string, got %.40s", value)
		}
	}
	return misspelled(raw, "annotations: ", append(hints, "title")...)
}

// objectSchema returns a definition whose input schema has "type": "object" (MCP 2025-06-18,
// schema.ts, Tool): clients refuse a whole list for one without.
func objectSchema(t toolformat.Tool) (toolformat.Tool, error) {
	if t.InputSchema == nil || string(t.InputSchema) == "true" {
		t.InputSchema = json.RawMessage("{}")
	}
	kind := wire.Lookup(t.InputSchema, "type")
	switch text, _ := wire.Text(kind); {
	case t.InputSchema[0] != '{':
		return t, fmt.Errorf("input schema: expected an object, got %.40s", t.InputSchema)
	case kind == nil:
		t.InputSchema = wire.SetMember(t.InputSchema, "type", []byte(`"object"`))
	case text != "object":
		return t, fmt.Errorf(`input schema: expected "type": "object", got %.40s`, kind)
	}
	if t.Format == toolformat.FormatMCP { // which is listed verbatim
		t.Extra = wire.SetMember(t.Extra, "inputSchema", t.InputSchema)
	}
	return t, nil
}

// unchecked warns of parts of a tool's schemas that are not JSON Schema or cannot be checked.
func unchecked(t toolformat.Tool) (notes []toolformat.Note) {
	for _, it := range []struct {
		path   string
		schema json.RawMessage
	}{{"/input_schema", t.InputSchema}, {"/output_schema", t.OutputSchema}} {
		if it.schema == nil {
			continue
		}
		_, found, _ := toolformat.NewChecker(it.schema) // bridge.NewNative reports the error
		for _, note := range found {
			note.Path = it.path + note.Path
			notes = append(notes, note)
		}
	}
	return notes
}

// unknownRequired warns of required properties that a schema does not define.
func unknownRequired(schema json.RawMessage) (notes []toolformat.Note) {
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} {
		if wire.Lookup(schema, key) != nil {
			return nil // it may be defined there
		}
	}
	for raw := range wire.Elements(wire.Lookup(schema, "required")) {
		if name, ok := wire.Text(raw); ok && wire.Lookup(schema, "properties", name) == nil {
			notes = append(notes, toolformat.Note{Path: "/input_schema/required", Rule: "required", Text: hint.Quote(name) + " is not a property of the tool"})
		}
	}
	return notes
}

// hidden returns the arguments of a tool that no model sees: those of its own list, and those that
// the config has a value for. Notes warn of names that are not properties.
func (n *nativeLoader) hidden(t toolformat.Tool) (names []string, notes []toolformat.Note) {
	var properties []string
	for name := range wire.Members(wire.Lookup(t.InputSchema, "properties")) {
		properties = append(properties, name)
	}
	isProperty := func(name string) bool {
		return slices.ContainsFunc(properties, func(p string) bool { return strings.EqualFold(p, name) })
	}
	for raw := range wire.Elements(wire.Lookup(t.Extra, "context")) {
		name, _ := wire.Text(raw)
		if !isProperty(name) {
			notes = append(notes, toolformat.Note{Path: "/context", Rule: "context", Text: fmt.Sprintf("%s is not a property of the tool", hint.Quote(name))})
		}
		names = append(names, name)
	}
	for _, property := range properties {
		_, global := n.cfg.Context[strings.ToLower(property)]
		if global && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, property) }) {
			names = append(names, property)
		}
	}
	return names, notes
}
