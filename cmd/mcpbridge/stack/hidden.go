package stack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/hint"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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
