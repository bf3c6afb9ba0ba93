package ollama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbridge/mcpbridge/providers"
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

// roundTrip answers without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer answers every request with a body, which comes in whatever portions it is read.
func answer(status int, contentType string, body func() io.Reader) *Provider {
	return New(Options{Client: providers.Client{
		Retry: providers.Retries{Max: -1},
		HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body()), Request: r}, nil
		})},
	}})
}

// turnOf is the turn of a response, and what was heard of it.
func turnOf(t *testing.T, p *Provider, req *providers.Request) (turn *providers.Turn, heard string, err error) {
	t.Helper()
	var b strings.Builder
	turn, err = p.Turn(t.Context(), req, func(ev providers.Event) {
		fmt.Fprintf(&b, "%s %s\n", ev.Type, ev.Text)
	})
	return turn, b.String(), err
}

// summary is what a turn says.
func summary(turn *providers.Turn) string {
	var lines []string
	for _, p := range turn.Message.Parts {
		if p.Call != nil {
			lines = append(lines, fmt.Sprintf("call %s %s %s", p.Call.ID, p.Call.Name, p.Call.Arguments))
		} else {
			lines = append(lines, fmt.Sprintf("%s %q", p.Type, p.Text))
		}
	}
	return strings.Join(append(lines, "stop "+string(turn.Stop)), "\n")
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n%v\nwant\n%v", what, got, want)
	}
}

// decodeCase is a response and its turn. The responses are written after api/types.go and
// docs/api.md of Ollama: there is no public recording of native calls.
type decodeCase struct {
	name, body, want string
	items            string // the raw items
	errs             string // what the error says
}

// line is one of a stream that goes on behind it.
func line(message string) string {
	return `{"model":"qwen3:8b","created_at":"2026-01-02T03:04:05.678Z","message":` + message + `,"done":false}` + "\n"
}

const last = `{"model":"qwen3:8b","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"total_duration":9,"load_duration":1,"prompt_eval_count":26,"prompt_eval_duration":2,"eval_count":298,"eval_duration":5}` + "\n"

func ending(reason string) string { return strings.Replace(last, `"stop"`, `"`+reason+`"`, 1) }

var decodeCases = []decodeCase{
	{"text", line(`{"role":"assistant","content":"Hel"}`) + line(`{"role":"assistant","content":"lo."}`) + last,
		"text \"Hello.\"\nstop end", `{"role":"assistant","content":"Hello."}`, ""},
	{"thinking", line(`{"role":"assistant","content":"","thinking":"so "}`) + line(`{"role":"assistant","content":"","thinking":"be it"}`) + line(`{"role":"assistant","content":"Yes."}`) + last,
		"thinking \"so be it\"\ntext \"Yes.\"\nstop end", `{"role":"assistant","content":"Yes.","thinking":"so be it"}`, ""},
	{"a call", line(`{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Paris"}}}]}`) + last,
		"call call_1_0 get_weather {\"city\":\"Paris\"}\nstop tool_calls", `{"role":"assistant","content":"","tool_calls":[{"id":"call_1_0","function":{"name":"get_weather","arguments":{"city":"Paris"}}}]}`, ""},
	{"calls on several lines, each with index 0",
		line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"add","arguments":{"a":1}}}]}`) +
			line(`{"role":"assistant","content":"","tool_calls":[{"function":{"index":0,"name":"add","arguments":{"a":2}}}]}`) + last,
		"call call_1_0 add {\"a\":1}\ncall call_1_1 add {\"a\":2}\nstop tool_calls",
		`{"role":"assistant","content":"","tool_calls":[{"id":"call_1_0","function":{"index":0,"name":"add","arguments":{"a":1}}},{"id":"call_1_1","function":{"index":0,"name":"add","arguments":{"a":2}}}]}`, ""},
	{"several calls on a line, with ids and what is not known",
		line(`{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"a":12345678901234567890, "b":1.0}},"x":{"y":null}},{"id":"call_b","function":{"index":1,"name":"add","arguments":{}}}],"z":1}`) + last,
		"call call_a add {\"a\":12345678901234567890, \"b\":1.0}\ncall call_b add {}\nstop tool_calls",
		`{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"add","arguments":{"a":12345678901234567890, "b":1.0}},"x":{"y":null}},{"id":"call_b","function":{"index":1,"name":"add","arguments":{}}}],"z":1}`, ""},
	{"an id twice", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}},{"id":"x","function":{"name":"add","arguments":{}}}]}`) + last,
		"call x add {}\ncall call_1_1 add {}\nstop tool_calls", `{"role":"assistant","tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}},{"id":"call_1_1","function":{"name":"add","arguments":{}}}],"content":""}`, ""},
	{"arguments missing, null or a string", line(`{"tool_calls":[{"id":"x","function":{"name":"add"}},{"id":"y","function":{"name":"add","arguments":null}},{"id":"z","function":{"name":"add","arguments":"{\"a\":1}"}}]}`) + last,
		"call x add {}\ncall y add {}\ncall z add \"{\\\"a\\\":1}\"\nstop tool_calls", "", ""},
	{"an unknown tool", line(`{"tool_calls":[{"id":"x","function":{"name":"rm","arguments":{}}}]}`) + last, "call x rm {}\nstop tool_calls", "", ""},
	{"text and calls", line(`{"content":"I look."}`) + line(`{"content":"","tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`) + last, "text \"I look.\"\ncall x add {}\nstop tool_calls", "", ""},
	{"escapes", line(`{"role":"assistant","content":"\u003ca\u003e \ud83d"}`) + line(`{"role":"assistant","content":"\ude00 é\n"}`) + last, "text \"<a> 😀 é\\n\"\nstop end", `{"role":"assistant","content":"\u003ca\u003e \ud83d\ude00 é\n"}`, ""},
	{"not streamed", strings.Replace(last, `"content":""`, `"content": "Hi\u0021","x":[1.0]`, 1), "text \"Hi!\"\nstop end", `{"role":"assistant","content":"Hi\u0021","x":[1.0]}`, ""},
	{"no reason, as older servers have it", strings.Replace(last, `"done_reason":"stop",`, "", 1), "stop end", "", ""},
	{"length", ending("length"), "stop max_tokens", "", ""},
	{"length beside calls", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`) + ending("length"), "call x add {}\nstop max_tokens", "", ""},
	{"load", ending("load"), "stop other", "", ""},
	{"unload", ending("unload"), "stop other", "", ""},
	{"a reason that is not known", ending("tired"), "stop other", "", ""},
	{"empty lines", "\n\r\n" + last + "\n", "stop end", "", ""},
	{"no line end", strings.TrimSpace(last), "stop end", "", ""},
	{"an error in the stream", line(`{"content":"Hel"}`) + `{"error":"llama runner process no longer running","status":500}`, "text \"Hel\"\nstop cut", "none", "llama runner process no longer running (500)"},
	{"the stream ends too early", line(`{"content":"Hel"}`), "text \"Hel\"\nstop cut", "none", "the response broke off: unexpected EOF"},
	{"calls of a stream that ends too early", line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{}}}]}`), "call x add {}\nstop cut", "none", "broke off"},
	{"nothing", "", "stop cut", "none", "unexpected EOF"},
	{"no JSON", line(`{"content":"Hel"}`) + "<html>\n", "text \"Hel\"\nstop cut", "none", "a line that is no JSON object"},
	{"half a line", line(`{"content":"Hel"}`) + `{"model":`, "text \"Hel\"\nstop cut", "none", "a line that is no JSON object"},
}

func TestDecode(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			check := func(turn *providers.Turn, err error) {
				t.Helper()
				if c.errs == "" && err != nil || c.errs != "" && (err == nil || !strings.Contains(err.Error(), c.errs)) {
					t.Fatalf("error: %v, want %q", err, c.errs)
				}
				want(t, "turn", summary(turn), c.want)
				switch {
				case c.items == "none" && turn.Message.Raw != nil:
					t.Errorf("half a message is kept: %s", turn.Message.Raw.Items)
				case c.items != "none" && !json.Valid(turn.Message.Raw.Items):
					t.Errorf("raw items that are no JSON: %s", turn.Message.Raw.Items)
				case c.items != "none" && c.items != "":
					want(t, "raw items", string(turn.Message.Raw.Items), c.items)
				}
			}
			whole := func() io.Reader { return strings.NewReader(c.body) }
			turn, heard, err := turnOf(t, answer(200, "application/x-ndjson", whole), request())
			check(turn, err)
			bytewise := func() io.Reader { return iotest.OneByteReader(whole()) }
			turn, again, err := turnOf(t, answer(200, "application/x-ndjson", bytewise), request())
			check(turn, err)
			want(t, "events", again, heard)
			turn, _, err = turnOf(t, answer(200, "application/json; charset=utf-8", whole), request())
			check(turn, err)
		})
	}
}

func TestUsageAndModel(t *testing.T) {
	turn, heard, err := turnOf(t, answer(200, "application/x-ndjson", func() io.Reader {
		return strings.NewReader(line(`{"content":"","thinking":"hm"}`) + line(`{"content":"Hi"}`) + line(`{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{"a":1}}}]}`) + last)
	}), request())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "usage", turn.Usage, providers.Usage{Input: 26, Output: 298})
	want(t, "model", turn.Model, "qwen3:8b")
	want(t, "events", heard, "thinking_delta hm\ntext_delta Hi\narguments_delta {\"a\":1}\n")
}

// One object over many lines, as a proxy may write it.
func TestWholeIndented(t *testing.T) {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(last), "", "  "); err != nil {
		t.Fatal(err)
	}
	turn, _, err := turnOf(t, answer(200, "application/json", func() io.Reader { return &b }), request())
	if err != nil || turn.Stop != providers.StopEnd {
		t.Errorf("%v, %v", turn, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       string
		again      bool
	}{
		{"no tools", `{"error":"registry.ollama.ai/library/gemma:latest does not support tools"}`, 400, "registry.ollama.ai/library/gemma:latest does not support tools (HTTP 400)", false},
		{"no model", `{"error":"model 'x' not found"}`, 404, `model 'x' not found: "ollama pull" fetches it (HTTP 404)`, false},
		{"no model, older", `{"error":"model \"x\" not found, try pulling it first"}`, 404, `model "x" not found, try pulling it first (HTTP 404)`, false},
		{"not signed in", `{"error":"unauthorized","signin_url":"https://ollama.com/connect?key=abc"}`, 401, `unauthorized: "ollama signin", or an API key (HTTP 401)`, false},
		{"too long", `{"error":"the input length exceeds the context length"}`, 400, "the input length exceeds the context length (HTTP 400)", false},
		{"busy", `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, 503, "server busy, please try again.  maximum pending requests exceeded (HTTP 503)", true},
		{"another server", "404 page not found\n", 404, "404 page not found (HTTP 404)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn, _, err := turnOf(t, answer(c.status, "application/json", func() io.Reader { return strings.NewReader(c.body) }), request())
			var e *providers.APIError
			if turn != nil || !errors.As(err, &e) {
				t.Fatalf("%v, %v", turn, err)
			}
			want(t, "error", e, c.want)
			want(t, "again", e.Again, c.again)
			want(t, "no tools", errors.Is(err, providers.ErrNoTools), c.name == "no tools")
		})
	}
}

func TestErrorInStream(t *testing.T) {
	_, _, err := turnOf(t, answer(200, "application/x-ndjson", func() io.Reader {
		return strings.NewReader(`{"error":"server overloaded","status":503}` + "\n" + last)
	}), request())
	var e *providers.APIError
	if !errors.As(err, &e) || e.Status != 200 || e.Code != "503" || !e.Again {
		t.Errorf("%#v", err)
	}
}
