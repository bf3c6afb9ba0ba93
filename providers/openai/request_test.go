package openai

import (
	"encoding/json"
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var update = flag.Bool("update", false, "write the golden requests anew")

// TestRequests checks the requests of both providers for the same conversations: each is a
// file with both bodies.
func TestRequests(t *testing.T) {
	for name, c := range conversations() {
		t.Run(name, func(t *testing.T) {
			var sections []txtar.File
			for _, provider := range []func(Options) providers.Provider{chat, responses} {
				o := Options{Client: providers.Client{BaseURL: c.baseURL, Body: json.RawMessage(c.body)}, NoStreamOptions: c.noStreamOptions}
				api := provider(o).Name()
				sections = append(sections, providertest.Section(t, api+".json", func(client *http.Client) providers.Provider {
					o.HTTP = client
					return provider(o)
				}, c.request(api)))
			}
			providertest.Golden(t, *update, filepath.Join("testdata", "requests", name+".txtar"), sections...)
		})
	}
}

// A conversation is a golden request before it is written.
type conversation struct {
	baseURL         string
	body            string // of Options
	noStreamOptions bool
	request         func(provider string) *providers.Request
}

func conversations() map[string]conversation {
	half := 0.5
	choose := func(c providers.Choice) conversation {
		return conversation{request: func(string) *providers.Request {
			req := question()
			req.Choice = c
			return req
		}}
	}
	return map[string]conversation{
		"choice_auto":     choose(providers.ChoiceAuto),
		"choice_none":     choose(providers.ChoiceNone),
		"choice_required": choose(providers.ChoiceRequired),
		"choice_tool":     choose("weather.get"),
		"settings": {body: `{"user":"u","seed":1}`, noStreamOptions: true, baseURL: "http://127.0.0.1:1/v1", request: func(string) *providers.Request {
			req := question()
			req.System = `You are <helpful> & "brief".`
			req.Settings = providers.Settings{MaxTokens: 1000, Temperature: &half, TopP: &half, Serial: true, Body: json.RawMessage(`{"seed":12345678901234567890,"stop":["<end>"]}`)}
			return req
		}},
		"no_tools": {request: func(string) *providers.Request {
			return &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("hello")}, Choice: providers.ChoiceRequired, Settings: providers.Settings{Serial: true, MaxTokens: 7}}
		}},
		"mistral": {baseURL: "https://api.mistral.ai", request: func(string) *providers.Request {
			req := foreign()
			req.Choice, req.Settings.MaxTokens = providers.ChoiceRequired, 7
			return req
		}},
		"parameters": {request: func(api string) *providers.Request {
			req, seed, strict := question(), int64(-7), true
			req.Settings = providers.Settings{Effort: "low", Answer: &providers.AnswerFormat{Name: "a", Description: "An answer.", Strict: &strict, Schema: json.RawMessage(`{"type":"object","maximum":9223372036854775807}`)}}
			if api == "openai" {
				req.Settings.Stop, req.Settings.Seed, req.Settings.PresencePenalty, req.Settings.FrequencyPenalty = []string{"<end>"}, &seed, &half, &half
			}
			return req
		}},
		"thinking": {request: func(api string) *providers.Request {
			req := question()
			if req.Settings.Thinking = providers.ThinkingOn; api == "openai" {
				req.Settings.Thinking = 3000
			}
			return req
		}},
		"json_object": {request: func(string) *providers.Request {
			req := question()
			req.Settings.Answer = &providers.AnswerFormat{}
			return req
		}},
		"image_url": {request: func(string) *providers.Request {
			return &providers.Request{Model: "m", Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{
				{Type: providers.PartImage, URL: "https://e.example/a.png", Detail: "low"},
				{Type: providers.PartImage, Data: []byte("png"), MimeType: "image/png", Detail: "high"},
			}}}}
		}},
		"user":    {request: func(string) *providers.Request { return userSends() }},
		"foreign": {request: func(string) *providers.Request { return foreign() }},
		"own":     {request: own},
		"results": {request: func(string) *providers.Request { return results() }},
		"schema":  {request: func(string) *providers.Request { return schemas() }},
	}
}

// userSends returns a message with a part of each type.
func userSends() *providers.Request {
	return &providers.Request{Model: "m", Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{
		{Type: providers.PartText, Text: "look & listen"},
		{Type: providers.PartImage, Data: []byte("png"), MimeType: "image/png"},
		{Type: providers.PartFile, Data: []byte("wav"), MimeType: "audio/x-wav"},
		{Type: providers.PartFile, Data: []byte("mp3"), MimeType: "audio/mpeg"},
		{Type: providers.PartFile, Data: []byte("pdf"), MimeType: "application/pdf", Name: "a.pdf"},
		{Type: providers.PartFile, Data: []byte("pdf"), MimeType: "application/pdf"},
	}}}}
}

// foreign returns a conversation that another provider began.
func foreign() *providers.Request {
	long := strings.Repeat("toolu_", 12)
	call := providertest.Call
	result := func(id, name, text string) providers.Part {
		return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: name, Content: toolformat.TextResult(text, false)}}
	}
	req := question()
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "anthropic", Items: json.RawMessage(`[{"type":"thinking"}]`)}, Parts: []providers.Part{
			{Type: providers.PartThinking, Text: "cannot move"},
			{Type: providers.PartText, Text: "Let me see."},
			call("toolu_1", "weather.get", `{"city":"Rome <>","n":12345678901234567890}`),
			call(long, "gone.tool", `"{no json"`),
			call("abc", "now", ``),
		}},
		providers.Message{Role: providers.RoleTool, Parts: []providers.Part{result("toolu_1", "weather.get", "sunny"), result(long, "gone.tool", "what?"), result("abc", "now", "12:00")}},
		providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{call("x.y", "now", `{}`)}},
		providers.Message{Role: providers.RoleTool, Parts: []providers.Part{result("x.y", "now", "12:01")}},
		providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartThinking, Text: "nothing said"}}},
		providers.UserText("go on"),
	)
	return req
}

// own returns a conversation of the provider itself, which is sent back verbatim.
func own(provider string) *providers.Request {
	raw := `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"function-call-1","function":{"name":"now","arguments":"{ }"},"extra_content":{"google":{"thought_signature":"<&>"}},"n":12345678901234567890}]}`
	if provider == "openai-responses" {
		raw = `[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"xyz<&>"},{"id":"rs_2","type":"reasoning","summary":[],"content":[]},` +
			`{"id":"rs_3","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"in the clear"}]},` +
			`{"id":"msg_1","type":"message","status":"completed","phase":"commentary","role":"assistant","content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]},` +
			`{"id":"ws_1","type":"web_search_call","status":"completed"},{"id":"mcpr_1","type":"mcp_approval_request","name":"roll","arguments":"{}","server_label":"dice"},` +
			`{"id":"fc_1","type":"function_call","status":"completed","call_id":"function-call-1","name":"now","arguments":"{ }","n":12345678901234567890}]`
	}
	req := question()
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: provider, Items: json.RawMessage(raw)}, Parts: []providers.Part{
			providertest.Call("function-call-1", "now", `{ }`)}},
		providers.Message{Role: providers.RoleTool, Parts: []providers.Part{{Type: providers.PartResult, Result: &providers.Result{ID: "function-call-1", Name: "now", Content: toolformat.TextResult("12:00", false)}}}},
	)
	return req
}

// results returns results of each kind.
func results() *providers.Request {
	req := question()
	calls, answers := providers.Message{Role: providers.RoleAssistant}, providers.Message{Role: providers.RoleTool}
	for i, result := range []string{
		`{"content":[{"type":"text","text":"one"},{"type":"text","text":"two <&>"}]}`,
		`{"content":[{"type":"text","text":"no such city"}],"isError":true}`,
		`{"content":[{"type":"text","text":"Error: no such city"}],"isError":true}`,
		`{"content":[],"isError":true}`,
		`{"content":[],"structuredContent":{"n":12345678901234567890,"b":1,"a":2}}`,
		`{"content":[{"type":"text","text":"a map:"},{"type":"image","data":"cG5n","mimeType":"image/png"},{"type":"text","text":"and more"}]}`,
		`{"content":[{"type":"image","data":"anBn","mimeType":"image/jpeg"}],"isError":true}`,
		`{"content":[{"type":"audio","data":"d2F2","mimeType":"audio/wav"}]}`,
		`{"content":[{"type":"resource","resource":{"uri":"file:///a/b.pdf","mimeType":"application/pdf","blob":"cGRm"}},{"type":"resource","resource":{"uri":"file:///c","text":"words"}},{"type":"resource_link","uri":"file:///d","name":"d"}]}`,
		`{"content":[]}`,
	} {
		id := "call_" + string(rune('a'+i))
		calls.Parts = append(calls.Parts, providertest.Call(id, "add", `{}`))
		answers.Parts = append(answers.Parts, providertest.Result(id, "add", result))
	}
	req.Messages = append(req.Messages, calls, answers)
	return req
}

// schemas returns a tool with an output schema, which Responses gets.
func schemas() *providers.Request {
	req := question()
	measure := tool("measure")
	measure.OutputSchema = json.RawMessage(`{"type":"object","properties":{"grams":{"type":"integer"}}}`)
	req.Tools = providers.NewToolSet([]toolformat.Tool{measure, tool("now")})
	for _, result := range []string{
		`{"content":[{"type":"text","text":"It is 5 grams."}],"structuredContent":{"grams":5}}`,
		`{"content":[{"type":"text","text":"the scale is broken"}],"structuredContent":{"grams":0},"isError":true}`,
	} {
		req.Messages = append(req.Messages,
			providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{providertest.Call("a", "measure", `{}`)}},
			providers.Message{Role: providers.RoleTool, Parts: []providers.Part{providertest.Result("a", "measure", result)}})
	}
	return req
}

// Mistral wants the assistant to say something, also between results and the user.
func TestMistralRoles(t *testing.T) {
	empty := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "openai", Items: json.RawMessage(`{"role":"assistant","content":""}`)}}
	called := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{providertest.Call("a", "add", `{}`)}}
	answered := func(content string) providers.Message {
		return providers.Message{Role: providers.RoleTool, Parts: []providers.Part{providertest.Result("a", "add", `{"content":[`+content+`]}`)}}
	}
	req := &providers.Request{Model: "m", Memo: &providers.Memo{}}
	for base, want := range map[string]string{
		"https://api.mistral.ai": "user assistant tool assistant user assistant user assistant OK user assistant tool assistant user",
		"https://api.openai.com": "user assistant tool user user assistant user assistant tool user",
	} {
		p := NewChat(Options{Client: providers.Client{BaseURL: base}})
		req.Messages = []providers.Message{providers.UserText("go"), called, answered(`{"type":"image","data":"cG5n","mimeType":"image/png"}`), providers.UserText("and?"), empty, providers.UserText("and?"), called, answered("")}
		p.messages(req)
		req.Messages = append(req.Messages, providers.UserText("and?"))
		var roles []string
		for m := range wire.Elements(append(p.messages(req), ']')) {
			role, content := rawjson.TextAt(m, "role"), rawjson.TextAt(m, "content")
			if roles = append(roles, role); content == "OK" && len(roles) == 8 {
				roles = append(roles, content)
			}
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

// Of tools that cannot be expressed nothing is sent.
func TestToolsLeftOut(t *testing.T) {
	req := question()
	req.Tools = providers.NewToolSet([]toolformat.Tool{{Name: "text", InputSchema: json.RawMessage(`{"type":"string"}`)}})
	req.Choice = providers.ChoiceRequired
	for _, body := range [][]byte{NewChat(Options{}).encode(req), NewResponses(Options{}).encode(req, true)} {
		if strings.Contains(string(body), `"tool`) {
			t.Errorf("%s", body)
		}
	}
}

// Reasoning behind which a turn has nothing else is not sent back.
func TestReasoningAlone(t *testing.T) {
	const said = `{"type":"message","role":"assistant","content":[]}`
	for items, want := range map[string]string{
		`[` + reasoningItem + `]`:                                                `[`,
		`[` + said + `,` + reasoningItem + `]`:                                   `[` + said,
		`[` + reasoningItem + `,` + reasoningItem + `,` + said + `]`:             `[` + reasoningItem + `,` + reasoningItem + `,` + said,
		`[` + said + `,` + reasoningItem + `,{"type":"reasoning"},` + said + `]`: `[` + said + `,` + reasoningItem + `,` + said,
	} {
		if got := string(rawItems([]byte("["), []byte(items))); got != want {
			t.Errorf("%s: %s, want %s", items, got, want)
		}
	}
}
