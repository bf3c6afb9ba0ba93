package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

// thinks returns a turn that begins with thinking, which its provider sent as raw.
func thinks(thought, raw string, turn providers.Turn) providers.Turn {
	p := providers.Part{Type: providers.PartThinking, Text: thought, Data: []byte(raw)}
	turn.Message.Parts = append([]providers.Part{p}, turn.Message.Parts...)
	return turn
}

const (
	drawMessages  = `"tools":[{"name":"draw","input_schema":{"type":"object","properties":{"what":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}]`
	askMessages   = `{"model":"here/m","max_tokens":100,` + drawMessages + `,"messages":[{"role":"user","content":"go"}`
	signedThought = `{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`
)

// A message is answered whole, with the bridge's rounds hidden and the calls of the client's tools handed
// back; with their results the hidden rounds are there again.
func TestMessages(t *testing.T) {
	f := newFront(t, thinks("Hm.", signedThought, says("Let me see.", call("1", "double", `{"n":4}`))), says("Now.", call("2", "draw", `{"what":"cat"}`)), says("Done."))
	status, body := f.postTo("/v1/messages?beta=true", "", askMessages+`],"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1;"},{"type":"text","text":"Be kind."}],"temperature":0.5}`)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	f.has(body, `"type":"message","role":"assistant","model":"here/m","content":[`+signedThought+`,{"type":"text","text":"Let me see."},{"type":"text","text":"Now."},{"type":"tool_use","id":"toolu_`,
		`"name":"draw","input":{"what":"cat"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4}`)
	if r := f.requests[0]; r.System != "Be kind." || r.Settings.MaxTokens != 100 || *r.Settings.Temperature != 0.5 || r.Tools.Len() != 2 {
		t.Errorf("asked with %+v", r)
	}
	var answer struct {
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	content, _ := json.Marshal(answer.Content)
	var use struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(answer.Content[3], &use); err != nil {
		t.Fatal(err)
	}
	_, body = f.postTo("/v1/messages", "", askMessages+`,{"role":"assistant","content":`+string(content)+`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+use.ID+`","is_error":true,"content":[{"type":"text","text":"no paper"}]},{"type":"text","text":"Well?"}]}]}`)
	f.has(body, `"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn"`)
	if got := said(f.requests[2].Messages); got != "go; Let me see.; 1 double; 1=8; Now.; 2 draw; 2=Error: no paper; Well?" {
		t.Error(got)
	}
}

// A sequence that has ended the answer is told where the provider tells it, and so are the tokens written to a cache.
func TestMessagesSequence(t *testing.T) {
	stopped := says("One, two")
	stopped.Message.Raw = &providers.Raw{Provider: "anthropic", Items: []byte(`{"stop_reason":"stop_sequence","stop_sequence":"three"}`)}
	stopped.Usage = providers.Usage{Input: 100, Cached: 50, CacheWrite: 30, Output: 4}
	const end = `"stop_reason":"stop_sequence","stop_sequence":"three"`
	const usage = `"usage":{"input_tokens":20,"cache_creation_input_tokens":30,"cache_read_input_tokens":50,"output_tokens":4}`
	f := newFront(t, stopped, stopped)
	_, body := f.postTo("/v1/messages", "", askMessages+`],"stop_sequences":["three"]}`)
	f.has(body, `"content":[{"type":"text","text":"One, two"}],`+end+","+usage)
	_, body = f.postTo("/v1/messages", "", strings.Replace(askMessages, "{", `{"stream":true,`, 1)+"]}")
	f.has(body, `"delta":{`+end+`},`+usage)
}

// The events of a stream are those of the API, each with its type.
func TestMessagesStream(t *testing.T) {
	f := newFront(t,
		thinks("Hm.", signedThought, says("Let me see.", call("1", "double", `{"n":4}`))),
		thinks("", `{"type":"redacted_thinking","data":"eA=="}`, says("", call("2", "draw", `{"what":"cat"}`))))
	_, body := f.postTo("/v1/messages", "", strings.Replace(askMessages, "{", `{"stream":true,`, 1)+"]}")
	body = strings.NewReplacer(handedTo(body, "toolu_"), "ID", handedTo(body, "msg_"), "ID").Replace(body)
	const usage = `"usage":{"input_tokens":%,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":#}`
	want := `{"type":"message_start","message":{"id":"ID","type":"message","role":"assistant","model":"here/m","content":[],"stop_reason":null,"stop_sequence":null,` + strings.NewReplacer("%", "0", "#", "0").Replace(usage) + `}}
{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
{"type":"content_block_delta","index":0,"delta":{"thinking":"Hm.","type":"thinking_delta"}}
{"type":"content_block_delta","index":0,"delta":{"signature":"c2ln","type":"signature_delta"}}
{"type":"content_block_stop","index":0}
{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":1,"delta":{"text":"Let me see.","type":"text_delta"}}
{"type":"content_block_stop","index":1}
{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"eA=="}}
{"type":"content_block_stop","index":2}
{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"ID","name":"draw","input":{}}}
{"type":"content_block_delta","index":3,"delta":{"partial_json":"{\"what\":\"cat\"}","type":"input_json_delta"}}
{"type":"content_block_stop","index":3}
{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},` + strings.NewReplacer("%", "20", "#", "4").Replace(usage) + `}
{"type":"message_stop"}
`
	if got := dataOf(t, body); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// handedTo returns the first id with a prefix in a response.
func handedTo(body, prefix string) string {
	_, id, _ := strings.Cut(body, prefix)
	id, _, _ = strings.Cut(id, `"`)
	return prefix + id
}

// dataOf returns the data of the events of a stream, a line each, and checks that each is named after
// its type.
func dataOf(t *testing.T, body string) string {
	t.Helper()
	var b strings.Builder
	kind := ""
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			kind = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			b.WriteString(data)
			var v struct {
				Type string `json:"type"`
			}
			if err := json.Unmarshal([]byte(data), &v); err != nil || v.Type != kind {
				t.Errorf("%v: event %q has %s", err, kind, data)
			}
		}
	}
	return b.String()
}

// What a client sends back with a signature goes to the API that signed it, and to no other.
func TestMessagesSigned(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.postTo("/v1/messages", "", `{"model":"here/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[`+signedThought+`,{"type":"mcp_tool_use","id":"m","name":"get","server_name":"git","input":{}},{"type":"mcp_tool_result","tool_use_id":"m","content":[]},{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},{"role":"system","content":"Hurry."},{"role":"user","content":"and?"}],"thinking":{"type":"enabled","budget_tokens":2000},"top_k":3}`)
	f.has(body, `"text":"ok"`)
	r := f.requests[0]
	if raw := string(r.Messages[1].Raw.Of("scripted")); raw != `{"role":"assistant","content":[`+signedThought+`,{"type":"text","text":"Hi"}]}` {
		t.Error(raw)
	}
	if got := string(r.Settings.Body); got != `{"top_k":3,"thinking":{"type":"enabled","budget_tokens":2000}}` || r.Messages[2].Text() != "Hurry." || r.Messages[2].Role != providers.RoleUser {
		t.Errorf("%s %+v", got, r.Messages)
	}
}

// A document of text in a result is text for every model.
func TestMessagesResultDocument(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.postTo("/v1/messages", "", `{"model":"here/m","max_tokens":9,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"read","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"It rains."}}]}]}]}`)
	f.has(body, `"text":"ok"`)
	if got := said(f.requests[0].Messages); got != "go; 1 read; 1=It rains." {
		t.Error(got)
	}
}

// Errors have the shape of the API.
func TestMessagesRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                              `{"type":"error","error":{"type":"invalid_request_error","message":"the request is not JSON: `,
		`{"max_tokens":1,"messages":[]}`: "model: expected one of",
		`{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`:                                                                          `"not_found_error","message":"model x is unknown`,
		`{"model":"here/m","max_tokens":1,"thread":{"type":"create"},"messages":[{"role":"user","content":"x"}]}`:                                          `"details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}`,
		`{"model":"here/m","max_tokens":1.5,"messages":[{}]}`:                                                                                              "max_tokens: expected",
		`{"model":"here/m","messages":[{"role":"robot","content":"x"}]}`:                                                                                   `messages.0.role: expected user or assistant, got \"robot\"`,
		`{"model":"here/m","messages":[{"role":"user","content":[{"type":"video"}]}]}`:                                                                     `messages.0.content.0.type: \"video\" is not supported`,
		`{"model":"here/m","messages":[{"role":"user","content":"x"}],"mcp_servers":[{"name":"a"}]}`:                                                       "mcp_servers.0.name: no tools of a server",
		`{"model":"here/m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"search"}]}`:                           "tools.0: type",
		`{"model":"here/m","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"tool"}}`:                                                      "tool_choice.name",
		`{"model":"here/m","messages":[{"role":"user","content":"x"}],"thinking":{"type":"much"}}`:                                                         "thinking.type",
		`{"model":"here/m","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"tool","name":"gone"}}`:                                        "tool_choice: ",
		`{"model":"here/m","messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"},"citations":{"enabled":true}}]}]}`: `messages.0.content.0.citations: an answer has no citations`,
	} {
		f := newFront(t)
		status, answer := f.postTo("/v1/messages", "", body)
		if status < 400 || status >= 500 {
			t.Errorf("%s: %d", body, status)
		}
		f.has(answer, want)
	}
}

// Tokens are counted by the provider's API, or estimated.
func TestMessagesCount(t *testing.T) {
	f := newFront(t)
	_, body := f.postTo("/v1/messages/count_tokens", "", askMessages+"]}")
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(body), &count); err != nil || count.Tokens < 20 || count.Tokens > 400 {
		t.Errorf("%v %s", err, body)
	}
	if len(f.requests) > 0 {
		t.Error("the model was asked")
	}
}

// A path that is unknown, or closed to its sender, is refused in the form of Anthropic's API to its clients.
func TestMessagesElsewhere(t *testing.T) {
	f := newFront(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.URL+"/v1/messages/batches", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	f.has(string(body), `{"type":"error","error":{"type":"not_found_error","message":"unknown path: expected /v1/chat/completions, `)
	w, list := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil)
	list.Header.Set("Anthropic-Version", "2023-06-01")
	if !serve.Refuse(w, list, http.StatusUnauthorized, "no") || !strings.Contains(w.Body.String(), `"type":"authentication_error"`) {
		t.Error(w.Body)
	}
}

// Where the client lets the model think, what the config has for the temperature is not sent: the API refuses both.
func TestMessagesThinkingAndTemperature(t *testing.T) {
	for parameters, want := range map[string]string{
		``:                               `"Temperature":0.5,"TopP":0.5`,
		`"thinking":{"type":"disabled"}`: `"Temperature":0.5,"TopP":0.5`,
		`"thinking":{"type":"enabled","budget_tokens":1024}`:                 `"Temperature":null,"TopP":null`,
		`"thinking":{"type":"enabled","budget_tokens":1024},"temperature":1`: `"Temperature":1,"TopP":null`,
	} {
		f := newFront(t, says("ok"))
		half := 0.5
		f.settings = providers.Settings{Temperature: &half, TopP: &half}
		status, body := f.postTo("/v1/messages", "", askMessages+strings.TrimSuffix("],"+parameters, ",")+"}")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", parameters, status, body)
			continue
		}
		if got, _ := json.Marshal(f.requests[0].Settings); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", parameters, got, want)
		}
	}
}
