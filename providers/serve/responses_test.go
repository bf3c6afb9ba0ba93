package serve_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
)

const drawResponses = `"tools":[{"type":"function","name":"draw","parameters":{"type":"object","properties":{"what":{"type":"string"}}}},{"type":"web_search"},{"type":"custom","name":"patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}}]`

const encrypted = `{"id":"rs_theirs","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"sealed"}`

// A response is answered whole; the calls of the client's tools are handed back as its items, and with
// their outputs the hidden rounds are there again.
func TestResponses(t *testing.T) {
	f := newFront(t, thinks("Hm.", encrypted, says("Let me see.", call("1", "double", `{"n":4}`))),
		says("", call("2", "draw", `{"what":"cat"}`), call("3", "patch", `{"input":"+ a\n"}`)), says("Done."))
	ask := `{"model":"here/m",` + drawResponses + `,"instructions":"Be kind.","input":[{"role":"user","content":[{"type":"input_text","text":"go"}]}`
	status, body := f.postTo("/v1/responses", "", ask+`],"max_output_tokens":50,"reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema","name":"a","schema":{"type":"object"}}}}`)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	f.has(body, `"object":"response"`, `"status":"completed"`, `"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"sealed"}`,
		`"role":"assistant","content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]`,
		`"name":"draw","arguments":"{\"what\":\"cat\"}"`, `"name":"patch","input":"+ a\n"`, `"total_tokens":24`, `"store":false`, `"tool_choice":"auto"`)
	r := f.requests[0]
	if r.System != "Be kind." || r.Settings.MaxTokens != 50 || r.Settings.Effort != "low" || r.Settings.Answer.Name != "a" || r.Tools.Len() != 3 {
		t.Errorf("asked with %+v", r)
	}
	if patch := r.Tools.Find("patch"); patch == nil || !strings.Contains(patch.Description, "lark grammar:\nstart: /.+/") {
		t.Errorf("%+v", patch)
	}
	var answer struct {
		Output []json.RawMessage `json:"output"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	for _, item := range answer.Output {
		ask += "," + string(item)
	}
	ids := regexp.MustCompile(`"call_id":"([^"]+)"`).FindAllStringSubmatch(body, -1)
	ask += `,{"type":"function_call_output","call_id":"` + ids[0][1] + `","output":"drawn"},{"type":"custom_tool_call_output","call_id":"` + ids[1][1] + `","output":"patched"}]}`
	_, body = f.postTo("/v1/responses", "", ask)
	f.has(body, `"text":"Done."`)
	if got := said(f.requests[2].Messages); got != "go; Let me see.; 1 double; 1=8; 2 draw; 3 patch; 2=drawn; 3=patched" {
		t.Error(got)
	}
}

// said returns the texts, calls and results of messages.
func said(messages []providers.Message) string {
	var all []string
	for _, m := range messages {
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				all = append(all, p.Call.ID+" "+p.Call.Name)
			case p.Result != nil:
				all = append(all, p.Result.ID+"="+p.Result.Text(true))
			case p.Type == providers.PartText:
				all = append(all, p.Text)
			}
		}
	}
	return strings.Join(all, "; ")
}

// The events of a stream are those of the API, numbered, each with its type.
func TestResponsesStream(t *testing.T) {
	f := newFront(t, thinks("Hm.", `{}`, says("Let me see.", call("1", "double", `{"n":4}`))), says("", call("2", "draw", `{"what":"cat"}`)))
	_, body := f.postTo("/v1/responses", "", `{"model":"here/m","stream":true,`+drawResponses+`,"input":"go"}`)
	got := dataOf(t, body)
	ids := regexp.MustCompile(`"(resp|rs|msg|fc|call)_[A-Z0-9]+"`)
	got = ids.ReplaceAllString(got, `"$1"`)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	want := []string{
		`{"response":{"id":"resp",`,
		`{"response":{"id":"resp",`,
		`{"item":{"id":"rs","type":"reasoning","summary":[]},"output_index":0,"sequence_number":2,"type":"response.output_item.added"}`,
		`{"item_id":"rs","output_index":0,"part":{"type":"summary_text","text":""},"sequence_number":3,"summary_index":0,"type":"response.reasoning_summary_part.added"}`,
		`{"delta":"Hm.","item_id":"rs","output_index":0,"sequence_number":4,"summary_index":0,"type":"response.reasoning_summary_text.delta"}`,
		`{"item_id":"rs","output_index":0,"sequence_number":5,"summary_index":0,"text":"Hm.","type":"response.reasoning_summary_text.done"}`,
		`{"item_id":"rs","output_index":0,"part":{"type":"summary_text","text":"Hm."},"sequence_number":6,"summary_index":0,"type":"response.reasoning_summary_part.done"}`,
		`{"item":{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},"output_index":0,"sequence_number":7,"type":"response.output_item.done"}`,
		`{"item":{"id":"msg","type":"message","status":"in_progress","role":"assistant","content":[]},"output_index":1,"sequence_number":8,"type":"response.output_item.added"}`,
		`{"content_index":0,"item_id":"msg","output_index":1,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]},"sequence_number":9,"type":"response.content_part.added"}`,
		`{"content_index":0,"delta":"Let me see.","item_id":"msg","logprobs":[],"output_index":1,"sequence_number":10,"type":"response.output_text.delta"}`,
		`{"content_index":0,"item_id":"msg","logprobs":[],"output_index":1,"sequence_number":11,"text":"Let me see.","type":"response.output_text.done"}`,
		`{"content_index":0,"item_id":"msg","output_index":1,"part":{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]},"sequence_number":12,"type":"response.content_part.done"}`,
		`{"item":{"id":"msg","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Let me see.","annotations":[],"logprobs":[]}]},"output_index":1,"sequence_number":13,"type":"response.output_item.done"}`,
		`{"item":{"id":"fc","type":"function_call","status":"in_progress","call_id":"call","name":"draw","arguments":""},"output_index":2,"sequence_number":14,"type":"response.output_item.added"}`,
		`{"delta":"{\"what\":\"cat\"}","item_id":"fc","output_index":2,"sequence_number":15,"type":"response.function_call_arguments.delta"}`,
		`{"arguments":"{\"what\":\"cat\"}","item_id":"fc","name":"draw","output_index":2,"sequence_number":16,"type":"response.function_call_arguments.done"}`,
		`{"item":{"id":"fc","type":"function_call","status":"completed","call_id":"call","name":"draw","arguments":"{\"what\":\"cat\"}"},"output_index":2,"sequence_number":17,"type":"response.output_item.done"}`,
		`{"response":{"id":"resp",`,
	}
	for i := range max(len(lines), len(want)) {
		if i >= len(lines) || i >= len(want) || !strings.HasPrefix(lines[i], want[i]) {
			t.Fatalf("event %d of\n%s\nwant %s", i, got, strings.Join(want, "\n"))
		}
	}
	f.has(lines[0], `"status":"in_progress"`, `"type":"response.created"`)
	f.has(lines[len(lines)-1], `"status":"completed"`, `"usage":{"input_tokens":20`, `"type":"response.completed"`)
}

// A response that is kept can be continued, by its caller only.
func TestResponsesKept(t *testing.T) {
	f := newFront(t, says("", call("1", "double", `{"n":4}`)), says("8."), says("Yes."), says("Unknown."))
	_, body := f.postTo("/v1/responses", "ann", `{"model":"here/m","store":true,"input":"twice 4?"}`)
	id := handedTo(body, "resp_")
	next := `{"model":"here/m","previous_response_id":"` + id + `","input":"Sure?"}`
	status, refused := f.postTo("/v1/responses", "bob", next)
	if status != http.StatusBadRequest {
		t.Error(status)
	}
	f.has(refused, `"param":"previous_response_id"`, "is only kept with store")
	_, body = f.postTo("/v1/responses", "ann", next)
	f.has(body, `"text":"Yes."`, `"previous_response_id":"`+id+`"`)
	if got := said(f.requests[2].Messages); got != "twice 4?; 1 double; 1=8; 8.; Sure?" {
		t.Error(got)
	}
	status, refused = f.postTo("/v1/responses", "ann", `{"model":"here/m","previous_response_id":"`+handedTo(body, "resp_")+`","input":"Sure?"}`)
	if status != http.StatusBadRequest {
		t.Error("a response without store is kept", refused)
	}
}

// What a message of the system has said holds for the responses that continue its own, too, and instructions do not.
func TestResponsesKeptSystem(t *testing.T) {
	f := newFront(t, says("Salve."), says("Ita."), says("Sì."))
	ask := `{"model":"here/m","store":true,"instructions":"Be kind.","input":[{"role":"developer","content":"Speak Latin."},{"role":"user","content":"hi"}]}`
	next := []string{`"input":"sure?"}`, `"instructions":"Be quick.","input":[{"role":"developer","content":"Speak Latin."},{"role":"system","content":"Or Italian."},{"role":"user","content":"and?"}]}`}
	for i, want := range []string{"Be kind.\n\nSpeak Latin.", "Speak Latin.", "Be quick.\n\nSpeak Latin.\n\nOr Italian."} {
		_, body := f.postTo("/v1/responses", "ann", ask)
		if got := f.requests[i].System; got != want {
			t.Errorf("request %d: %q, want %q", i, got, want)
		}
		if i < len(next) {
			ask = `{"model":"here/m","store":true,"previous_response_id":"` + handedTo(body, "resp_") + `",` + next[i]
		}
	}
	if got := said(f.requests[2].Messages); got != "hi; Salve.; sure?; Ita.; and?" {
		t.Error(got)
	}
}

// Items of the vendor's own tools are left out, whatever is in them.
func TestResponsesElsewhere(t *testing.T) {
	f := newFront(t, says("ok"))
	_, body := f.postTo("/v1/responses", "", `{"model":"here/m","input":[{"role":"user","content":"go"},{"type":"tool_search_call","id":"tsc_1","call_id":null,"execution":"server","status":"completed","arguments":{"paths":["crm"]}},
		{"type":"tool_search_output","execution":"server","status":"completed","tools":[]},{"role":"assistant","content":"Hi."},{"role":"user","content":"on"}]}`)
	f.has(body, `"text":"ok"`)
	if got := said(f.requests[0].Messages); got != "go; Hi.; on" {
		t.Error(got)
	}
}

// Clients that leave store to the API refer to the items of a response, and only their caller can. A response with
// store can be read and deleted.
func TestResponsesItems(t *testing.T) {
	f := newFront(t, says("Hello."), says("Yes."), says("No."))
	ask := `{"model":"here/m","input":[{"role":"user","content":"hi"}`
	_, body := f.postTo("/v1/responses", "ann", ask+"]}")
	again := ask + `,{"type":"item_reference","id":"` + handedTo(body, "msg_") + `"},{"role":"user","content":"sure?"}]`
	status, refused := f.postTo("/v1/responses", "bob", again+"}")
	f.has(refused, `input[1].id: no item \"msg_`)
	_, body = f.postTo("/v1/responses", "ann", again+`,"store":true}`)
	if got := said(f.requests[1].Messages); got != "hi; Hello.; sure?" || status != http.StatusBadRequest {
		t.Error(status, got)
	}
	path := "/v1/responses/" + handedTo(body, "resp_")
	for _, c := range []struct {
		method, path, who string
		status            int
		want              string
	}{
		{http.MethodGet, path, "bob", http.StatusNotFound, "no such response is kept"},
		{http.MethodDelete, path, "bob", http.StatusNotFound, "no such response is kept"},
		{http.MethodGet, "/v1/responses/" + handedTo(body, "msg_"), "ann", http.StatusNotFound, "no such response is kept"},
		{http.MethodGet, path, "ann", http.StatusOK, `"text":"Yes."`},
		{http.MethodPut, path, "ann", http.StatusMethodNotAllowed, "expected GET or DELETE"},
		{http.MethodDelete, path, "ann", http.StatusOK, `"deleted":true`},
		{http.MethodGet, path, "ann", http.StatusNotFound, "no such response is kept"},
	} {
		status, body := f.send(c.method, c.path, c.who, "")
		if status != c.status {
			t.Errorf("%s of %s: %d", c.method, c.who, status)
		}
		f.has(body, c.want)
	}
	_, body = f.postTo("/v1/responses", "ann", ask+`],"store":false}`)
	_, refused = f.postTo("/v1/responses", "ann", ask+`,{"id":"`+handedTo(body, "msg_")+`"}]}`)
	f.has(refused, "no item")
}

// The functions of a namespace are called there.
func TestResponsesNamespace(t *testing.T) {
	f := newFront(t, says("", call("1", "crew__hire", `{"who":"ann"}`)), says("Hired."))
	ask := `{"model":"here/m","tools":[{"type":"namespace","name":"crew","description":"People.","tools":[{"type":"function","name":"hire","parameters":{"type":"object","properties":{"who":{"type":"string"}}}},{"type":"custom","name":"note"}]}],"input":[{"role":"user","content":"go"}`
	_, body := f.postTo("/v1/responses", "", ask+"]}")
	f.has(body, `"name":"hire","namespace":"crew","arguments":"{\"who\":\"ann\"}"`)
	id := strings.TrimPrefix(handedTo(body, `"call_id":"`), `"call_id":"`)
	_, body = f.postTo("/v1/responses", "", ask+`,{"type":"function_call","call_id":"`+id+`","name":"hire","namespace":"crew","arguments":"{}"},{"type":"function_call_output","call_id":"`+id+`","output":"ok"}]}`)
	f.has(body, `"text":"Hired."`)
	if got := said(f.requests[1].Messages); got != "go; 1 crew__hire; 1=ok" {
		t.Error(got)
	}
}

// Errors have the shape of the API.
func TestResponsesRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`{`:                             `"message":"the request is not JSON: `,
		`{"input":"x"}`:                 `"param":"model"`,
		`{"model":"here/m"}`:            `"param":"input"`,
		`{"model":"here/m","input":""}`: `"param":"input"`,
		`{"model":"x","input":"x"}`:     `"code":"model_not_found"`,
		`{"model":"here/m","input":[{"role":"robot","content":"x"}]}`:                                       `input[0].role: expected user`,
		`{"model":"here/m","input":[{"type":"item_reference","id":"x"}]}`:                                   `send the item itself`,
		`{"model":"here/m","input":"x","include":["message.output_text.logprobs"]}`:                         `"param":"include"`,
		`{"model":"here/m","input":"x","text":{"verbosity":"low"}}`:                                         `"param":"text.verbosity"`,
		`{"model":"here/m","input":"x","max_tool_calls":-1}`:                                                `"param":"max_tool_calls"`,
		`{"model":"here/m","input":"x","background":true}`:                                                  `"param":"background"`,
		`{"model":"here/m","input":"x","conversation":"c"}`:                                                 `"param":"conversation"`,
		`{"model":"here/m","input":"x","tools":[{"type":"mcp","server_url":"http://x/"}]}`:                  `tools[0].server_label: expected the name of a server of the bridge`,
		`{"model":"here/m","input":"x","tools":[{"type":"local_shell"}]}`:                                   `tools[0].type: expected function, custom or namespace, got \"local_shell\"`,
		`{"model":"here/m","input":"x","tools":[{"type":"namespace","name":"a","tools":[{"type":"mcp"}]}]}`: `tools[0].tools[0].type: expected`,
		`{"model":"here/m","input":"x","tool_choice":{"type":"file_search"}}`:                               `tool_choice.type`,
		`{"model":"here/m","input":"x","text":{"format":{"type":"xml"}}}`:                                   `text.format.type`,
	} {
		f := newFront(t)
		status, answer := f.postTo("/v1/responses", "", body)
		if status < 400 || status >= 500 {
			t.Errorf("%s: %d", body, status)
		}
		f.has(answer, want)
	}
}

// A request cannot make the bridge hold many copies of an item by referring to it often.
func TestResponsesReferences(t *testing.T) {
	s := serve.New(serve.Options{
		Toolbox: providers.NewToolbox(nil), MaxBody: 4_000,
		Model: func(string) (providers.Candidate, providers.Settings, error) {
			return providers.Candidate{Provider: &scripted{turns: []providers.Turn{says(strings.Repeat("long ", 300)), says("ok")}}}, providers.Settings{}, nil
		},
		Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} },
	})
	post := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/responses", strings.NewReader(body)))
		return w
	}
	const ask = `{"model":"m","input":[{"role":"user","content":"go"}`
	reference := `,{"type":"item_reference","id":"` + handedTo(post(ask+"]}").Body.String(), "msg_") + `"}`
	for n, status := range map[int]int{1: http.StatusOK, 2: http.StatusOK, 3: http.StatusRequestEntityTooLarge} {
		if w := post(ask + strings.Repeat(reference, n) + "]}"); w.Code != status {
			t.Errorf("%d references: %d %s", n, w.Code, w.Body)
		}
	}
}

// max_tool_calls bounds the calls of the bridge's tools.
func TestResponsesMaxCalls(t *testing.T) {
	f := newFront(t, says("", call("1", "double", `{"n":1}`)), says("", call("2", "double", `{"n":2}`)), says("Done."))
	_, body := f.postTo("/v1/responses", "", `{"model":"here/m","input":"go","max_tool_calls":1}`)
	f.has(body, `"status":"incomplete"`, `"reason":"max_output_tokens"`)
	if len(f.requests) != 2 {
		t.Errorf("the model was asked %d times", len(f.requests))
	}
}
