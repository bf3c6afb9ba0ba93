package serve_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// scripted is a provider with fixed turns.
type scripted struct {
	mu       sync.Mutex
	turns    []providers.Turn  // one with StopFailed fails with err
	letters  bool              // its deltas are single letters
	format   toolformat.Format // "" means Anthropic's
	err      error
	requests []providers.Request
}

func (s *scripted) Name() string              { return "scripted" }
func (s *scripted) Format() toolformat.Format { return cmp.Or(s.format, toolformat.FormatAnthropic) }

func (s *scripted) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *req)
	if len(s.turns) == 0 {
		return nil, s.err
	}
	turn := s.turns[0]
	s.turns = s.turns[1:]
	if turn.Stop == providers.StopFailed {
		return nil, s.err
	}
	for _, p := range turn.Message.Parts {
		if p.Type == providers.PartThinking {
			emit(providers.Event{Type: providers.EventThinkingDelta, Text: p.Text})
			emit(providers.Event{Type: providers.EventThinkingEnd, Raw: p.Data})
		}
	}
	deltas := []string{turn.Message.Text()}
	if s.letters {
		deltas = strings.Split(deltas[0], "")
	}
	for _, text := range deltas {
		if text != "" {
			emit(providers.Event{Type: providers.EventTextDelta, Text: text})
		}
	}
	return &turn, nil
}

// says returns a turn with text, calls and raw items.
func says(text string, calls ...*providers.Call) providers.Turn {
	t := providers.Turn{
		Message: providers.Message{Role: providers.RoleAssistant, Raw: &providers.Raw{Provider: "scripted", Items: json.RawMessage(`"signed ` + text + `"`)}},
		Stop:    providers.StopEnd, Usage: providers.Usage{Input: 10, Output: 2},
	}
	if text != "" {
		t.Message.Parts = append(t.Message.Parts, providers.Part{Type: providers.PartText, Text: text})
	}
	for _, c := range calls {
		t.Message.Parts, t.Stop = append(t.Message.Parts, providers.Part{Type: providers.PartCall, Call: c}), providers.StopCalls
	}
	return t
}

func call(id, name, arguments string) *providers.Call {
	return &providers.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// A front is a server with a tool of the bridge.
type front struct {
	*testing.T
	*httptest.Server
	*scripted
	settings providers.Settings // of its model
	log      bytes.Buffer       // read after a response
}

func newFront(t *testing.T, turns ...providers.Turn) *front {
	t.Helper()
	double, err := bridge.Func("double", "Doubles a number.", func(_ context.Context, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, double)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { native.Close() })
	f := &front{T: t, scripted: &scripted{turns: turns}, settings: providers.Settings{MaxTokens: 7}}
	f.Server = httptest.NewServer(serve.New(serve.Options{
		Toolbox: providers.NewToolbox(native),
		Models:  func(context.Context) []string { return []string{"here/m"} },
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			model, ours := strings.CutPrefix(id, "here/")
			if !ours || model != "m" && model != "n" {
				return providers.Candidate{}, providers.Settings{}, toolformat.Errorf(toolformat.NotFound, "model %s is unknown", id)
			}
			return providers.Candidate{Name: "here", Provider: f.scripted, Model: model}, f.settings, nil
		},
		Caller: func(r *http.Request) bridge.Caller {
			return bridge.Caller{Principal: bridge.Principal{Name: r.Header.Get("Who")}}
		},
		System: "Be brief.",
		Log:    slog.New(slog.NewTextHandler(&f.log, nil)),
	}))
	t.Cleanup(f.Close)
	return f
}

// post sends a request of a principal and returns the status and the body.
func (f *front) post(who, body string) (int, string) {
	f.Helper()
	return f.postTo("/v1/chat/completions", who, body)
}

// postTo posts a request to a path.
func (f *front) postTo(path, who, body string) (status int, answer string) {
	f.Helper()
	return f.send(http.MethodPost, path, who, body)
}

// send sends a request with a method.
func (f *front) send(method, path, who, body string) (status int, answer string) {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), method, f.URL+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Who", who)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// has fails if a body lacks one of the pieces.
func (f *front) has(body string, pieces ...string) {
	f.Helper()
	for _, piece := range pieces {
		if !strings.Contains(body, piece) {
			f.Errorf("%s\nis missing in\n%s", piece, body)
		}
	}
}

// handed returns the id of the call in a response.
func handed(body string) string {
	_, id, _ := strings.Cut(body, `"tool_calls":[{"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

const drawTool = `"tools":[{"type":"function","function":{"name":"draw","parameters":{"type":"object","properties":{"what":{"type":"string"}}}}}]`

func TestWhole(t *testing.T) {
	f := newFront(t, says("Let me see.", call("1", "double", `{"n":4}`)), says("It is 8."))
	status, body := f.post("", `{"model":"here/m","temperature":0.5,"seed":3,"user":"u","messages":[{"role":"user","content":"twice 4?"}]}`)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	f.has(body, `"object":"chat.completion"`, `"content":"Let me see.\n\nIt is 8."`, `"finish_reason":"stop"`, `"total_tokens":24`)
	first := f.requests[0]
	if *first.Settings.Seed != 3 || first.System != "Be brief." || first.Settings.MaxTokens != 7 || *first.Settings.Temperature != 0.5 || first.Tools.Len() != 1 {
		t.Errorf("asked with %+v", first)
	}
}

func TestStream(t *testing.T) {
	f := newFront(t, says("Let me see.", call("1", "double", `{"n":4}`)), says("It is 8."))
	_, body := f.post("", `{"model":"here/m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"twice"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`)
	f.has(body, `"delta":{"role":"assistant","content":""}`, `"delta":{"content":"Let me see."}`, `"delta":{"content":"\n\nIt is 8."}`,
		`"delta":{},"finish_reason":"stop"`, `"choices":[],"usage":{"prompt_tokens":20`, "data: [DONE]\n\n")
	if r := f.requests[0]; r.System != "S" || r.Messages[0].Parts[1].MimeType != "image/png" {
		t.Errorf("asked with %+v", r)
	}
}

// Calls of the client's own tools are handed out. The rounds that ran inside are inserted when
// their results arrive.
func TestOwnTools(t *testing.T) {
	ask := `{"model":"here/m",` + drawTool + `,"messages":[{"role":"user","content":"go"}`
	then := `,{"role":"assistant","content":null,"tool_calls":[{"id":"ID","type":"function","function":{"name":"draw","arguments":"{}"}}]},{"role":"tool","tool_call_id":"ID","content":"drawn"}`
	for _, c := range []struct {
		name, second, who string
		hidden            bool // the rounds that ran inside are inserted
	}{
		{"next", ask + then + "]}", "ann", true},
		{"a question behind it", ask + then + `,{"role":"user","content":"well?"}]}`, "ann", true},
		{"somebody else", ask + then + "]}", "bob", false},
		{"another history", strings.Replace(ask, "go", "come", 1) + then + "]}", "ann", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFront(t, says("first", call("a", "double", `{"n":1}`)), says("second", call("b", "draw", `{"what":"cat"}`), call("c", "double", `{"n":2}`)), says("done"))
			status, body := f.post("ann", ask+"]}")
			id := handed(body)
			f.has(body, `"finish_reason":"tool_calls"`, `"tool_calls":[{"id":"`+id+`","type":"function","function":{"name":"draw","arguments":"{\"what\":\"cat\"}"}}]`)
			if strings.Contains(body, "double") {
				t.Errorf("a call of the bridge's own is handed out: %d %s", status, body)
			}
			if _, body = f.post(c.who, strings.ReplaceAll(c.second, "ID", id)); !strings.Contains(body, `"content":"done"`) {
				t.Fatal(body)
			}
			var asked []string
			for _, m := range f.requests[2].Messages {
				raw := ""
				if m.Raw != nil {
					raw = string(m.Raw.Items)
				}
				asked = append(asked, string(m.Role)+raw)
				for _, p := range m.Parts {
					if p.Result != nil {
						asked = append(asked, p.Result.ID+"="+p.Result.Text(false))
					}
				}
			}
			want := "user assistant tool " + id + "=drawn"
			if c.hidden {
				want = `user assistant"signed first" tool a=2 assistant"signed second" tool b=drawn c=4`
			}
			if got := strings.Join(asked, " "); !strings.HasPrefix(got, want) {
				t.Errorf("the model was asked with\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	f := newFront(t)
	many := ""
	for i := range 101 {
		many += `,"x` + strconv.Itoa(i) + `":1`
	}
	for body, want := range map[string]string{
		`{"model":"x","messages":[]` + many + `}`: "101 unknown members: expected at most 100",
		`{`:                  "the request is not JSON: ",
		`[]`:                 "expected an object, got an array",
		`{"temperature":""}`: "temperature: expected a number, got a string",
		`{"messages":[]}`:    "model: expected",
		`{"model":"here/m"}`: "messages: expected",
		`{"model":"here/m","messages":[{"role":"system","content":"S"},{"role":"user","content":""}]}`: "messages: expected",
		`{"model":"x","messages":[{}]}`:                                                                                                                                                              "messages[0].role",
		`{"model":"x","messages":[{"role":"user","content":"a"}]}`:                                                                                                                                   "model x is unknown",
		`{"model":"here/m","max_completion_tokens":-1,"messages":[{"role":"user","content":"a"}]}`:                                                                                                   "max_completion_tokens: expected a whole number above 0",
		`{"model":"here/m","n":2,"messages":[{"role":"user","content":"a"}]}`:                                                                                                                        "n: 2 answers",
		`{"model":"here/m","messages":[{"role":"tool","content":"a"}]}`:                                                                                                                              "tool_call_id",
		`{"model":"here/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://127.0.0.1/x.png"}}]}]}`:                                                              "content[0].image_url.url",
		`{"model":"here/m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"https://e.example/x.pdf"}}]}]}`:                                                                 "content[0].file.file_data: expected data:",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"function","function":{"name":"dabble"}}}`:                                                               `tool_choice: unknown tool: dabble (did you mean double?); the tools are: double","type":"invalid_request_error","param":"tool_choice"`,
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"x"}}]}}}`: "tool_choice: unknown tool: x",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"maybe","tools":[]}}}`:                                           "tool_choice.allowed_tools.mode: expected",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"custom"}]}}}`:                           "tool_choice.allowed_tools.tools: expected",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"stop":[1]}`:                                                                                                                   `stop: expected a string, or an array of at most 100 strings","type":"invalid_request_error","param":"stop"`,
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"seed":1.5}`:                                                                                                                   "seed: expected a whole number",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"max_tokens":1.5}`:                                                                                                             "max_tokens: expected a whole number above 0",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"seed":"1"}`:                                                                                                                   "seed: expected a number, got a string",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"response_format":{"type":"xml"}}`:                                                                                             "response_format: type: expected text, json_object or json_schema",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_schema"}}`:                                                                                     "response_format: json_schema.schema: expected",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"logprobs":true}`:                                                                                                              "logprobs: an answer of this endpoint has only text and tool calls",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"logit_bias":{"1":2}}`:                                                                                                         "logit_bias: the API of scripted has no such parameter: leave it out",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"functions":[{"name":"f"}],` + drawTool + `}`:                                                                                  "functions: expected tools or functions, not both",
		`{"model":"here/m","messages":[{"role":"function","name":"f","content":"a"}]}`:                                                                                                               "messages[0].role: a message of the role function must follow",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tool_choice":3}`:                                                                                                              "tool_choice: expected",
		`{"model":"here/m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"description":"nameless"}}]}`:                                                          "tools[0]",
	} {
		status, got := f.post("", body)
		if status/100 != 4 || !strings.Contains(got, want) || !strings.Contains(got, `"type":"invalid_request_error"`) {
			t.Errorf("%s: %d %s, want %q", body, status, got, want)
		}
	}
}

func TestProviderFails(t *testing.T) {
	ask := `{"model":"here/m","messages":[{"role":"user","content":"a"}]}`
	for _, c := range []struct {
		err    providers.APIError
		status int
	}{
		{providers.APIError{Status: 401, Message: "no"}, http.StatusBadGateway},
		{providers.APIError{Status: 429, Message: "slower"}, http.StatusTooManyRequests},
		{providers.APIError{Status: 400, Type: "invalid_request_error", Code: "context_length_exceeded", Message: "too long"}, http.StatusBadRequest},
		{providers.APIError{Status: 404, Message: "no such model"}, http.StatusNotFound},
		{providers.APIError{Message: "cannot reach it"}, http.StatusBadGateway},
	} {
		f := newFront(t)
		f.err = &c.err
		if status, body := f.post("ann", ask); status != c.status || !strings.Contains(body, c.err.Message) || !strings.Contains(body, `"code":"`+cmp.Or(c.err.Code, "unavailable")) {
			t.Errorf("%v: %d %s", c.err, status, body)
		}
		if log := f.log.String(); !strings.Contains(log, `msg="a request for a model failed" provider=here model=m principal=ann error=`) {
			t.Errorf("%v: logged %s", c.err, log)
		}
	}
	f := newFront(t, says("begun", call("1", "double", `{"n":4}`)))
	f.err = &providers.APIError{Status: 500, Message: "broken"}
	if _, body := f.post("", strings.Replace(ask, "{", `{"stream":true,`, 1)); !strings.Contains(body, `data: {"error":{"message":"broken`) || strings.Contains(body, "[DONE]") {
		t.Errorf("in a stream: %s", body)
	}
	for err, want := range map[providers.APIError]string{
		{Status: 500, Message: "broken"}:                                       "server_error",
		{Status: 429, Message: "slower"}:                                       "rate_limit_exceeded",
		{Status: 400, Message: "no"}:                                           "invalid_prompt",
		{Status: 400, Code: "context_length_exceeded", Message: "is too long"}: "context_length_exceeded",
	} {
		f := newFront(t, says("begun", call("1", "double", `{"n":4}`)))
		f.err = &err
		_, body := f.postTo("/v1/responses", "", `{"model":"here/m","stream":true,"input":"a"}`)
		f.has(body, "event: response.failed", `"status":"failed","error":{"code":"`+want+`","message":"`+err.Message)
	}
}

// A client gets the arguments of its calls as the model has written them, also if they are no JSON.
func TestBrokenArguments(t *testing.T) {
	for path, ask := range map[string]string{
		"/v1/chat/completions": `{"model":"here/m","messages":[{"role":"user","content":"go"}],` + drawTool + `}`,
		"/v1/responses":        `{"model":"here/m","input":"go","stream":true,"tools":[{"type":"function","name":"draw","parameters":{"type":"object"}}]}`,
	} {
		f := newFront(t, says("", &providers.Call{ID: "1", Name: "draw", Arguments: providers.Arguments(`{"what":`)}))
		_, body := f.postTo(path, "", ask)
		f.has(body, `"arguments":"{\"what\":"`)
	}
}

// A request that fails after calls have run goes on from there when it is sent again, as SDKs do by themselves; the
// next one begins anew.
func TestSentAgain(t *testing.T) {
	for path, ask := range map[string]string{
		"/v1/chat/completions": `{"model":"here/m","messages":[{"role":"user","content":"go"}]}`,
		"/v1/messages":         `{"model":"here/m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"go"}]}`,
		"/v1/responses":        `{"model":"here/m","input":"go"}`,
	} {
		f := newFront(t, says("Let me see.", call("1", "double", `{"n":4}`)))
		f.err = &providers.APIError{Status: http.StatusInternalServerError, Message: "broken"}
		for _, who := range []string{"ann", "ann"} {
			if _, body := f.postTo(path, who, ask); !strings.Contains(body, "broken") {
				t.Error(path, body)
			}
		}
		f.turns = []providers.Turn{says("Hello, Bob."), says("Eight."), says("Again.")}
		for _, want := range []struct{ who, answer, asked string }{
			{"bob", "Hello, Bob.", "go"}, {"ann", "Eight.", "go; Let me see.; 1 double; 1=8"}, {"ann", "Again.", "go"},
		} {
			_, body := f.postTo(path, want.who, ask)
			f.has(body, want.answer)
			if got := said(f.requests[len(f.requests)-1].Messages); got != want.asked {
				t.Errorf("%s: %s: asked with %q, want %q", path, want.who, got, want.asked)
			}
		}
	}
}

// What is kept of a conversation goes on where it broke off, too.
func TestSentAgainStored(t *testing.T) {
	f := newFront(t, says("Hi."), says("", call("1", "double", `{"n":4}`)))
	f.err = &providers.APIError{Status: http.StatusInternalServerError, Message: "broken"}
	_, body := f.postTo("/v1/responses", "", `{"model":"here/m","store":true,"input":"first"}`)
	var first struct{ ID string }
	if err := json.Unmarshal([]byte(body), &first); err != nil {
		t.Fatal(err)
	}
	ask := `{"model":"here/m","input":"go","previous_response_id":"` + first.ID + `"}`
	_, body = f.postTo("/v1/responses", "", ask)
	f.has(body, "broken")
	f.turns = []providers.Turn{says("Eight.")}
	_, body = f.postTo("/v1/responses", "", ask)
	f.has(body, "Eight.")
	if got := said(f.requests[3].Messages); got != "first; Hi.; go; 1 double; 1=8" {
		t.Error(got)
	}
}

func TestModels(t *testing.T) {
	f := newFront(t)
	for path, want := range map[string]string{
		"/v1/models": `{"data":[{"id":"here/m","object":"model","created":0,"owned_by":"here"}],"object":"list"}`, "/v1/models/here/m": `{"id":"here/m"`,
		"/v1/models/x": "model_not_found", "/v1/rerank": "unknown path", "/v1/embeddings": "GET is not allowed for", "/v1/chat/completions": "GET is not allowed for",
	} {
		resp, err := http.Get(f.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		f.has(string(b), want)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	f.has(string(b), `{"data":[{"type":"model","id":"here/m","display_name":"here/m","created_at":"1970-01-01T00:00:00Z"}],"first_id":"here/m","has_more":false,"last_id":"here/m"}`)
}

// Requests for embeddings go to their provider, if it has them.
func TestEmbeddings(t *testing.T) {
	f := newFront(t)
	for body, want := range map[string]string{
		`[]`:                             "expected a JSON object",
		`{"input":"x"}`:                  `"param":"model"`,
		`{"model":"x","input":"x"}`:      `"code":"model_not_found"`,
		`{"model":"here/m","input":"x"}`: "the API of scripted has no embeddings here",
	} {
		status, answer := f.postTo("/v1/embeddings", "", body)
		if status/100 != 4 {
			t.Error(body, status)
		}
		f.has(answer, want)
	}
}
