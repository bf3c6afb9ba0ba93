package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func testTools() *providers.ToolSet {
	return providers.NewToolSet([]toolformat.Tool{
		{Name: "get_weather", Description: "Get current weather.", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
		{Name: "add", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}`)},
	})
}

func request(messages ...providers.Message) *providers.Request {
	return &providers.Request{Model: "qwen3:8b", Tools: testTools(), Messages: append([]providers.Message{providers.UserText("Hi.")}, messages...)}
}

// provider returns a provider over a client.
func provider(c *http.Client) providers.Provider {
	return New(Options{Client: providers.Client{HTTP: c}})
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

const streamed = "application/x-ndjson"

// A decodeCase is a response and its turn. The responses follow api/types.go and docs/api.md of
// Ollama: no recordings of native calls are public.
type decodeCase struct {
	name, body, want string // want as for providertest.CheckTurn
	items            string // the raw items; "" means not compared
}

// line returns a line of a stream that continues.
func line(message string) string {
	return `{"model":"qwen3:8b","created_at":"2026-01-02T03:04:05.678Z","message":` + message + `,"done":false}` + "\n"
}

const last = `{"model":"qwen3:8b","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":9,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":2,"eval_count":298,"eval_duration":5}` + "\n"

func ending(reason string) string { return strings.Replace(last, `"stop"`, `"`+reason+`"`, 1) }

var decodeCases = []decodeCase{
	{"text", line(`{"role":"assistant","content":"Hel"}`) + line(`{"role":"assistant","content":"lo."}`) + last,
		`end text<Hello.>`, `{"role":"assistant","content":"Hello."}`},
	{"thinking", line(`{"role":"assistant","content":"","thinking":"so "}`) + line(`{"role":"assistant","content":"","thinking":"be it"}`) + line(`{"role":"assistant","content":"Yes."}`) + last,
		`end thinking<so be it> text<Yes.>`, `{"role":"assistant","content":"Yes.","thinking":"so be it"}`},
	{"a call", line(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Paris"}}}]}`) + last,
		`tool_calls call<call_1_0 get_weather {"city":"Paris"}>`, `{"role":"assistant","content":"","tool_calls":[{"id":"call_1_0","function":{"name":"get_weather","arguments":{"city":"Paris"}}}]}`},
	{"calls on several lines, each with index 0",
		line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"add","arguments":{"a":1}}}]}`) +
			line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"add","arguments":{"a":2}}}]}`) + last,
		`tool_calls call<call_1_0 add {"a":1}> call<call_1_1 add {"a":2}>`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"call_1_0","function":{"index":0,"name":"add","arguments":{"a":1}}},{"id":"call_1_1","function":{"index":0,"name":"add","arguments":{"a":2}}}]}`},
	{"several calls on a line, with ids and what is not known",
		line(`{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"a":12345678901234567890, "b":1.0}},"x":{"y":null}},{"id":"call_b","function":{"index":1,"name":"add","arguments":{}}}],"z":1}`) + last,
		`tool_calls call<call_a add {"a":12345678901234567890, "b":1.0}> call<call_b add {}>`,
		`{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"a":12345678901234567890, "b":1.0}},"x":{"y":null}},{"id":"call_b","function":{"index":1,"name":"add","arguments":{}}}],"z":1}`},
	{"an id twice", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}},{"id":"x","function":{"name":"add","arguments":{}}}]}`) + last,
		`tool_calls call<x add {}> call<call_1_1 add {}>`, `{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}},{"id":"call_1_1","function":{"name":"add","arguments":{}}}],"content":""}`},
	{"arguments missing, null or a string", line(`{"tool_calls":[{"id":"x","function":{"name":"add"}},{"id":"y","function":{"name":"add","arguments":null}},{"id":"z","function":{"name":"add","arguments":"{\"a\":1}"}}]}`) + last,
		`tool_calls call<x add {}> call<y add {}> call<z add "{\"a\":1}">`, ""},
	{"an unknown tool", line(`{"tool_calls":[{"id":"x","function":{"name":"rm","arguments":{}}}]}`) + last, `tool_calls call<x rm {}>`, ""},
	{"text and calls", line(`{"content":"I look."}`) + line(`{"content":"","tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`) + last, `tool_calls text<I look.> call<x add {}>`, ""},
	{"escapes", line(`{"role":"assistant","content":"\u003ca\u003e \ud83d"}`) + line(`{"role":"assistant","content":"\ude00 é\n"}`) + last, "end text<<a> 😀 é\n>", `{"role":"assistant","content":"\u003ca\u003e \ud83d\ude00 é\n"}`},
	{"not streamed", strings.Replace(last, `"content":""`, `"content": "Hi\u0021","x":[1.0]`, 1), `end text<Hi!>`, `{"role":"assistant","content":"Hi\u0021","x":[1.0]}`},
	{"no reason, as older servers have it", strings.Replace(last, `"done_reason":"stop",`, "", 1), `end`, ""},
	{"length", ending("length"), `max_tokens`, ""},
	{"length beside calls", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`) + ending("length"), `max_tokens call<x add {}>`, ""},
	{"load", ending("load"), `other`, ""},
	{"unload", ending("unload"), `other`, ""},
	{"a reason that is not known", ending("tired"), `other`, ""},
	{"empty lines", "\n\r\n" + last + "\n", `end`, ""},
	{"no line end", strings.TrimSpace(last), `end`, ""},
	{"an error in the stream", line(`{"content":"Hel"}`) + `{"error":"llama runner process no longer running","status":500}`, `cut text<Hel> error<llama runner process no longer running (500) again>`, ""},
	{"an error at once", `{"error":"server overloaded","status":503}` + "\n" + last, `cut model<> error<server overloaded (503) again>`, ""},
	{"the stream ends too early", line(`{"content":"Hel"}`), `cut text<Hel> error<the response broke off: unexpected EOF again>`, ""},
	{"calls of a stream that ends too early", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`), `cut call<x add {}> error<the response broke off: unexpected EOF again>`, ""},
	{"nothing", "", `cut model<> error<the response broke off: unexpected EOF again>`, ""},
	{"no JSON", line(`{"content":"Hel"}`) + "<html>\n", `cut text<Hel> error<the response broke off: a line is not a JSON object again>`, ""},
	{"half a line", line(`{"content":"Hel"}`) + `{"model":`, `cut text<Hel> error<the response broke off: a line is not a JSON object again>`, ""},
}

func TestDecode(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			turn := providertest.CheckTurn(t, provider, request(), streamed, c.body, c.want)
			providertest.CheckTurn(t, provider, request(), "application/json; charset=utf-8", c.body, c.want)
			if c.items != "" {
				want(t, "raw items", string(turn.Message.Raw.Items), c.items)
			}
		})
	}
}

// TestProvider: the contract of all providers.
func TestProvider(t *testing.T) {
	providertest.Run(t, provider, providertest.Samples{
		Kind: streamed,
		Text: line(`{"role":"assistant","content":"Hel"}`) + line(`{"role":"assistant","content":"lo"}`) + last,
		Call: line(`{"role":"assistant","content":"","tool_calls":[{"id":"call_7","function":{"name":"get_weather","arguments":{"city":"Rome"}}}]}`) + last,
	})
}

func TestUsageAndModel(t *testing.T) {
	body := line(`{"content":"","thinking":"hm"}`) + line(`{"content":"Hi"}`) + line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{"a":1}}}]}`) + last
	turn, events, err := providertest.Ask(t, provider, request(), providertest.NewAnswer(streamed, body))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "usage", turn.Usage, providers.Usage{Input: 26, Output: 298})
	want(t, "model", turn.Model, "qwen3:8b")
	for kind, text := range map[providers.EventType]string{providers.EventThinkingDelta: "hm", providers.EventTextDelta: "Hi", providers.EventArgumentsDelta: `{"a":1}`} {
		want(t, string(kind), providertest.JoinText(events, kind), text)
	}
}

// One object on many lines, as a proxy may write it.
func TestWholeIndented(t *testing.T) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(last), "", "  "); err != nil {
		t.Fatal(err)
	}
	providertest.CheckTurn(t, provider, request(), "application/json", b.String(), "end")
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"no tools", `{"error":"registry.ollama.ai/library/gemma:latest does not support tools"}`, 400, "registry.ollama.ai/library/gemma:latest does not support tools (HTTP 400): 1 tries in 0s"},
		{"no model", `{"error":"model 'x' not found"}`, 404, `model 'x' not found: run "ollama pull" to fetch it (HTTP 404): 1 tries in 0s`},
		{"no model, older", `{"error":"model \"x\" not found, try pulling it first"}`, 404, `model "x" not found, try pulling it first (HTTP 404): 1 tries in 0s`},
		{"not signed in", `{"error":"unauthorized","signin_url":"https://ollama.com/connect?key=abc"}`, 401, `unauthorized: run "ollama signin" or set an API key (HTTP 401): 1 tries in 0s`},
		{"too long", `{"error":"the input length exceeds the context length"}`, 400, "the input length exceeds the context length (HTTP 400): 1 tries in 0s"},
		{"busy", `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, 503, "server busy, please try again.  maximum pending requests exceeded (HTTP 503)"},
		{"another server", "404 page not found\n", 404, "404 page not found (HTTP 404): 1 tries in 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := providertest.Refused(t, provider, request(), c.status, nil, c.body)
			if busy := c.status == 503; !busy && got != c.want || busy && !strings.HasPrefix(got, c.want+": 3 tries in ") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			want(t, "no tools", errors.Is(err, providers.ErrNoTools), c.name == "no tools")
		})
	}
}
