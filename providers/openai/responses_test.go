package openai

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// completed returns the last event of a response.
func completed(output string) string {
	return `{"type":"response.completed","response":{"status":"completed","model":"m-1","output":` + output +
		`,"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}}`
}

const (
	reasoningItem = `{"id":"rs_1","type":"reasoning","encrypted_content":"sealed","summary":[{"type":"summary_text","text":"Hm"},{"type":"summary_text","text":"so"}]}`
	messageItem   = `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hello"}],"phase":"commentary","role":"assistant"}`
	callItem      = `{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"city\":\"Rome\"}","call_id":"a","name":"add"}`
)

func done(index, item string) string {
	return `{"type":"response.output_item.done","output_index":` + index + `,"item":` + item + `}`
}

func added(index, item string) string {
	return `{"type":"response.output_item.added","output_index":` + index + `,"item":` + item + `}`
}

// wrappedCalls are arguments of the tool parallel.
var wrappedCalls = string(wire.AppendString(nil, `{"tool_uses":[{"recipient_name":"functions.add","parameters":{"city":"Rome"}},{"recipient_name":"functions.now","parameters":{}}]}`))

var responsesQuirks = []quirk{
	{
		name: "by the letter: the done items are kept, reasoning and phase with them",
		events: []string{`{"type":"response.created","response":{"model":"m-0"}}`,
			added("0", `{"id":"rs_1","type":"reasoning","encrypted_content":"half","summary":[]}`),
			`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Hm"}`,
			`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"so"}`,
			done("0", reasoningItem), added("1", `{"type":"message","content":[]}`), `{"type":"response.output_text.delta","output_index":1,"delta":"Hel"}`,
			`{"type":"response.output_text.delta","output_index":1,"delta":"lo"}`, done("1", messageItem),
			added("2", `{"type":"function_call","arguments":"","call_id":"a","name":"add"}`), `{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"city\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"Rome\"}"}`, `{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"city\":\"Rome\"}"}`,
			done("2", callItem), completed(`[` + reasoningItem + `,` + messageItem + `,` + callItem + `]`)},
		calls: `a add {"city":"Rome"}`, text: "Hello",
		raw: `[` + reasoningItem + `,` + messageItem + `,` + callItem + `]`,
	},
	{
		name: "ids that change from event to event (Copilot)",
		events: []string{added("0", `{"id":"x1","type":"message"}`), added("1", `{"id":"x2","type":"function_call","call_id":"a","name":"add"}`),
			`{"type":"response.output_text.delta","output_index":0,"item_id":"x3","delta":"Hello"}`, `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"x4","delta":"{}"}`,
			done("0", messageItem), done("1", callItem), completed(`[{"id":"x9","type":"message"},{"id":"x8","type":"function_call","call_id":"a","name":"add"}]`)},
		calls: `a add {"city":"Rome"}`, text: "Hello",
		raw: `[` + messageItem + `,` + callItem + `]`,
	},
	{
		name:   "no events of items: the last one has them all",
		events: []string{completed(`[` + messageItem + `,` + callItem + `]`)},
		calls:  `a add {"city":"Rome"}`, text: "Hello",
		raw: `[` + messageItem + `,` + callItem + `]`,
	},
	{
		name: "no done items, and none in the last event",
		events: []string{added("0", `{"id":"rs_1","type":"reasoning"}`), `{"type":"response.reasoning_text.delta","output_index":0,"delta":"Hm"}`,
			added("1", `{"id":"msg_1","type":"message"}`), `{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`,
			added("2", `{"id":"fc_1","type":"function_call","call_id":"a","name":"now"}`), `{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"city\":1}"}`, `{"type":"response.completed","response":{"status":"completed"}}`},
		calls: `a now {"city":1}`, text: "Hello",
		raw: `[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},` +
			`{"arguments":"{\"city\":1}","id":"fc_1","type":"function_call","call_id":"a","name":"now"}]`,
	},
	{
		name:   "output_index missing",
		events: []string{`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"a","name":"add"}}`, `{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.output_item.done","item":` + callItem + `}`, "[DONE]"},
		calls:  `a add {"city":"Rome"}`,
		raw:    `[` + callItem + `]`,
	},
	{
		name:   "output_index missing, and all events but done",
		events: []string{`{"type":"response.output_item.done","item":` + messageItem + `}`, `{"type":"response.output_item.done","item":` + callItem + `}`, "[DONE]"},
		calls:  `a add {"city":"Rome"}`, text: "Hello",
		raw: `[` + messageItem + `,` + callItem + `]`,
	},
	{
		name:   "one output_index for all",
		events: []string{added("0", `{"type":"message"}`), done("0", messageItem), added("0", `{"type":"function_call"}`), done("0", callItem), completed(`[]`)},
		calls:  `a add {"city":"Rome"}`, text: "Hello",
		raw: `[` + messageItem + `,` + callItem + `]`,
	},
	{
		name:   "call_id twice and missing, arguments empty",
		events: []string{done("0", callItem), done("1", callItem), done("2", `{"type":"function_call","name":"now","arguments":""}`), completed(`[]`)},
		calls:  "a add {\"city\":\"Rome\"}\ncall_1_1 add {\"city\":\"Rome\"}\ncall_1_2 now {}",
		raw:    `[` + callItem + `,` + strings.Replace(callItem, `"a"`, `"call_1_1"`, 1) + `,{"call_id":"call_1_2","type":"function_call","name":"now","arguments":"{}"}]`,
	},
	{
		name:   "a call without a name: sent back with one",
		events: []string{done("0", `{"type":"function_call","call_id":"a","arguments":"{}"}`), completed(`[]`)},
		calls:  "a unnamed_call {}",
		raw:    `[{"name":"unnamed_call","type":"function_call","call_id":"a","arguments":"{}"}]`,
	},
	{
		name:   "the wrapper parallel, which nobody offered (parallel-tool-call-wrapper)",
		events: []string{done("0", reasoningItem), done("1", `{"id":"fc_1","type":"function_call","status":"completed","arguments":`+wrappedCalls+`,"call_id":"a","name":"parallel"}`), completed(`[]`)},
		calls:  "a add {\"city\":\"Rome\"}\ncall_1_1 now {}",
		raw: `[` + reasoningItem + `,{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"city\":\"Rome\"}","call_id":"a","name":"add"},` +
			`{"name":"now","arguments":"{}","type":"function_call","call_id":"call_1_1"}]`,
	},
	{
		name:   "tools of the provider's own are left to it, and an approval is told of",
		events: []string{done("0", `{"id":"ws_1","type":"web_search_call","status":"completed"}`), done("1", `{"id":"mcpr_1","type":"mcp_approval_request","arguments":"{}","name":"roll","server_label":"dice"}`), completed(`[]`)},
		stop:   providers.StopEnd,
		raw:    `[{"id":"ws_1","type":"web_search_call","status":"completed"},{"id":"mcpr_1","type":"mcp_approval_request","arguments":"{}","name":"roll","server_label":"dice"}]`,
		notes:  "the provider asks whether its own tool roll of the server dice may run (approval request mcpr_1)",
	},
	{
		name:   "a refusal",
		events: []string{`{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, done("0", `{"type":"message","content":[{"type":"refusal","refusal":"No."}]}`), completed(`[]`)},
		text:   "No.", stop: providers.StopRefused,
	},
	{
		name:   "kinds of events and items that are not known",
		events: []string{`{"type":"response.new.thing","output_index":0}`, `{"type":"keepalive"}`, `{}`, done("0", `{"type":"program","id":"p","x":[1,2.50]}`), completed(`[]`)},
		stop:   providers.StopEnd,
		raw:    `[{"type":"program","id":"p","x":[1,2.50]}]`,
	},
}

func TestResponsesQuirks(t *testing.T) {
	for _, q := range responsesQuirks {
		t.Run(q.name, func(t *testing.T) {
			turn, events := q.check(t, responses)
			if text := turn.Message.Text(); text != q.text {
				t.Errorf("text %q, want %q", text, q.text)
			}
			if told := providertest.JoinText(events, providers.EventThinkingDelta); told != "" && told != texts(&turn.Message, providers.PartThinking) {
				t.Errorf("told %q, the turn thinks %q", told, texts(&turn.Message, providers.PartThinking))
			}
		})
	}
}

func TestResponsesStops(t *testing.T) {
	for _, test := range []struct {
		body string
		want providers.Stop
	}{
		{`"status":"completed","output":[` + messageItem + `]`, providers.StopEnd},
		{`"status":"completed","output":[` + callItem + `]`, providers.StopCalls},
		{`"output":[` + callItem + `]`, providers.StopCalls},
		{`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + callItem + `]`, providers.StopLength},
		{`"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]`, providers.StopRefused},
		{`"status":"incomplete","incomplete_details":{"reason":"steered"},"output":[]`, providers.StopOther},
		{`"status":"incomplete","incomplete_details":null,"output":[]`, providers.StopOther},
		{`"status":"cancelled","output":[]`, providers.StopCut},
		{`"status":"queued","output":[]`, providers.StopOther},
		{`"status":"in_progress","output":[]`, providers.StopOther},
	} {
		want := providers.Usage{Input: 10, Output: 5, Cached: 4, Reasoning: 2}
		if turn, _ := answered(t, responses, whole(`{"model":"m-1",`+test.body+`,"error":null,"usage":{"input_tokens":10,"output_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}`)); turn.Stop != test.want || turn.Usage != want || turn.Model != "m-1" {
			t.Errorf("%s: %+v, want %s", test.body, turn, test.want)
		}
	}
}

// TestResponsesWhole: a response that is not streamed is emitted too, and kept verbatim.
func TestResponsesWhole(t *testing.T) {
	items := `[ ` + reasoningItem + `, ` + messageItem + ` ]`
	turn, events := answered(t, responses, whole(`{"status":"completed","output":`+items+`}`))
	if providertest.JoinText(events, providers.EventTextDelta) != "Hello" || providertest.JoinText(events, providers.EventThinkingDelta) != "Hm\n\nso" {
		t.Errorf("%+v", events)
	}
	if raw := string(turn.Message.Raw.Items); raw != `[`+reasoningItem+`,`+messageItem+`]` {
		t.Error(raw)
	}
}

// TestResponsesAtOnce: what an item says that does not come in pieces is emitted too, and once.
func TestResponsesAtOnce(t *testing.T) {
	piece := `{"type":"response.output_text.delta","output_index":1,"delta":"Hello"}`
	for name, events := range map[string][]string{
		"with the last event": {completed(`[` + reasoningItem + `,` + messageItem + `]`)},
		"item by item":        {done("0", reasoningItem), done("1", messageItem), completed(`[` + reasoningItem + `,` + messageItem + `]`)},
		"one of them":         {done("0", reasoningItem), added("1", `{"type":"message"}`), piece, done("1", messageItem), completed(`[]`)},
	} {
		_, told := answered(t, responses, stream(events...))
		if said, thought := providertest.JoinText(told, providers.EventTextDelta), providertest.JoinText(told, providers.EventThinkingDelta); said != "Hello" || thought != "Hm\n\nso" {
			t.Errorf("%s: said %q, thought %q", name, said, thought)
		}
	}
}

// TestPlainReasoning: a model that refuses to encrypt its reasoning is asked again without, and
// remembered.
func TestPlainReasoning(t *testing.T) {
	refused := `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`
	fine := func() providertest.Answer { return stream(done("0", messageItem), completed(`[]`)) }
	o, s := answering(refusal(400, refused), fine(), fine(), fine())
	p := NewResponses(o)
	other := question()
	other.Model = "another"
	for _, req := range []*providers.Request{question(), question(), other} {
		if turn := mustTurn(t, p, req, nil); turn.Message.Text() != "Hello" {
			t.Errorf("%+v", turn)
		}
	}
	var asked []bool
	for _, body := range s.Bodies {
		asked = append(asked, wire.Lookup(body, "include") != nil)
	}
	if len(asked) != 4 || !asked[0] || asked[1] || asked[2] || !asked[3] {
		t.Errorf("asked for it: %v", asked)
	}
	o, s = answering(refusal(400, refused), refusal(400, refused))
	if _, err := NewResponses(o).Turn(context.Background(), question(), nil); err == nil || len(s.Bodies) != 2 {
		t.Errorf("%v after %d requests", err, len(s.Bodies))
	}
}

// TestEndpoints: where requests go.
func TestEndpoints(t *testing.T) {
	for base, want := range map[string]string{
		"":                                      "https://api.openai.com/v1/chat/completions",
		"http://127.0.0.1:8080":                 "http://127.0.0.1:8080/v1/chat/completions",
		"http://127.0.0.1:8080/v1":              "http://127.0.0.1:8080/v1/chat/completions",
		"http://127.0.0.1:8080/v1/":             "http://127.0.0.1:8080/v1/chat/completions",
		"https://api.groq.com/openai":           "https://api.groq.com/openai/v1/chat/completions",
		"https://x.openai.azure.com/openai/v1/": "https://x.openai.azure.com/openai/v1/chat/completions",
		"https://api.z.ai/api/coding/paas/v4":   "https://api.z.ai/api/coding/paas/v4/chat/completions",
		"https://generativelanguage.googleapis.com/v1beta/openai": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
		"https://api.perplexity.ai/chat/completions":              "https://api.perplexity.ai/chat/completions",
		"http://127.0.0.1:8080/v1/chat/completions":               "http://127.0.0.1:8080/v1/chat/completions",
	} {
		o, s := answering(stream(callsEnd))
		o.BaseURL, o.APIKey = base, "sk-1"
		mustTurn(t, NewChat(o), question(), nil)
		if got := s.Requests[0].URL.String(); got != want || s.Requests[0].Header.Get("Authorization") != "Bearer sk-1" {
			t.Errorf("%s: %s %v", base, got, s.Requests[0].Header)
		}
	}
	o, s := answering(stream(completed(`[]`)))
	o.Version, o.Header = "v9", http.Header{"X-Own": {"1"}}
	mustTurn(t, NewResponses(o), question(), nil)
	if r := s.Requests[0]; r.URL.String() != "https://api.openai.com/v9/responses" || r.Header.Get("X-Own") != "1" || r.Header.Get("Authorization") != "" {
		t.Errorf("%s %v", r.URL, r.Header)
	}
	o.BaseURL = "ftp://user:secret@host"
	if _, err := NewChat(o).Turn(context.Background(), question(), nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// TestNames: a turn is sent back verbatim only to a provider of the same name and API.
func TestNames(t *testing.T) {
	o, _ := answering(stream(delta(`{"content":"Hello","reasoning_content":"Hm"}`), "[DONE]"))
	o.Name = "deepseek"
	p := NewChat(o)
	turn := mustTurn(t, p, question(), nil)
	req := question()
	req.Messages = append(req.Messages, turn.Message, providers.UserText("and?"))
	for name, kept := range map[string]bool{"deepseek": true, "": false, "groq": false} {
		body := NewChat(Options{Name: name}).messages(req)
		if got := strings.Contains(string(body), "reasoning_content"); got != kept || p.Name() != "deepseek" {
			t.Errorf("%q: %s", name, body)
		}
	}
	if body := NewResponses(Options{Name: "deepseek"}).input(req); !strings.Contains(string(body), `{"role":"assistant","content":"Hello"}`) {
		t.Errorf("%s", body)
	}
}
