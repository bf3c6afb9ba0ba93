package ollama

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(s string) providers.Part { return providers.Part{Type: providers.PartText, Text: s} }

// requests are those of the golden file.
func requests() []struct {
	name string
	req  *providers.Request
} {
	half, whole, seed := 0.5, 1.0, int64(-7)
	ours := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{text("gone"), providertest.Call("call_a", "add", `{}`)}, Raw: &providers.Raw{
		Provider: "ollama", Model: "qwen3:8b",
		Items: json.RawMessage(`{"role":"assistant","content":"","thinking":"I \u003cadd\u003e","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"b": 1.0, "a":12345678901234567890}},"x":1}]}`),
	}}
	theirs := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "anthropic", Items: json.RawMessage(`[{"type":"thinking"}]`)}, Parts: []providers.Part{
		{Type: providers.PartThinking, Text: "cannot move"}, text("I look."), providertest.Call("toolu_1", "get_weather", `{"city":"<Paris>"}`), providertest.Call("toolu_2", "gone", `"no { JSON"`), providertest.Call("toolu_3", "add", ""),
	}}
	tools := func(parts ...providers.Part) providers.Message {
		return providers.Message{Role: providers.RoleTool, Parts: parts}
	}
	picture := providers.Message{Role: providers.RoleUser, Parts: []providers.Part{
		text("What is <this>? "), {Type: providers.PartImage, MimeType: "image/png", Data: []byte("\x89PNG")}, {Type: providers.PartFile, Name: "a.pdf", MimeType: "application/pdf", Data: []byte("%PDF")}, {Type: providers.PartImage, Data: []byte("x")},
	}}
	choice := request()
	choice.Choice = "add"
	none := request()
	none.Choice = providers.ChoiceNone
	bare := &providers.Request{Model: "m", Messages: []providers.Message{providers.UserText("Hi.")}}
	set := &providers.Request{Model: "m", System: "Be \"brief\".", Messages: bare.Messages, Settings: providers.Settings{
		MaxTokens: 100, Temperature: &half, TopP: &whole, Serial: true, Body: json.RawMessage(`{"think":"high","truncate":true,"keep_alive":"5m"}`),
	}}
	parameters := &providers.Request{Model: "m", Messages: bare.Messages, Settings: providers.Settings{
		Stop: []string{"<end>"}, Seed: &seed, PresencePenalty: &half, FrequencyPenalty: &whole, Effort: "minimal",
		Answer: &providers.AnswerFormat{Schema: json.RawMessage(`{"type":"object","maximum":9223372036854775807}`)}, Body: json.RawMessage(`{"options":{"num_ctx":8192}}`),
	}}
	object := &providers.Request{Model: "m", Messages: bare.Messages, Settings: providers.Settings{Effort: "none", Answer: &providers.AnswerFormat{}}}
	return []struct {
		name string
		req  *providers.Request
	}{
		{"bare", bare},
		{"parameters", parameters},
		{"any object, no thinking", object},
		{"thinking", &providers.Request{Model: "m", Messages: bare.Messages, Settings: providers.Settings{Thinking: providers.ThinkingOn}}},
		{"settings", set},
		{"tools", request()},
		{"choice", choice},
		{"no choice", none},
		{"images and files", request(picture)},
		{"own message and its result", request(ours, tools(providertest.Result("call_a", "add", `{"content":[{"type":"text","text":"3 <>&"}]}`)))},
		{"message of another provider, results of all kinds", request(theirs, tools(
			providertest.Result("toolu_1", "get_weather", `{"content":[],"structuredContent":{"t":1.0}}`),
			providertest.Result("toolu_2", "gone", `{"content":[{"type":"text","text":"no such tool"}],"isError":true}`),
			providertest.Result("toolu_3", "add", `{"content":[{"type":"text","text":"see"},{"type":"image","data":"iVBORw==","mimeType":"image/png"},{"type":"audio","data":"SUQz","mimeType":"audio/mpeg"}]}`),
		))},
	}
}

func TestRequests(t *testing.T) {
	var sections []txtar.File
	for _, r := range requests() {
		sections = append(sections, providertest.Section(t, r.name, provider, r.req))
	}
	providertest.Golden(t, *update, "testdata/requests.txtar", sections...)
}

// Raw items are sent back byte for byte.
func TestVerbatim(t *testing.T) {
	body := line(`{"role":"assistant","content":"","thinking":"a\u003cb"}`) + line(`{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"add","arguments":{"b": 1.0,"a":12345678901234567890}},"unknown":[ 1 ]}]}`) + last
	first, _, err := providertest.Ask(t, provider, request(), providertest.NewAnswer(streamed, body))
	if err != nil {
		t.Fatal(err)
	}
	_, next, _ := providertest.Sent(t, provider, request(first.Message))
	const sent = `,{"role":"assistant","content":"","thinking":"a\u003cb","tool_calls":[{"id":"c","function":{"name":"add","arguments":{"b": 1.0,"a":12345678901234567890}},"unknown":[ 1 ]}]}]`
	if !bytes.Contains(next, []byte(sent)) {
		t.Errorf("%s\nhas no\n%s", next, sent)
	}
}

func TestSettingsThatAreNoNumbers(t *testing.T) {
	nan := math.NaN()
	req := request()
	req.Settings.Temperature = &nan
	_, body, notes := providertest.Sent(t, provider, req)
	if !json.Valid(body) || len(notes) != 1 {
		t.Errorf("%s, %q", body, notes)
	}
}

func TestAddress(t *testing.T) {
	const host = "http://127.0.0.1:8080"
	for base, want := range map[string]string{
		"": "http://127.0.0.1:11434", host: host, host + "/": host, host + "/v1": host, host + "/v1/": host, host + "/api": host, host + "/api/": host,
	} {
		for key, auth := range map[string]string{"": "", "secret": "Bearer secret"} {
			r, _, _ := providertest.Sent(t, func(client *http.Client) providers.Provider {
				return New(Options{Client: providers.Client{BaseURL: base, HTTP: client}, APIKey: key})
			}, request())
			if r.URL.String() != want+"/api/chat" || r.Header.Get("Authorization") != auth {
				t.Errorf("%q: %s, %s", base, r.URL, r.Header)
			}
		}
	}
	if _, err := New(Options{Client: providers.Client{BaseURL: "file:///secret"}}).Turn(t.Context(), request(), nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// Who has not started Ollama reads how to.
func TestNotStarted(t *testing.T) {
	p := New(Options{Client: providers.Client{BaseURL: "http://127.0.0.1:1", Retry: providers.Retries{Max: -1}}})
	_, turn := p.Turn(t.Context(), request(), nil)
	_, list := p.Models(t.Context())
	for _, err := range []error{turn, list} {
		if err == nil || !strings.HasPrefix(err.Error(), "cannot reach 127.0.0.1:1: ") || !strings.HasSuffix(err.Error(), `: if Ollama does not run there, "ollama serve" starts it`) {
			t.Errorf("got %v", err)
		}
	}
}
