package config

import (
	"slices"
	"strings"
	"testing"
)

func TestKeepsState(t *testing.T) {
	if names := stateful(); len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return packageName(n) != n }) {
		t.Errorf("names: %q", names)
	}
	for _, c := range []struct{ command, want string }{
		{"npx -y @playwright/mcp@latest", "@playwright/mcp"},
		{"npx @Playwright/MCP --headless", "@playwright/mcp"},
		{"docker run -i --rm mcp/playwright:v1", "mcp/playwright"},
		{"docker run localhost:5000/mcp/other", ""},
		{"uvx jupyter-mcp-server==1.2", "jupyter-mcp-server"},
		{"uvx --from git+https://github.com/oraios/serena serena start", "serena"},
		{`C:\tools\mcp-gdb.exe`, "mcp-gdb"},
		{"/usr/bin/mcp-gdb x", "mcp-gdb"},
		{"npx -y @modelcontextprotocol/server-filesystem /home/me/serena", ""},
		{"npx -y @scope/mcp-gdb", ""},
		{"npx @ : == [", ""},
	} {
		words := strings.Fields(c.command)
		s := Server{Command: words[0], Args: words[1:]}
		if got := s.KeepsState(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.command, got, c.want)
		}
	}
}
