package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// The parameters of a request are the settings of the turn; what clients send for what they do
// not want is not one.
func TestParameters(t *testing.T) {
	const plain = `{"MaxTokens":7,"Temperature":null,"TopP":null,"Serial":false,"Stop":null,"Seed":null,"PresencePenalty":null,"FrequencyPenalty":null,"Effort":"","Thinking":0,"Answer":null,"Body":null}`
	for parameters, want := range map[string]string{
		``: "",
		`"max_tokens":100.0,"n":1.0,"temperature":0,"top_p":0.5,"parallel_tool_calls":false`: `"MaxTokens":100,"Temperature":0,"TopP":0.5,"Serial":true`,
		`"stop":"a","seed":-4.0`:                   `"Stop":["a"],"Seed":-4`,
		`"stop":["a","b"]`:                         `"Stop":["a","b"]`,
		`"stop":null,"seed":null`:                  "",
		`"presence_penalty":0.5`:                   `"PresencePenalty":0.5`,
		`"frequency_penalty":-0.5`:                 `"FrequencyPenalty":-0.5`,
		`"reasoning_effort":"low"`:                 `"Effort":"low"`,
		`"response_format":{"type":"text"}`:        "",
		`"response_format":{"type":"json_object"}`: `"Answer":{"Schema":null,"Name":"","Description":"","Strict":null,"Checked":false}`,
		`"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type": "object"}}}`:                                                 `"Answer":{"Schema":{"type":"object"},"Name":"a","Description":"","Strict":true,"Checked":false}`,
		`"presence_penalty":0,"frequency_penalty":0.0,"logprobs":false,"top_logprobs":0,"logit_bias":{},"modalities":["text"],"user":"u","store":true,"verbosity":null`: "",
	} {
		f := newFront(t, says("ok"))
		status, body := f.post("", `{"model":"here/m","messages":[{"role":"user","content":"hi"}]`+strings.TrimSuffix(","+parameters, ",")+"}")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", parameters, status, body)
			continue
		}
		got, err := json.Marshal(f.requests[0].Settings)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && string(got) != plain || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, want %s", parameters, got, want)
		}
	}
}

// With allowed_tools the model is offered only those, of the client's and of the bridge's.
func TestAllowedTools(t *testing.T) {
	for allowed, want := range map[string]string{"draw": "draw", "double": "double"} {
		f := newFront(t, says("ok"))
		_, body := f.post("", `{"model":"here/m","messages":[{"role":"user","content":"hi"}],`+drawTool+`,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"`+allowed+`"}}]}}}`)
		f.has(body, `"content":"ok"`)
		r := f.requests[0]
		if r.Tools.Len() != 1 || r.Tools.Tools()[0].Name != want || r.Choice != providers.ChoiceRequired {
			t.Errorf("%s: offered %v, choice %s", allowed, r.Tools.Tools(), r.Choice)
		}
	}
}

// A system prompt alone is a request.
func TestSystemOnly(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.post("", `{"model":"here/m","messages":[{"role":"system","content":"Greet."}]}`)
	f.has(body, `"content":"ok"`)
	if r := f.requests[0]; r.System != "Be brief." || len(r.Messages) != 1 || r.Messages[0].Text() != "Greet." {
		t.Errorf("asked with %+v", r)
	}
}

// Requests of before there were tools have functions, whose calls have no ids.
func TestFunctions(t *testing.T) {
	const ask = `{"model":"here/m","functions":[{"name":"draw","parameters":{"type":"object"}}],"function_call":{"name":"draw"},"messages":[{"role":"user","content":"go"}`
	f := newFront(t, says("", call("a", "draw", `{"what":"cat"}`)), says("done"))
	_, body := f.post("", ask+"]}")
	f.has(body, `"function_call":{"name":"draw","arguments":"{\"what\":\"cat\"}"}`, `"finish_reason":"function_call"`)
	if r := f.requests[0]; r.Choice != "draw" || !r.Settings.Serial || strings.Contains(body, "tool_calls") {
		t.Errorf("asked with %+v, answered %s", r, body)
	}
	_, body = f.post("", ask+`,{"role":"assistant","content":null,"function_call":{"name":"draw","arguments":"{}"}},{"role":"function","name":"draw","content":"drawn"}]}`)
	f.has(body, `"content":"done"`, `"finish_reason":"stop"`)
	m := f.requests[1].Messages
	if len(m) != 3 || m[1].Calls()[0].Name != "draw" || m[2].Parts[0].Result.Name != "draw" || m[2].Parts[0].Result.Text(true) != "drawn" {
		t.Errorf("asked with %+v", m)
	}
	f = newFront(t, says("", call("a", "draw", `{}`)))
	_, body = f.post("", `{"stream":true,`+ask[1:]+"]}")
	f.has(body, `"delta":{"function_call":{"name":"draw","arguments":"{}"}}`, `"delta":{},"finish_reason":"function_call"`)
}

// What the model has refused to do it is told like all else that it has said.
func TestRefusal(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.post("", `{"model":"here/m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"refusal":"I will not."},{"role":"user","content":"why?"}]}`)
	f.has(body, `"content":"ok"`)
	if got := said(f.requests[0].Messages); got != "go; I will not.; why?" {
		t.Error(got)
	}
}

// Images reach the model: those in the message of a tool too, and a URL as it is.
func TestImages(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.post("", `{"model":"here/m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://e.example/x.png","detail":"low"}}]},
		{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"draw","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"BBBB","format":"wav"}},{"type":"file","file":{"filename":"a b.pdf","file_data":"data:application/pdf;base64,CCCC"}}]}]}`)
	f.has(body, `"content":"ok"`)
	m := f.requests[0].Messages
	if p := m[0].Parts[0]; p.Type != providers.PartImage || p.URL != "https://e.example/x.png" || p.Detail != "low" || p.Data != nil {
		t.Errorf("the user's image: %+v", p)
	}
	const want = `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"audio","mimeType":"audio/wav","data":"BBBB"},{"type":"resource","resource":{"uri":"file:///a%20b.pdf","mimeType":"application/pdf","blob":"CCCC"}}]}`
	if got := string(m[2].Parts[0].Result.Content.JSON); got != want {
		t.Errorf("the result: %s\nwant %s", got, want)
	}
	_, body = f.post("", `{"model":"here/m","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"draw","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"https://e.example/x.png"}}]}]}`)
	f.has(body, `"messages[2].content[0]: an image in the message of a tool must be a data: URL"`)
}

// A request may name models that go on where the first one fails, as it does for other gateways.
func TestFallbackModels(t *testing.T) {
	const ask = `{"model":"here/m","messages":[{"role":"user","content":"hi"}],"models":`
	f := newFront(t)
	f.err = &providers.APIError{Status: http.StatusServiceUnavailable, Message: "away"}
	if status, body := f.post("", ask+`["here/m","here/m","here/m"]}`); status != http.StatusServiceUnavailable || len(f.requests) != 3 {
		t.Errorf("%d %s after %d requests", status, body, len(f.requests))
	}
	if status, body := f.post("", ask+`["here/m","there/m"]}`); status != http.StatusBadRequest || !strings.Contains(body, "models[0]: model there/m is unknown") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := f.post("", ask+`"m"}`); status != http.StatusBadRequest || !strings.Contains(body, "models: expected an array, got a string") {
		t.Errorf("%d %s", status, body)
	}
}

// An answer has the name of the model that has given it: streamed from the first event on, if that was known by then. A
// whole one, and the last event of Responses, have that of the last model.
func TestNameOfFallback(t *testing.T) {
	const chat, messages, responses = "chat/completions", "messages", "responses"
	hi := `"max_tokens":9,"messages":[{"role":"user","content":"hi"}]`
	asks := map[string]string{chat: hi, messages: hi, responses: `"input":"hi"`}
	away := providers.Turn{Stop: providers.StopFailed}
	first := []providers.Turn{away, says("ok")}
	later := []providers.Turn{says("so", call("1", "double", `{"n":4}`)), away, says("ok")}
	for _, c := range []struct {
		path   string
		stream bool
		turns  []providers.Turn
		want   string // the models in the answer
	}{
		{chat, false, first, "n"}, {messages, false, first, "n"}, {responses, false, first, "n"},
		{chat, true, first, "nnn"}, {messages, true, first, "n"}, {responses, true, first, "nnn"},
		{chat, false, later, "n"}, {messages, false, later, "n"}, {responses, false, later, "n"},
		{chat, true, later, "mmnn"}, {messages, true, later, "m"}, {responses, true, later, "mmn"},
		{chat, true, first[1:], "mmm"}, {messages, false, first[1:], "m"}, {responses, true, first[1:], "mmm"},
	} {
		f := newFront(t, c.turns...)
		f.err = &providers.APIError{Status: http.StatusServiceUnavailable, Message: "away"}
		_, body := f.postTo("/v1/"+c.path, "", fmt.Sprintf(`{"model":"here/m","models":["here/n"],"stream":%t,%s}`, c.stream, asks[c.path]))
		got := ""
		for _, m := range regexp.MustCompile(`"model":"here/(.)"`).FindAllStringSubmatch(body, -1) {
			got += m[1]
		}
		if got != c.want {
			t.Errorf("%s, stream %t: models %s, want %s: %s", c.path, c.stream, got, c.want, body)
		}
	}
}

// How long answers are is told to both of OpenAI's APIs in their own places, and refused for others. The default of
// another API is not sent: not every server knows it.
func TestVerbosity(t *testing.T) {
	chat := func(word string) string {
		return `{"model":"here/m","verbosity":"` + word + `","messages":[{"role":"user","content":"hi"}]}`
	}
	response := func(word string) string {
		return `{"model":"here/m","input":"x","text":{"verbosity":"` + word + `"}}`
	}
	for _, c := range []struct {
		path, body string
		format     toolformat.Format
		want       string
	}{
		{"/v1/chat/completions", chat("low"), toolformat.FormatOpenAI, `{"verbosity":"low"}`},
		{"/v1/chat/completions", chat("low"), toolformat.FormatOpenAIResponses, `{"text":{"verbosity":"low"}}`},
		{"/v1/chat/completions", chat("medium"), toolformat.FormatOpenAI, `{"verbosity":"medium"}`},
		{"/v1/chat/completions", chat("medium"), toolformat.FormatOllama, ``},
		{"/v1/chat/completions", chat("low"), toolformat.FormatOllama, `400 "param":"verbosity"`},
		{"/v1/responses", response("high"), toolformat.FormatOpenAIResponses, `{"text":{"verbosity":"high"}}`},
		{"/v1/responses", response("high"), toolformat.FormatOpenAI, `{"verbosity":"high"}`},
		{"/v1/responses", response("medium"), toolformat.FormatOpenAI, ``},
		{"/v1/responses", response("high"), toolformat.FormatGemini, `400 "param":"text.verbosity"`},
	} {
		f := newFront(t, says("ok"))
		f.format = c.format
		status, body := f.postTo(c.path, "", c.body)
		if wrong, refused := strings.CutPrefix(c.want, "400 "); refused {
			if status != http.StatusBadRequest || !strings.Contains(body, wrong) {
				t.Errorf("%s to %s: %d %s", c.body, c.format, status, body)
			}
			continue
		}
		if status != http.StatusOK || string(f.requests[0].Settings.Body) != c.want {
			t.Errorf("%s to %s: %d %s, want %s", c.body, c.format, status, body, c.want)
		}
	}
}

// A client gets the arguments of its calls with the names of its tool, also from a model that has gone on whose API has
// others.
func TestArgumentsOfFallback(t *testing.T) {
	const parameters = `{"type":"object","properties":{"$top":{"type":"integer"}}}`
	set := providers.NewToolSet([]toolformat.Tool{{Name: "draw", InputSchema: json.RawMessage(parameters)}}).Encoded(toolformat.FormatGemini)
	var sent struct {
		Schema struct {
			Properties map[string]any `json:"properties"`
		} `json:"parametersJsonSchema"`
	}
	if err := json.Unmarshal(set.Tools[0].JSON, &sent); err != nil || len(sent.Schema.Properties) != 1 {
		t.Fatalf("%v: %s", err, set.Tools[0].JSON)
	}
	models := map[string]*scripted{"m": {format: toolformat.FormatOpenAI, err: &providers.APIError{Status: http.StatusServiceUnavailable, Message: "away"}}}
	for key := range sent.Schema.Properties {
		models["n"] = &scripted{format: toolformat.FormatGemini, turns: []providers.Turn{says("", call("1", "draw", `{"`+key+`":5}`))}}
	}
	f := &front{T: t, Server: httptest.NewServer(serve.New(serve.Options{
		Toolbox: providers.NewToolbox(nil),
		Model: func(id string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Name: "here", Provider: models[id], Model: id}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	}))}
	t.Cleanup(f.Close)
	_, body := f.post("", `{"model":"m","models":["n"],"messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"draw","parameters":`+parameters+`}}]}`)
	f.has(body, `"arguments":"{\"$top\":5}"`)
}

// The client of a provider that is busy learns how long to wait.
func TestRetryAfter(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, 529} {
		f := newFront(t)
		f.err = &providers.APIError{Status: status, Message: "busy", After: 7 * time.Second}
		resp, err := http.Post(f.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"here/m","messages":[{"role":"user","content":"a"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Retry-After"); got != "7" {
			t.Errorf("%d: Retry-After %q", status, got)
		}
	}
}
