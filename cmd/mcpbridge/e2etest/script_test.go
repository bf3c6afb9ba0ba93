package e2etest

import (
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// script is an MCP server with the tools in scriptcall_test.go.
type script struct {
	*peer.Server
	legacy, modern bool // the eras that it speaks

	// guarded by the server's State
	states  map[string]map[string]string // answers so far by the requestState given out
	watched map[string]bool              // resources subscribed to
	listens map[*scriptCall]struct{}     // streams of subscriptions/listen
	level   string                       // of the log
	tasks   int
}

// eras are the arguments of newScript.
var eras = []string{"legacy", "modern", "dual"}

func newScript(era string) *script {
	s := &script{
		Server: peer.NewServer(strings.TrimPrefix(era, "dual")), legacy: era != "modern", modern: era != "legacy",
		states: map[string]map[string]string{}, watched: map[string]bool{}, listens: map[*scriptCall]struct{}{},
	}
	s.Capabilities = `"resources":{"subscribe":true,"listChanged":true},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}`
	s.Tools = `{"name":"` + strings.Join(scriptTools, `","inputSchema":{"type":"object"}},{"name":"`) + `","inputSchema":{"type":"object"}}`
	s.Take = func(c *peer.Call) { (&scriptCall{c, s}).dispatch() }
	return s
}

// kill ends every connection and its subscriptions.
func (s *script) kill() {
	s.Update(func() {
		clear(s.watched)
		clear(s.listens)
	})
	s.Kill()
}

// upCarrier is a carrier from the bridge to a server.
type upCarrier struct {
	name   string
	config func(testing.TB, *peer.Server) mcpclient.Config
}

// upCarriers have a connection for each caller.
var upCarriers = []upCarrier{
	{"stdio", func(t testing.TB, s *peer.Server) mcpclient.Config {
		command, env := s.Child(t)
		return mcpclient.Config{Command: command, Env: env, Sharing: mcpclient.Session}
	}},
	{"http", func(t testing.TB, s *peer.Server) mcpclient.Config {
		return mcpclient.Config{URL: s.Serve(t, nil) + "/mcp", Sharing: mcpclient.Session}
	}},
	{"sse", func(t testing.TB, s *peer.Server) mcpclient.Config {
		return mcpclient.Config{URL: s.Serve(t, nil) + "/sse", Transport: mcpclient.SSE, Sharing: mcpclient.Session}
	}},
	{"ws", func(t testing.TB, s *peer.Server) mcpclient.Config {
		return mcpclient.Config{URL: "ws" + strings.TrimPrefix(s.Serve(t, nil), "http") + "/ws", Sharing: mcpclient.Session}
	}},
}
