package ollama

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

var update = flag.Bool("update", false, "write the golden files anew")

func result(id, name, mcp string) providers.Part {
	return providers.Part{Type: providers.PartResult, Result: &providers.Result{ID: id, Name: name, Content: &toolformat.Result{JSON: json.RawMessage(mcp)}}}
}

func call(id, name, args string) providers.Part {
	return providers.Part{Type: providers.PartCall, Call: &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}}
}

func text(s string) providers.Part { return providers.Part{Type: providers.PartText, Text: s} }

// requests are what the golden file has the bodies of.
func requests() []struct {
	name string
	req  *providers.Request
} {
	half, whole := 0.5, 1.0
	ours := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{text("gone"), call("call_a", "add", `{}`)}, Raw: &providers.Raw{
		Provider: "ollama", Model: "qwen3:8b",
		Items: json.RawMessage(`{"role":"assistant","content":"","thinking":"I \u003cadd\u003e","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"b": 1.0, "a":12345678901234567890}},"x":1}]}`),
	}}
	theirs := providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "anthropic", Items: json.RawMessage(`[{"type":"thinking"}]`)}, Parts: []providers.Part{
		{Type: providers.PartThinking, Text: "cannot move"}, text("I look."), call("toolu_1", "get_weather", `{"city":"<Paris>"}`), call("toolu_2", "gone", `"no { JSON"`), call("toolu_3", "add", ""),
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
	return []struct {
		name string
		req  *providers.Request
	}{
		{"bare", bare},
		{"settings", set},
		{"tools", request()},
		{"choice", choice},
		{"no choice", none},
		{"images and files", request(picture)},
		{"own message and its result", request(ours, tools(result("call_a", "add", `{"content":[{"type":"text","text":"3 <>&"}]}`)))},
		{"message of another provider, results of all kinds", request(theirs, tools(
			result("toolu_1", "get_weather", `{"content":[],"structuredContent":{"t":1.0}}`),
			result("toolu_2", "gone", `{"content":[{"type":"text","text":"no such tool"}],"isError":true}`),
			result("toolu_3", "add", `{"content":[{"type":"text","text":"see"},{"type":"image","data":"iVBORw==","mimeType":"image/png"},{"type":"audio","data":"SUQz","mimeType":"audio/mpeg"}]}`),
		))},
	}
}

func TestRequests(t *testing.T) {
	const file = "testdata/requests.txtar"
	ar := &txtar.Archive{}
	for _, r := range requests() {
		s := providertest.NewServer(t, providertest.Exchange{Resp: json.RawMessage(last)})
		p := New(Options{Client: providers.Client{BaseURL: s.URL}})
		_, heard, err := turnOf(t, p, r.req)
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, s.Requests[0], "", "  "); err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		b.WriteByte('\n')
		b.WriteString(heard)
		ar.Files = append(ar.Files, txtar.File{Name: r.name, Data: b.Bytes()})
	}
	got := txtar.Format(ar)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, golden) {
		t.Errorf("%s is not what is sent now (go test -update writes it anew):\n%s", file, got)
	}
}

// What came is sent back byte for byte, by the calls of one turn after another.
func TestVerbatim(t *testing.T) {
	body := line(`{"role":"assistant","content":"","thinking":"a\u003cb"}`) + line(`{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"add","arguments":{"b": 1.0,"a":12345678901234567890}},"unknown":[ 1 ]}]}`) + last
	s := providertest.NewServer(t, providertest.Exchange{SSE: true, Resp: jsonString(body)}, providertest.Exchange{SSE: true, Resp: jsonString(last)})
	p := New(Options{Client: providers.Client{BaseURL: s.URL}})
	first, _, err := turnOf(t, p, request())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := turnOf(t, p, request(first.Message)); err != nil {
		t.Fatal(err)
	}
	const sent = `,{"role":"assistant","content":"","thinking":"a\u003cb","tool_calls":[{"id":"c","function":{"name":"add","arguments":{"b": 1.0,"a":12345678901234567890}},"unknown":[ 1 ]}]}]`
	if !bytes.Contains(s.Requests[1], []byte(sent)) {
		t.Errorf("%s\nhas no\n%s", s.Requests[1], sent)
	}
}

func jsonString(s string) json.RawMessage {
	b, _ := json.Marshal(s)
	return b
}

func TestSettingsThatAreNoNumbers(t *testing.T) {
	nan := math.NaN()
	req := request()
	req.Settings.Temperature = &nan
	body, notes := encode(req)
	if !json.Valid(body) || len(notes) != 1 {
		t.Errorf("%s, %q", body, notes)
	}
}

func TestAddress(t *testing.T) {
	for _, suffix := range []string{"", "/", "/v1", "/v1/", "/api", "/api/"} {
		var path, auth string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path, auth = r.URL.Path, r.Header.Get("Authorization")
			_, _ = w.Write([]byte(last))
		}))
		defer server.Close()
		p := New(Options{Client: providers.Client{BaseURL: server.URL + suffix}, APIKey: "secret"})
		if _, _, err := turnOf(t, p, request()); err != nil || path != "/api/chat" || auth != "Bearer secret" {
			t.Errorf("%q: %v, %s, %s", suffix, err, path, auth)
		}
	}
	p := New(Options{})
	if p.client.BaseURL != "http://127.0.0.1:11434" || len(p.header) != 0 || p.Name() != "ollama" || p.Format() != toolformat.FormatOllama {
		t.Errorf("%+v", p)
	}
	if _, _, err := turnOf(t, New(Options{Client: providers.Client{BaseURL: "file:///secret"}}), request()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
