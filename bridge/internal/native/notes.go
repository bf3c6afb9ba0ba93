package native

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Notes say what is legal in a definition, and most likely not meant.
type Notes struct {
	All        []toolformat.Note
	Properties map[string]json.RawMessage // the schemas of the arguments

	tool     string
	required map[string]bool
}

// NewNotes reads a definition, of which nothing is said so far.
func NewNotes(definition toolformat.Tool) *Notes {
	n := &Notes{tool: definition.Name, Properties: map[string]json.RawMessage{}, required: map[string]bool{}}
	for name, schema := range wire.Members(wire.Lookup(definition.InputSchema, "properties")) {
		n.Properties[name] = schema
	}
	for raw := range wire.Elements(wire.Lookup(definition.InputSchema, "required")) {
		name, _ := wire.Text(raw)
		n.required[name] = true
	}
	return n
}

// MayLack reports whether calls may come without a property: it is not required, and has
// no default.
func (n *Notes) MayLack(property string) bool {
	return !n.required[property] && wire.Lookup(n.Properties[property], "default") == nil
}

// Say adds a note about the place that path is, a JSON Pointer into the definition.
func (n *Notes) Say(path, rule, format string, args ...any) {
	n.All = append(n.All, toolformat.Note{Tool: n.tool, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// SayOf adds a note about a property.
func (n *Notes) SayOf(property, rule, format string, args ...any) {
	n.Say("/input_schema/properties/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(property), rule, format, args...)
}

// Suggest asks whether the known name of nearly the same spelling is meant, whatever the
// letter case, as in " (did you mean {id}?)" for the format "{%s}"; "" when there is none.
func Suggest[V any](format, name string, known map[string]V) string {
	near := toolformat.Nearest(name, slices.Sorted(maps.Keys(known)))
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + fmt.Sprintf(format, Short(near[0])) + "?)"
}
