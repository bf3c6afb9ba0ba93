package completions

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// readChoice reads tool_choice: a word, the tool that must be called, or those that may be.
func (r *request) readChoice() error {
	if rawjson.IsNull(r.Choice) {
		return nil
	}
	if allowed := wire.Lookup(r.Choice, "allowed_tools"); allowed != nil {
		return r.readAllowed(allowed)
	}
	name, isNamed := wire.Text(wire.Lookup(r.Choice, "function", "name"))
	if isNamed && name != "" {
		r.choice = providers.Choice(name)
		return nil
	}
	word, _ := wire.Text(r.Choice)
	return r.chooseMode("tool_choice", word)
}

// chooseMode sets the choice that a word names. member is its place, for the error.
func (r *request) chooseMode(member, word string) error {
	switch word {
	case "auto":
	case "none":
		r.choice = providers.ChoiceNone
	case "required", "any":
		r.choice = providers.ChoiceRequired
	default:
		return fmt.Errorf(`%s: expected "none", "auto", "required", {"type":"function","function":{"name":…}} or {"type":"allowed_tools",…}`, member)
	}
	return nil
}

// readAllowed reads the tools that may be called, and the choice among them.
func (r *request) readAllowed(allowed json.RawMessage) error {
	r.only = []providers.Selection{}
	for tool := range wire.Elements(wire.Lookup(allowed, "tools")) {
		name := rawjson.TextAt(tool, "function", "name")
		if name == "" {
			return fmt.Errorf(`tool_choice.allowed_tools.tools: expected functions, each as {"type":"function","function":{"name":…}}`)
		}
		r.only = append(r.only, providers.Selection{Match: endpoint.Literal([]string{name}), From: "tool_choice"})
	}
	return r.chooseMode("tool_choice.allowed_tools.mode", rawjson.TextAt(allowed, "mode"))
}
