package anthropic

import (
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestEncode checks the requests for the conversations below, each with its notes.
func TestEncode(t *testing.T) {
	var sections []txtar.File
	for _, c := range conversations() {
		sections = append(sections, providertest.Section(t, c.name, func(client *http.Client) providers.Provider {
			c.options.HTTP = client
			return New(c.options)
		}, &c.req))
	}
	providertest.Golden(t, *update, "testdata/requests.txtar", sections...)
}

type conversation struct {
	name    string
	options Options
	req     providers.Request
}

func number(f float64) *float64 { return &f }

func conversations() []conversation {
	weather := providers.NewToolSet([]toolformat.Tool{
		{Name: "get_weather", Description: "The weather of a city.", InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer","maximum":9223372036854775807}},"required":["city"]}`)},
		{Name: "files.read", Description: "Reads a <file>.", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	})
	hello := []providers.Message{providers.UserText("Hello <you>")}
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}`)
	all := []conversation{
		{"parameters", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{Stop: []string{"<end>"}, Effort: "minimal", Answer: &providers.AnswerFormat{Schema: schema}}}},
		{"no thinking", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{Effort: "none"}}},
		{"adaptive thinking", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{Thinking: providers.ThinkingOn, Effort: "max"}}},
		{"a budget of thinking", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{Thinking: 8000}}},
		{"more thinking than tokens", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{MaxTokens: 4000, Thinking: 8000}}},
		{"no room for thinking", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{MaxTokens: 100, Thinking: 8000}}},
		{"thinking, and a tool that must be called", Options{}, providers.Request{Model: "claude-x", Messages: hello, Tools: weather, Choice: providers.ChoiceRequired, Settings: providers.Settings{Thinking: 8000, Effort: "high", Temperature: number(0)}}},
		{"thinking, and a tool that cannot be called", Options{}, providers.Request{Model: "claude-x", Messages: hello, Choice: "get_weather", Settings: providers.Settings{Thinking: providers.ThinkingOn}}},
		{"thinking, and a temperature", Options{}, providers.Request{Model: "claude-x", Messages: hello, Tools: weather, Settings: providers.Settings{Thinking: providers.ThinkingOn, Temperature: number(0.7), TopP: number(0.9)}}},
		{"thinking, and a temperature that may be", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{Thinking: 8000, Temperature: number(1), TopP: number(0.95)}}},
		{"thinking that is not, and a temperature", Options{}, providers.Request{Model: "claude-x", Messages: hello, Settings: providers.Settings{MaxTokens: 100, Thinking: 8000, Temperature: number(0.7)}}},
		{"a text", Options{}, providers.Request{Model: "claude-x", Messages: hello}},
		{"system, tools and settings", Options{}, providers.Request{Model: "claude-x", System: "Be kind.", Messages: hello, Tools: weather, Settings: providers.Settings{
			MaxTokens: 100, Temperature: number(0), TopP: number(0.9), Serial: true, Body: json.RawMessage(`{"thinking":{"type":"enabled","budget_tokens":1024},"max_tokens":2000}`),
		}}},
		{"tools that are kept", Options{Cache: "1h"}, providers.Request{Model: "claude-x", Messages: hello, Tools: weather, Choice: providers.ChoiceRequired}},
		{"no cache", Options{Cache: "none"}, providers.Request{Model: "claude-x", System: "Be kind.", Messages: hello, Tools: weather}},
		{"marks of the body", Options{Client: providers.Client{Body: json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`)}}, providers.Request{Model: "claude-x", System: "Be kind.", Messages: hello, Tools: weather}},
		{"no tool", Options{}, providers.Request{Model: "claude-x", Messages: hello, Tools: weather, Choice: providers.ChoiceNone, Settings: providers.Settings{Serial: true}}},
		{"one tool", Options{}, providers.Request{Model: "claude-x", Messages: hello, Tools: weather, Choice: "files.read", Settings: providers.Settings{Serial: true}}},
		{"a choice without tools", Options{}, providers.Request{Model: "claude-x", Messages: hello, Choice: providers.ChoiceRequired}},
		{"files of the user", Options{}, providers.Request{Model: "claude-x", Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{
			{Type: providers.PartText, Text: "What are these?"},
			{Type: providers.PartImage, MimeType: "image/jpg", Data: []byte("jpeg")},
			{Type: providers.PartFile, MimeType: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
			{Type: providers.PartFile, MimeType: "text/csv; charset=utf-8", Data: []byte("a,b\n"), Name: "a.csv"},
			{Type: providers.PartFile, MimeType: "audio/wav", Data: []byte("wave")},
		}}}}},
	}
	return append(all, histories()...)
}

// raw returns a message that the API sent.
func raw(items string, calls ...*providers.Call) providers.Message {
	m := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: name, Model: "claude-x", Items: json.RawMessage(items)}}
	for _, c := range calls {
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: c})
	}
	return m
}

// results returns a message with MCP results.
func results(of map[string]string) providers.Message {
	m := providers.Message{Role: providers.RoleTool}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		m.Parts = append(m.Parts, providertest.Result(id, "get_weather", of[id]))
	}
	return m
}

func histories() []conversation {
	hello := providers.UserText("Hello")
	foreign := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{
		{Type: providers.PartThinking, Text: "Hm."},
		{Type: providers.PartText, Text: "Let me see."},
		providertest.Call("functions.read:0", "files.read", `{"path":"/a","n":9223372036854775807}`),
		providertest.Call("call_1", "gone tool", `"{\"pa"`),
		{Type: providers.PartCall, Call: &providers.Call{ID: "call_2", Name: "get_weather"}},
	}, Raw: &providers.Raw{Provider: "openai", Model: "gpt-x", Items: json.RawMessage(`{}`)}}
	own := raw(`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"\n\n"},{"type":"redacted_thinking","data":"eA=="},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"tool_use","id":"toolu:1","name":"get_weather","input":{"n": 9223372036854775807, "city":"Rome"},"caller":{"type":"direct"}}],"container":{"id":"container_1","expires_at":"2999-01-01T00:00:00Z"}}`, &providers.Call{ID: "toolu:1", Name: "get_weather"})
	all := []struct {
		name     string
		messages []providers.Message
	}{
		{"a turn of its own", []providers.Message{hello, own, results(map[string]string{"toolu:1": `{"content":[{"type":"text","text":"rain"}]}`}), providers.UserText("And?")}},
		{"a turn of another provider", []providers.Message{hello, foreign, results(map[string]string{"functions.read:0": `{"content":[]}`, "call_1": `{"content":[],"isError":true}`, "call_2": `{"content":[{"type":"text","text":" "}],"structuredContent":{"t": 12.0}}`})}},
		{"results of every kind", []providers.Message{hello, raw(`{"content":[{"type":"tool_use","id":"a","name":"get_weather","input":{}},{"type":"tool_use","id":"b","name":"get_weather","input":{}}]}`), results(map[string]string{
			"a": `{"content":[{"type":"text","text":"Look:"},{"type":"image","mimeType":"image/png","data":"cG5n"},{"type":"audio","mimeType":"audio/wav","data":"d2F2"},{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"cGRm"}},{"type":"resource","resource":{"uri":"file:///a.txt","text":"a text"}},{"type":"resource_link","uri":"file:///b","name":"b"}]}`,
			"b": `{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
		}), providers.UserText("And?")}},
		{"failed results have only text", []providers.Message{hello, raw(`{"content":[{"type":"tool_use","id":"a","name":"get_weather","input":{}},{"type":"tool_use","id":"b","name":"get_weather","input":{}}]}`), results(map[string]string{
			"a": `{"content":[{"type":"text","text":"Timeout."},{"type":"image","mimeType":"image/png","data":"cG5n"},{"type":"audio","mimeType":"audio/wav","data":"d2F2"}],"isError":true}`,
			"b": `{"content":[{"type":"image","mimeType":"image/png","data":"cG5n"}],"isError":true}`,
		}), providers.UserText("And?")}},
		{"a turn of nothing but thinking", []providers.Message{hello, raw(`{"content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":" "},{"type":"redacted_thinking","data":"eA=="}]}`), providers.UserText("And?")}},
		{"what the API has answered to is not told again", []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{{Type: providers.PartFile, MimeType: "audio/wav", Data: []byte("wave")}}}, raw(`{"content":[{"type":"text","text":"I hear nothing."}]}`), providers.UserText("And now?")}},
		{"a pause goes on", []providers.Message{hello, raw(`{"content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}],"container":{"id":"container_1","expires_at":"2001-01-01T00:00:00Z"}}`), raw(`{"content":[{"type":"text","text":"It is."}],"container":null}`)}},
		{"a pause does not go on", []providers.Message{hello, raw(`{"content":[{"type":"text","text":"Let me see."},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}}]}`), providers.UserText("And?"),
			raw(`{"content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"mcp_tool_use","id":"mcptoolu_1","name":"f","server_name":"s","input":{}}]}`), providers.UserText("And?")}},
		{"a result whose use was left out", []providers.Message{hello, raw(`{"content":[{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"It rains."},{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}},{"type":"tool_use","id":"toolu_2","name":"get_weather","input":{}}]}`, &providers.Call{ID: "toolu_2", Name: "get_weather"}),
			results(map[string]string{"toolu_2": `{"content":[{"type":"text","text":"rain"}]}`}), raw(`{"content":[{"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":[]},{"type":"text","text":"It does."}]}`), providers.UserText("And?")}},
		{"a call whose program was left out", []providers.Message{hello, raw(`{"content":[{"type":"tool_use","id":"toolu_2","name":"get_weather","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]}`, &providers.Call{ID: "toolu_2", Name: "get_weather"}),
			results(map[string]string{"toolu_2": `{"content":[{"type":"text","text":"rain"}]}`}), raw(`{"content":[{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{}},{"type":"server_tool_use","id":"srvtoolu_2","name":"code_execution","input":{}},{"type":"tool_use","id":"toolu_3","name":"get_weather","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_2"}}]}`, &providers.Call{ID: "toolu_3", Name: "get_weather"}),
			results(map[string]string{"toolu_3": `{"content":[{"type":"text","text":"sun"}]}`})}},
		{"messages that say nothing", []providers.Message{hello, raw(`{"content":[]}`), providers.UserText(" "), {Role: providers.RoleAssistant}, providers.UserText("Are you there?")}},
	}
	var out []conversation
	for _, c := range all {
		out = append(out, conversation{c.name, Options{}, providers.Request{Model: "claude-x", Messages: c.messages}})
	}
	return out
}
