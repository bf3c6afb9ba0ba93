package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// A ServerState is the current state of a server.
type ServerState struct {
	mcpclient.Status
	Name     string
	Required bool
}

// Servers returns the states of the config's servers, in file order.
func (s *Stack) Servers() []ServerState {
	all := make([]ServerState, len(s.clients))
	for i, c := range s.clients {
		all[i] = ServerState{c.Status(), c.Name(), s.cfg.Servers[i].Required}
	}
	return all
}

// Up reports whether the server is connected, or lazy and not needed so far.
func (st ServerState) Up() bool {
	return st.State == mcpclient.Ready || st.State == mcpclient.Idle
}

// String describes the state in one line.
func (st ServerState) String() string {
	text := st.Name + ": " + string(st.State)
	if st.Server != "" {
		tools := "tools"
		if st.Items[bridge.Tools] == 1 {
			tools = "tool"
		}
		text += fmt.Sprintf(" (%s, MCP %s, %d %s)", strings.TrimSpace(st.Server), st.Revision, st.Items[bridge.Tools], tools)
	}
	if st.Reason != "" {
		text += ": " + st.Reason
	}
	return text
}

// AwaitRequired waits for the servers that the config requires.
func (s *Stack) AwaitRequired(ctx context.Context, own bridge.Session) error {
	if !slices.ContainsFunc(s.cfg.Servers, func(server config.Server) bool { return server.Required }) {
		return nil
	}
	if reply := own.Do(ctx, &bridge.Request{Method: wire.MethodDiscover}); reply.Err != nil {
		return reply.Err
	}
	return nil
}

// Warnings returns warnings about native tools, one line each.
func (s *Stack) Warnings() []string { return s.natives.warnings }

// Problems returns the native tools that were left out, and the tools of the current lists that
// were left out or changed.
func (s *Stack) Problems() []bridge.Problem {
	var all []bridge.Problem
	for _, text := range s.natives.leftOut {
		all = append(all, bridge.Problem{Text: text, LeftOut: true})
	}
	for _, g := range s.guards {
		for _, p := range g.Problems() {
			p.Text = g.server + ": " + p.Text
			all = append(all, p)
		}
	}
	return append(all, s.bridge.Problems()...)
}
