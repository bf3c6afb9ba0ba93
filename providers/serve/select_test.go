package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// selecting returns a server whose bridge has the servers git and docs, with the tools get and put each.
func selecting(t *testing.T) (*serve.Server, *scripted) {
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
		t.Cleanup(func() { native.Close() })
		all = append(all, bridge.Member{Name: name, Source: native})
	}
	model := &scripted{}
	return serve.New(serve.Options{
		Toolbox: providers.NewToolbox(bridge.New(bridge.Options{}, all...)),
		Caller:  func(*http.Request) bridge.Caller { return bridge.Caller{} },
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
		},
	}), model
}

// checkOffered sends a request, and compares the names of the tools that the model is offered, and what it must
// call, or "400 " and the error.
func checkOffered(t *testing.T, server *serve.Server, model *scripted, path, header, body, want string) {
	t.Helper()
	model.turns, model.requests = []providers.Turn{says("ok")}, nil
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+path, strings.NewReader(body))
	if header != "" {
		r.Header.Set(serve.ToolsHeader, header)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	if wrong, ok := strings.CutPrefix(want, "400 "); ok {
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), wrong) {
			t.Errorf("%s: %d %s", want, w.Code, w.Body)
		}
		return
	}
	if w.Code != http.StatusOK {
		t.Errorf("%s: %d %s", body, w.Code, w.Body)
		return
	}
	var names []string
	for _, tool := range model.requests[0].Tools.Tools() {
		names = append(names, tool.Name)
	}
	if choice := model.requests[0].Choice; choice != providers.ChoiceAuto {
		names = append(names, "must", string(choice))
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s: %s, want %s", body, got, want)
	}
}

// A request selects tools of the bridge by a header, and by the MCP servers that its API has: by their
// names, never by their URLs.
func TestSelection(t *testing.T) {
	server, model := selecting(t)
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
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git"},{"type":"mcp","server_label":"git","allowed_tools":["get"]}]`, `400 tools[1].server_label: \"git\" is that of another tool, too`},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git"}],"tool_choice":{"type":"mcp","server_label":"git","name":"put"}`, "git__get git__put must git__put"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git"},{"type":"mcp","server_label":"docs"}],"tool_choice":{"type":"mcp","server_label":"docs"}`, "docs__get docs__put must required"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git"}],"tool_choice":{"type":"mcp","server_label":"docs"}`, "400 tool_choice.server_label: expected that of a tool"},
		{"responses", "", input + `,"tools":[{"type":"mcp","server_label":"git"}],"tool_choice":{"type":"mcp","server_label":"git","name":"x"}`, `400 tool_choice: no such tool of the server \"git\" is offered`},
		{"responses", "*", input + `,"tools":[{"type":"mcp","server_label":"git"}]`, "400 X-Mcpbridge-Tools: the request itself selects servers"},
		{"messages", "", messages + `,"mcp_servers":[{"type":"url","name":"docs","url":"http://127.0.0.1:1"}]`, "docs__get docs__put"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs","tool_configuration":{"allowed_tools":["get"]}}]`, "docs__get"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs","tool_configuration":{"enabled":false}}]`, ""},
		{"messages", "", messages + `,"mcp_servers":[{"name":"docs"},{"name":"git"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"git","default_config":{"enabled":false},"configs":{"get":{"enabled":true}}},{"type":"mcp_toolset","mcp_server_name":"docs","configs":{"get":{"enabled":false}}},{"name":"own","input_schema":{"type":"object"}}]`, "own git__get docs__put"},
		{"messages", "", messages + `,"mcp_servers":[{"name":"git"},{"name":"docs"},{"name":"git"}]`, `400 mcp_servers.2.name: \"git\" is that of mcp_servers.0, too`},
		{"messages", "", messages + `,"mcp_servers":[{"name":"x"}]`, `400 mcp_servers.0.name: no tools of a server \"x\"`},
		{"messages", "", messages + `,"tools":[{"type":"mcp_toolset","mcp_server_name":"git"}]`, "400 tools.0.mcp_server_name: expected a name in mcp_servers"},
	} {
		checkOffered(t, server, model, c.path, c.header, "{"+`"model":"here/m",`+c.body+"}", c.want)
	}
}

// With allowed_tools of Responses the model is offered only those: functions, servers, and tools of theirs.
func TestAllowedServers(t *testing.T) {
	server, model := selecting(t)
	const (
		own     = `{"type":"function","name":"put","parameters":{"type":"object"}}`
		allowed = `"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[`
	)
	var many []string
	for i := range 1001 {
		many = append(many, fmt.Sprintf(`{"type":"mcp","server_label":"s%d","allowed_tools":["get"]}`, i))
	}
	for _, c := range []struct{ body, want string }{
		{`"tools":[` + strings.Join(many, ",") + `]`, "400 tools[1000].server_label: expected at most 1000 names of tools"},
		{`"tools":[{"type":"mcp","server_label":"git"},{"type":"mcp","server_label":"docs"},` + own + `],` + allowed + `{"type":"mcp","server_label":"git"},{"type":"mcp","server_label":"docs","name":"put"},{"type":"web_search"},{"type":"function","name":"put"}]}`, "put git__get git__put docs__put"},
		{`"tools":[{"type":"mcp","server_label":"git"},` + own + `],` + allowed + `{"type":"function","name":"git__get"}]}`, "git__get"},
		{`"tools":[{"type":"mcp","server_label":"git"}],` + allowed + `{"type":"mcp","server_label":"docs"}]}`, "400 tool_choice.tools[0].server_label: expected that of a tool"},
		{`"tools":[{"type":"mcp","server_label":"git"}],` + allowed + `{"type":"mcp","server_label":"git","name":"x"}]}`, `400 tool_choice: no such tool of the server \"git\" is offered`},
		{allowed + `{"type":"function"}]}`, `400 tool_choice.tools[0].name: expected the name of a tool`},
		{allowed + strings.Repeat(`{"type":"function","name":"x"},`, 1000) + `{"type":"function","name":"x"}]}`, `400 tool_choice: expected at most 1000 names of tools`},
	} {
		checkOffered(t, server, model, "responses", "", `{"model":"here/m","input":"hi",`+c.body+"}", c.want)
	}
}

// The calls of servers that a request names are shown as its API's own items, and no others.
func TestShownCalls(t *testing.T) {
	get, err := bridge.Func("get", "Gets.", func(_ context.Context, in struct {
		What string `json:"what"`
	}) (string, error) {
		if in.What == "" {
			return "", errors.New("nothing to get")
		}
		return in.What + "!", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, get)
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	prefix, model := "git__", &scripted{}
	server := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(bridge.New(bridge.Options{}, bridge.Member{Name: "git", Source: native, Prefix: &prefix})),
		Caller:  func(*http.Request) bridge.Caller { return bridge.Caller{} },
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
		},
	})
	ids := regexp.MustCompile(`(mcp|mcpl|mcptoolu|msg|resp)_[A-Z0-9]{20,}`)
	previous := ""
	ask := func(path, body string) string {
		body = strings.Replace(body, "PREVIOUS", previous, 1)
		model.turns = []providers.Turn{says("", call("1", "git__get", `{"what":"it"}`)), says("", call("2", "git__get", `{"what":""}`)), says("Done.")}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
		if id := regexp.MustCompile(`resp_[A-Z0-9]{20,}`).FindString(w.Body.String()); id != "" {
			previous = id
		}
		return ids.ReplaceAllString(w.Body.String(), "${1}_ID")
	}
	const (
		response = `{"model":"m","input":"go","tools":[{"type":"mcp","server_label":"git"}]`
		listed   = `{"id":"mcpl_ID","type":"mcp_list_tools","server_label":"git","tools":[{"name":"get","description":"Gets.","input_schema":{"type":"object","properties":{"what":{"type":"string"}},"required":["what"],"additionalProperties":false},"annotations":null}],"error":null}`
		unlisted = `{"id":"mcpl_ID","type":"mcp_list_tools","server_label":"git","tools":[],"error":null}`
		message  = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}],"mcp_servers":[{"name":"git"}]`
		item     = `{"id":"mcp_ID","type":"mcp_call","status":"completed","server_label":"git","name":"get","arguments":"{\"what\":\"it\"}","output":"it!","error":null,"approval_request_id":null}`
		use      = `{"type":"mcp_tool_use","id":"mcptoolu_ID","name":"get","server_name":"git","input":`
		result   = `{"type":"mcp_tool_result","tool_use_id":"mcptoolu_ID","is_error":false,"content":[{"type":"text","text":"it!"}]}`
	)
	for _, c := range []struct {
		path, body string
		want       []string
	}{
		{"/v1/responses", response + "}", []string{`"output":[` + listed + `,` + item + `,{"id":"mcp_ID"`, `"status":"failed"`, `"output":null,"error":"nothing to get"`, `"text":"Done."`}},
		{"/v1/responses", strings.Replace(response, `"go"`, `[`+listed+`,{"role":"user","content":"go"}]`, 1) + "}", []string{`"output":[` + item}},
		{"/v1/responses", response + `,"store":true}`, []string{`"output":[` + listed}},
		{"/v1/responses", response + `,"store":true,"previous_response_id":"PREVIOUS"}`, []string{`"output":[` + item}},
		{"/v1/responses", `{"model":"m","input":"go","store":true}`, []string{`"output":[{"id":"msg_ID"`}},
		{"/v1/responses", response + `,"previous_response_id":"PREVIOUS"}`, []string{`"output":[` + listed + `,` + item}}, {"/v1/responses", response + `,"stream":true}`, []string{
			`{"item":` + unlisted + `,"output_index":0,"sequence_number":2,"type":"response.output_item.added"}`,
			`{"item_id":"mcpl_ID","output_index":0,"sequence_number":3,"type":"response.mcp_list_tools.in_progress"}`,
			`{"item_id":"mcpl_ID","output_index":0,"sequence_number":4,"type":"response.mcp_list_tools.completed"}`,
			`{"item":` + listed + `,"output_index":0,"sequence_number":5,"type":"response.output_item.done"}`,
			`"server_label":"git","name":"get","arguments":"","output":null,"error":null`, `"type":"response.mcp_call.in_progress"`,
			`{"delta":"{\"what\":\"it\"}","item_id":"mcp_ID","output_index":1,"sequence_number":8,"type":"response.mcp_call_arguments.delta"}`,
			`{"arguments":"{\"what\":\"it\"}","item_id":"mcp_ID","output_index":1,"sequence_number":9,"type":"response.mcp_call_arguments.done"}`,
			`"type":"response.mcp_call.completed"`, `{"item":` + item + `,"output_index":1`, `"type":"response.mcp_call.failed"`,
		}},
		{"/v1/messages", message + "}", []string{`"content":[` + use + `{"what":"it"}},` + result + `,` + use, `"is_error":true,"content":[{"type":"text","text":"nothing to get"}]}`, `"text":"Done."`, `"stop_reason":"end_turn"`}},
		{"/v1/messages", message + `,"stream":true}`, []string{
			`"index":0,"content_block":` + use + `{}}`, `"index":0,"delta":{"partial_json":"{\"what\":\"it\"}"`, `"index":1,"content_block":` + result,
		}},
		{"/v1/messages", strings.Replace(message, `,"mcp_servers":[{"name":"git"}]`, "", 1) + "}", []string{`"content":[{"type":"text","text":"Done."}]`}},
		{"/v1/responses", `{"model":"m","input":"go"}`, []string{`"output":[{"id":"msg_ID"`}},
	} {
		got := ask(c.path, c.body)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s\nis missing in\n%s", want, got)
			}
		}
	}
}

// Calls of servers that a client sends back are shown to the model as the calls and results that they are. The rounds
// that the client did not see are found as without them, and what a provider has signed stays as it was.
func TestCallsSentBack(t *testing.T) {
	const (
		use      = `{"type":"mcp_tool_use","id":"u1","name":"get","server_name":"git","input":{"what":"it"}},{"type":"mcp_tool_result","tool_use_id":"u1","is_error":true,"content":[{"type":"text","text":"gone"}]}`
		messages = `{"model":"here/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"Hm."},` + use + `,{"type":"text","text":"Gone."}]},{"role":"user","content":"so?"}]`
		input    = `{"model":"here/m","input":[{"role":"user","content":"go"},{"role":"assistant","content":"Hm."},
			{"type":"mcp_call","id":"u1","server_label":"git","name":"get","arguments":"{\"what\":\"it\"}","output":null,"error":"gone"},
			{"role":"assistant","content":"Gone."},{"role":"user","content":"so?"}]`
		want = "user go|assistant Hm. git__get({\"what\":\"it\"})|tool Error: gone|assistant Gone.|user so?"
	)
	show := func(messages []providers.Message) string {
		var all []string
		for _, m := range messages {
			text := string(m.Role) + " " + m.Text()
			for _, p := range m.Parts {
				switch {
				case p.Call != nil:
					text += " " + p.Call.Name + "(" + string(p.Call.Arguments) + ")"
				case p.Result != nil:
					text += p.Result.Text(true)
				}
			}
			all = append(all, text)
		}
		return strings.Join(all, "|")
	}
	for path, body := range map[string]string{"/v1/messages": messages, "/v1/responses": input} {
		f := newFront(t, says("ok"))
		f.postTo(path, "", body+"}")
		if got := show(f.requests[0].Messages); got != want {
			t.Errorf("%s: %s\nwant %s", path, got, want)
		}
	}
	f := newFront(t, says("", call("a", "double", `{"n":2}`)), says("", call("b", "draw", "{}")), says("drawn"))
	_, body := f.post("", `{"model":"here/m",`+drawTool+`,"messages":[{"role":"user","content":"go"}]}`)
	id := regexp.MustCompile(`call_[A-Z0-9]{20,}`).FindString(body)
	f.postTo("/v1/responses", "", `{"model":"here/m","tools":[{"type":"function","name":"draw","parameters":{"type":"object"}}],"input":[{"role":"user","content":"go"},
		{"type":"mcp_call","id":"m1","server_label":"x","name":"double","arguments":"{\"n\":2}","output":"4"},
		{"type":"function_call","call_id":"`+id+`","name":"draw","arguments":"{}"},{"type":"function_call_output","call_id":"`+id+`","output":"a cat"}]}`)
	if got := show(f.requests[2].Messages); got != `user go|assistant  double({"n":2})|tool 4|assistant  draw({})|tool a cat` {
		t.Error(got)
	}
}

// The calls that a client sends back have the names that the model knows, whatever the prefix of their server is.
func TestCallsSentBackNames(t *testing.T) {
	get, err := bridge.Func("get", "Gets.", func(context.Context, struct{}) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, get)
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	prefix, plain := "g.", ""
	model := &scripted{}
	server := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(bridge.New(bridge.Options{}, bridge.Member{Name: "git", Source: native, Prefix: &prefix}, bridge.Member{Name: "docs", Source: native, Prefix: &plain})),
		Caller:  func(*http.Request) bridge.Caller { return bridge.Caller{} },
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
		},
	})
	for path, form := range map[string]string{
		"responses": `"input":[{"role":"user","content":"go"},{"type":"mcp_call","id":"u1","server_label":"SERVER","name":"get","arguments":"{}","output":"1"}]}`,
		"messages":  `"max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"mcp_tool_use","id":"u1","name":"get","server_name":"SERVER","input":{}},{"type":"mcp_tool_result","tool_use_id":"u1","content":"1"}]}]}`,
	} {
		for name, want := range map[string]string{"git": "g.get", "docs": "get", "gone": "gone__get"} {
			model.turns, model.requests = []providers.Turn{says("ok")}, nil
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/"+path, strings.NewReader(`{"model":"m",`+strings.Replace(form, "SERVER", name, 1))))
			if w.Code != http.StatusOK || model.requests[0].Messages[1].Calls()[0].Name != want {
				t.Errorf("%s %s: %d %s, asked %+v", path, name, w.Code, w.Body, model.requests)
			}
		}
	}
}
