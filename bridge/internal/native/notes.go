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

// Notes collects the notes about a definition: what is legal and probably a mistake.
type Notes struct {
	All []toolformat.Note

	// Properties are the schemas of the arguments by name, including those of subschemas and
	// references that apply to the same object.
	Properties map[string]json.RawMessage

	hidden   []string // names that no caller sets
	tool     string
	root     json.RawMessage
	paths    map[string]string // where the Properties are, as JSON Pointers into the definition
	required map[string]bool   // names that every call must have
	followed map[string]bool   // references whose properties are in Properties
}

// NewNotes returns the Notes of a definition, still without a note. hidden are the names of hidden
// values, in addition to those in the definition's context.
func NewNotes(definition toolformat.Tool, hidden []string) *Notes {
	n := &Notes{
		hidden: slices.Clone(hidden),
		tool:   definition.Name, root: definition.InputSchema, Properties: map[string]json.RawMessage{},
		paths: map[string]string{}, required: map[string]bool{}, followed: map[string]bool{},
	}
	n.gather(n.root, "/input_schema", true)
	for raw := range wire.Elements(wire.Lookup(definition.Extra, "context")) {
		name, _ := wire.Text(raw)
		n.hidden = append(n.hidden, name)
	}
	return n
}

// IsHidden reports whether a name is that of a hidden value, in any letter case: a request may name
// it although it is not a property.
func (n *Notes) IsHidden(name string) bool {
	return slices.ContainsFunc(n.hidden, func(other string) bool { return strings.EqualFold(other, name) })
}

// Known reports whether an argument of the name can be there.
func (n *Notes) Known(name string) bool { return n.Properties[name] != nil || n.IsHidden(name) }

// gather adds the properties of the schema at path. always reports whether the schema applies to
// every call.
func (n *Notes) gather(schema []byte, path string, always bool) {
	for name, property := range wire.Members(wire.Lookup(schema, "properties")) {
		if n.paths[name] == "" {
			n.Properties[name], n.paths[name] = property, path+"/properties/"+EscapeToken(name)
		}
	}
	for raw := range wire.Elements(wire.Lookup(schema, "required")) {
		if name, ok := wire.Text(raw); ok && always {
			n.required[name] = true
		}
	}
	for key, value := range wire.Members(schema) {
		switch key {
		case "allOf", "anyOf", "oneOf":
			i := 0
			for part := range wire.Elements(value) {
				n.gather(part, fmt.Sprintf("%s/%s/%d", path, key, i), always && key == "allOf")
				i++
			}
		case "if", "then", "else":
			n.gather(value, path+"/"+key, false)
		case "$ref":
			ref, _ := wire.Text(value)
			if p, ok := ParseReference(ref); ok && !n.followed[ref] {
				n.followed[ref] = true
				part, _ := p.Select("", n.root)
				n.gather(part, "/input_schema"+ref[1:], always)
			}
		}
	}
}

// IsOptional reports whether a call may lack a property: it is neither required nor hidden and has
// no default.
func (n *Notes) IsOptional(property string) bool {
	return !n.IsHidden(property) && !n.required[property] && wire.Lookup(n.Properties[property], "default") == nil
}

// Names returns the names of the properties, sorted.
func (n *Notes) Names() []string { return slices.Sorted(maps.Keys(n.Properties)) }

// Add adds a note about the place that path, a JSON Pointer into the definition, leads to.
func (n *Notes) Add(path, rule, format string, args ...any) {
	n.All = append(n.All, toolformat.Note{Tool: n.tool, Path: path, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// AddProperty adds a note about a property.
func (n *Notes) AddProperty(property, rule, format string, args ...any) {
	n.Add(n.paths[property], rule, format, args...)
}

// maxNear bounds the equally near names that Suggest shows: more of them tell nothing.
const maxNear = 3

// Suggest asks whether the known name of almost the same spelling was meant, as in
// " (did you mean {id}?)" for the format "{%s}", or which one if several are equally near. It returns
// "" if no known name is near.
func Suggest[V any](format, name string, known map[string]V) string {
	near := toolformat.Nearest(name, slices.Sorted(maps.Keys(known)))
	if len(near) == 0 || len(near) > maxNear {
		return ""
	}
	for i := range near {
		near[i] = fmt.Sprintf(format, Shorten(near[i]))
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}
