package responses

import (
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
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
	if r.servers[s.Member] {
		return fmt.Errorf("server_label: %.100q is that of another tool, too: name all its tools in one", s.Member)
	}
	r.servers[s.Member] = true
	r.selection = append(r.selection, s)
	return nil
}

// selects returns the error of a choice that names a server whose tools the request does not have.
func (r *request) selects(server string) error {
	if r.servers[server] {
		return nil
	}
	return fmt.Errorf("server_label: expected that of a tool of the type mcp, got %.100q", server)
}

// mustCall reads a tool_choice of the type mcp: a server whose tools the request has, and the tool of it that must be
// called; "" means any of its tools.
func (r *request) mustCall(server, tool string) error {
	if err := r.selects(server); err != nil {
		return member.In("tool_choice", err)
	}
	r.must = &providers.Selection{Member: server, From: "tool_choice"}
	if tool != "" {
		r.must.Match = endpoint.Literal([]string{tool})
	}
	return nil
}
