package gemini

import (
	"encoding/json"
	"flag"
	"strings"
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
		sections = append(sections, providertest.Section(t, c.name, provider, &c.req))
	}
	providertest.Golden(t, *update, "testdata/requests.txtar", sections...)
}

type conversation struct {
	name string
	req  providers.Request
}

func number(f float64) *float64 { return &f }

func conversations() []conversation {
	weather := providers.NewToolSet([]toolformat.Tool{
		{Name: "get_weather", Description: "The weather of a city.", InputSchema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"n":{"type":"integer","maximum":9223372036854775807}},"required":["city"]}`), OutputSchema: []byte(`{"type":"object","properties":{"t":{"type":"number"}}}`)},
		{Name: "files/read", Description: "Reads a <file>.", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
	})
	hello := []providers.Message{providers.UserText("Hello <you>")}
	seed := int64(-7)
	all := []conversation{
		{"a text", providers.Request{Model: "gemini-2.5-flash", Messages: hello}},
		{"system, tools and settings", providers.Request{Model: "gemini-2.5-flash", System: "Be kind.", Messages: hello, Tools: weather, Settings: providers.Settings{
			MaxTokens: 100, Temperature: number(0), TopP: number(0.9), Serial: true, Body: json.RawMessage(`{"generationConfig":{"thinkingConfig":{"thinkingBudget":128},"topP":0.5}}`),
		}}},
		{"settings alone", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Settings: providers.Settings{MaxTokens: 100}}},
		{"parameters", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Settings: providers.Settings{
			Stop: []string{"<end>"}, Seed: &seed, PresencePenalty: number(0.5), FrequencyPenalty: number(-1), Effort: "medium",
			Answer: &providers.AnswerFormat{Name: "a", Schema: json.RawMessage(`{"type":"object","maximum":9223372036854775807}`)},
		}}},
		{"parameters of a newer model", providers.Request{Model: "gemini-3-pro", Messages: hello, Settings: providers.Settings{
			Effort: "xhigh", Answer: &providers.AnswerFormat{}, Body: json.RawMessage(`{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`),
		}}},
		{"a budget of thinking", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Settings: providers.Settings{Thinking: 3000}}},
		{"thoughts of a newer model", providers.Request{Model: "gemini-3-pro", Messages: hello, Settings: providers.Settings{Thinking: 3000}}},
		{"thoughts", providers.Request{Model: "gemini-3-pro", Messages: hello, Settings: providers.Settings{Thinking: providers.ThinkingOn}}},
		{"as little thinking as it can", providers.Request{Model: "gemini-2.5-pro", Messages: hello, Settings: providers.Settings{Thinking: providers.ThinkingOff}}},
		{"as little thinking as a newer model can", providers.Request{Model: "gemini-3.1-pro-preview", Messages: hello, Settings: providers.Settings{Effort: "none"}}},
		{"as little thinking as a small model can", providers.Request{Model: "gemini-3.1-flash-lite", Messages: hello, Settings: providers.Settings{Effort: "none"}}},
		{"no thinking", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Settings: providers.Settings{Thinking: providers.ThinkingOff}}},
		{"some tool", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Tools: weather, Choice: providers.ChoiceRequired}},
		{"no tool", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Tools: weather, Choice: providers.ChoiceNone}},
		{"one tool", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Tools: weather, Choice: "files/read"}},
		{"a choice without tools", providers.Request{Model: "gemini-2.5-flash", Messages: hello, Choice: providers.ChoiceRequired}},
		{"files of the user", providers.Request{Model: "gemini-2.5-flash", Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{
			{Type: providers.PartText, Text: "What are these?"},
			{Type: providers.PartImage, MimeType: "image/jpg", Data: []byte("jpeg")},
			{Type: providers.PartFile, MimeType: "application/pdf", Data: []byte("pdf"), Name: "a.pdf"},
			{Type: providers.PartFile, MimeType: "audio/wav", Data: []byte("wave")},
			{Type: providers.PartFile, MimeType: "application/json", Data: []byte("{}")},
			{Type: providers.PartFile, MimeType: "application/zip", Data: []byte("zip")},
			{Type: providers.PartImage, MimeType: "image/svg+xml", Data: []byte("<svg/>")},
		}}}}},
	}
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview"} {
		all = append(all, histories(model)...)
	}
	return all
}

// raw returns a message that the API sent.
func raw(model, parts string, calls ...string) providers.Message {
	m := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: name, Model: model, Items: json.RawMessage(`{"content":{"role":"model","parts":` + parts + `},"finishReason":"STOP"}`)}}
	for _, id := range calls {
		m.Parts = append(m.Parts, providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: "get_weather"}})
	}
	return m
}

// result returns the part of an MCP result.
func result(id, mcp string) providers.Part { return providertest.Result(id, "get_weather", mcp) }

func histories(model string) []conversation {
	hello := providers.UserText("Hello")
	foreign := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{
		{Type: providers.PartThinking, Text: "Hm."},
		{Type: providers.PartText, Text: "Let me see."},
		providertest.Call("functions.x:0", "get_weather", `{"n":9223372036854775807}`),
		providertest.Call("call_1", "gone tool", `"{\"pa"`),
	}, Raw: &providers.Raw{Provider: "openai", Model: "gpt-x", Items: json.RawMessage(`{}`)}}
	all := []struct {
		name     string
		messages []providers.Message
	}{
		{"a turn of its own", []providers.Message{
			hello,
			raw(model, `[{"text":"Hm.","thought":true},{"functionCall":{"name":"get_weather","args":{"n": 9223372036854775807}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x1","name":"made up"}},{"text":"","thoughtSignature":"eA=="}]`, "call_1_0", "x1"),
			{Role: providers.RoleTool, Parts: []providers.Part{result("call_1_0", `{"content":[{"type":"text","text":"rain"}]}`), result("x1", `{"content":[{"type":"text","text":"no such city"}],"isError":true}`)}},
			providers.UserText("And?"),
		}},
		{"a turn of another provider", []providers.Message{
			hello, foreign,
			{Role: providers.RoleTool, Parts: []providers.Part{result("functions.x:0", `{"content":[],"structuredContent":{"t": 12.0}}`), result("call_1", `{"content":[],"isError":true}`)}},
		}},
		{"a turn of another of its models", []providers.Message{
			hello, raw("gemini-1.5-pro", `[{"text":"Well."},{"functionCall":{"name":"get_weather"}},{"functionCall":{"name":"get_weather"}}]`, "call_1_0", "call_1_1"),
			{Role: providers.RoleTool, Parts: []providers.Part{result("call_1_0", `{"content":[]}`), result("call_1_1", `{"content":[]}`)}},
		}},
		{"media in results", []providers.Message{
			hello, raw(model, `[{"functionCall":{"name":"get_weather"},"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_weather"}}]`, "call_1_0", "call_1_1"),
			{Role: providers.RoleTool, Parts: []providers.Part{
				result("call_1_0", `{"content":[{"type":"text","text":"Look:"},{"type":"image","mimeType":"image/png","data":"cG5n"},{"type":"audio","mimeType":"audio/wav","data":"d2F2"},{"type":"resource","resource":{"uri":"file:///a.zip","mimeType":"application/zip","blob":"emlw"}},{"type":"resource_link","uri":"file:///b","name":"b"}]}`),
				result("call_1_1", `{"content":[{"type":"image","mimeType":"image/webp","data":"d2VicA=="}]}`),
			}},
			providers.UserText("And?"),
		}},
		{"messages that say nothing", []providers.Message{hello, raw(model, `[]`), providers.UserText(""), {Role: providers.RoleAssistant}, providers.UserText("Are you there?")}},
	}
	var out []conversation
	for _, c := range all {
		out = append(out, conversation{c.name + ", " + model, providers.Request{Model: model, Messages: c.messages}})
	}
	return out
}

func TestGeneration(t *testing.T) {
	for model, want := range map[string]int{
		"gemini-2.5-flash": 2, "models/gemini-3-pro-preview": 3, "gemini-3.1-pro": 3, "gemini-10": 10,
		"gemini-flash-latest": 0, "gemma-3-27b-it": 0, "": 0,
	} {
		if got := generation(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

func TestImageURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://e.example/a.png?x=1": `{"fileData":{"fileUri":"https://e.example/a.png?x=1","mimeType":"image/png"}}`,
		"https://e.example/photo":     `{"fileData":{"fileUri":"https://e.example/photo"}}`,
	} {
		_, body, _ := providertest.Sent(t, provider, &providers.Request{Model: "gemini-3-pro", Messages: []providers.Message{{Role: providers.RoleUser, Parts: []providers.Part{{Type: providers.PartImage, URL: address}}}}})
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
}

// Consecutive messages of another API's model are one content: the roles of contents
// alternate.
func TestEncodeMessagesInARow(t *testing.T) {
	said := func(text string) providers.Message {
		return providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{{Type: providers.PartText, Text: text}}}
	}
	_, body, _ := providertest.Sent(t, provider, &providers.Request{Model: "gemini-2.5-flash", Messages: []providers.Message{providers.UserText("hi"), said("one"), said("two"), providers.UserText("and?")}})
	const want = `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"one"},{"text":"two"}]},{"role":"user","parts":[{"text":"and?"}]}]}`
	if string(body) != want {
		t.Errorf("%s\nwant\n%s", body, want)
	}
}
