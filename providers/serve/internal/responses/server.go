package responses

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
)

// addServer reads a tool of the type mcp. It stands for the server of the bridge with its label: the URL of
// a request is not opened.
func (r *request) addServer(at int, tool []byte) error {
	s := providers.Selection{Member: rawjson.TextAt(tool, "server_label"), From: fmt.Sprintf("tools[%d].server_label", at)}
	if s.Member == "" {
		return fmt.Errorf("server_label: expected the name of a server of the bridge")
	}
	if approval := wire.Lookup(tool, "require_approval"); !rawjson.IsNull(approval) && rawjson.TextOf(approval) != "never" {
		return fmt.Errorf(`require_approval: the bridge's config decides about approvals: expected "never"`)
	}
	allowed := wire.Lookup(tool, "allowed_tools")
	if rawjson.IsObject(allowed) {
		if string(wire.Lookup(allowed, "read_only")) == "true" {
			return fmt.Errorf("allowed_tools.read_only: expected the names of the tools, as tool_names")
		}
		allowed = wire.Lookup(allowed, "tool_names")
	}
	if !rawjson.IsNull(allowed) {
		var names []string
		if json.Unmarshal(allowed, &names) != nil {
			return fmt.Errorf("allowed_tools: expected an array of names")
		}
		s.Match = endpoint.Literal(names)
	}
	r.selection = append(r.selection, s)
	return nil
}
