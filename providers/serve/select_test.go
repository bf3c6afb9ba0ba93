package serve_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// A request selects tools of the bridge by a header, and by the MCP servers that its API has: by their
// names, never by their URLs.
func TestSelection(t *testing.T) {
	var all []bridge.Member
	for _, name := range []string{"git", "docs"} {
		var tools []bridge.Tool
		for _, tool := range []string{"get", "put"} {
			f, err := bridge.Func(tool, "Does it.", func(context.Context, struct{}) (string, error) { return "", nil })
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, f)
		}
		native, err := bridge.NewNative(bridge.NativeOptions{}, tools...)
		if err != nil {
			t.Fatal(err)
		}
		defer native.Close()
		all = append(all, bridge.Member{Name: name, Source: native})
	}
	model := &scripted{}
	server := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(bridge.New(bridge.Options{}, all...)),
		Caller:  func(*http.Request) bridge.Caller { return bridge.Caller{} },
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
		},
	})
	const (
		completions = `"messages":[{"role":"user","content":"hi"}]`
		messages    = `"max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
		input       = `"input":"hi"`
	)
	for _, c := range []struct{ path, header, body, want string }{
		{"chat/completions", "", completions, "git__get git__put docs__get docs__put"},
		{"chat/completions", "git__*, docs__put", completions, "git__get git__put docs__put"},
		{"chat/completions", "x*", completions, "400 X-Mcpbridge-Tools: no tool matches x*"},
		{"chat/completions", "[", completions, `400 X-Mcpbridge-Tools: \"[\": expected a glob`},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git","server_url":"http://127.0.0.1:1","require_approval":"never"}]`, "git__get git__put"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git","allowed_tools":["get"]},{"type":"mcp","server_label":"docs","allowed_tools":{"tool_names":["put"]}}]`, "git__get docs__put"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"x"}]`, `400 tools[0].server_label: no tools of a server \"x\" are available: the servers are docs, git`},
		{"responses", "", input + `,"tools":[{"type":"mcp"}]`, "400 tools[0].server_label: expected the name"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git","require_approval":"always"}]`, "400 tools[0].require_approval: "},
		{"responses", "*", input + `,"tools":[{"type":"mcp","server_label":"git"}]`, "400 X-Mcpbridge-Tools: the request itself selects servers"},
		{"messages", "", messages + `,"mcp_servers":[{"type":"url","name":"docs","url":"http://127.0.0.1:1"}]`, "docs__get docs__put"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs","tool_configuration":{"allowed_tools":["get"]}}]`, "docs__get"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs","tool_configuration":{"enabled":false}}]`, ""},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs"},{"name":"git"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"git","default_config":{"enabled":false},"configs":{"get":{"enabled":true}}},{"type":"mcp_toolset","mcp_server_name":"docs","configs":{"get":{"enabled":false}}},{"name":"own","input_schema":{"type":"object"}}]`, "own git__get docs__put"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"x"}]`, `400 mcp_servers.0.name: no tools of a server \"x\"`},
		{"messages", "", messages + `,"tools":[{"type":"mcp_toolset","mcp_server_name":"git"}]`, "400 tools.0.mcp_server_name: expected a name in mcp_servers"},
	} {
		model.turns, model.requests = []providers.Turn{says("ok")}, nil
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+c.path, strings.NewReader(`{"model":"here/m",`+c.body+"}"))
		if c.header != "" {
			r.Header.Set(serve.ToolsHeader, c.header)
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if wrong, ok := strings.CutPrefix(c.want, "400 "); ok {
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), wrong) {
				t.Errorf("%s: %d %s", c.want, w.Code, w.Body)
			}
			continue
		}
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", c.body, w.Code, w.Body)
			continue
		}
		var names []string
		for _, tool := range model.requests[0].Tools.Tools() {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}
