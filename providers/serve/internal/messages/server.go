package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/member"
)

// mcpServer is an entry of mcp_servers. It stands for the server of the bridge with its name: the URL of a
// request is not opened.
type mcpServer struct {
	Name string `json:"name"`
	Only struct {
		Enabled *bool     `json:"enabled"`
		Allowed *[]string `json:"allowed_tools"`
	} `json:"tool_configuration"`
}

// toolset is a tool of the type mcp_toolset: which tools of an entry of mcp_servers are offered.
type toolset struct {
	Server  string                `json:"mcp_server_name"`
	Default toolConfig            `json:"default_config"`
	Configs map[string]toolConfig `json:"configs"`
}

type toolConfig struct {
	Enabled *bool `json:"enabled"`
}

func (c *toolConfig) disabled() bool { return c.Enabled != nil && !*c.Enabled }

// readServers reads the servers whose tools a request selects, and takes toolsets out of its tools.
func (r *request) readServers() error {
	selected := map[string]providers.Selection{}
	for i, s := range r.Servers {
		from := fmt.Sprintf("mcp_servers.%d.name", i)
		if s.Name == "" {
			return fmt.Errorf("%s: expected the name of a server of the bridge", from)
		}
		if first, taken := selected[s.Name]; taken {
			return fmt.Errorf("%s: %.100q is that of %s, too", from, s.Name, strings.TrimSuffix(first.From, ".name"))
		}
		one := providers.Selection{Member: s.Name, From: from}
		if s.Only.Allowed != nil {
			one.Match = endpoint.Literal(*s.Only.Allowed)
		}
		if e := s.Only.Enabled; e != nil && !*e {
			one.Match = []string{}
		}
		selected[s.Name] = one
	}
	var own [][]byte
	at := -1
	for tool := range wire.Elements(r.Tools) {
		at++
		if rawjson.TextAt(tool, "type") != "mcp_toolset" {
			own = append(own, tool)
			continue
		}
		var t toolset
		if err := member.Decode(tool, &t); err != nil {
			return member.In(fmt.Sprintf("tools[%d]", at), err)
		}
		one, known := selected[t.Server]
		if !known {
			return fmt.Errorf("tools[%d].mcp_server_name: expected a name in mcp_servers, got %.100q", at, t.Server)
		}
		selected[t.Server] = t.narrow(one)
	}
	if at >= 0 {
		r.Tools = rawjson.Array(own)
	}
	for _, s := range r.Servers {
		r.selection = append(r.selection, selected[s.Name])
	}
	return nil
}

// narrow applies a toolset to the selection of its server.
func (t *toolset) narrow(s providers.Selection) providers.Selection {
	var on, off []string
	for name, c := range t.Configs {
		if c.disabled() {
			off = append(off, name)
		} else {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	slices.Sort(off)
	if t.Default.disabled() {
		s.Match = endpoint.Literal(on)
	} else {
		s.Except = endpoint.Literal(off)
	}
	return s
}
