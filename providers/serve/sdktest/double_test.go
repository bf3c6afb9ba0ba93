package sdktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
)

// providerNames are the providers that have a double.
var providerNames = []string{"anthropic", "openai", "openai-responses", "gemini", "ollama", "prompted"}

// A reply is what a model says in a turn.
type reply struct {
	think, text string
	calls       []toolCall
	stop        string // "": the end, or its calls; length, refused or sequence
}

type toolCall struct{ name, arguments string }

// replyTo is the model of all doubles. It is asked to draw, and calls the bridge's tool double, then the client's
// tool draw; or says what the last word of the user's message asks for.
func replyTo(body string) reply {
	switch {
	case strings.Contains(body, "please be long"):
		return reply{text: "Once upon", stop: "length"}
	case strings.Contains(body, "please answer in JSON"):
		if strings.Contains(body, `"name":"answer","description":`) {
			return reply{calls: []toolCall{{"answer", `{"ok":true}`}}}
		}
		return reply{text: `{"ok":true}`}
	case strings.Contains(body, "please refuse"):
		return reply{text: "No.", stop: "refused"}
	case strings.Contains(body, "please draw two"):
		if strings.Contains(body, "drawn: dog") {
			return reply{text: "Two drawings."}
		}
		return reply{calls: []toolCall{{"draw", `{"what":"cat"}`}, {"draw", `{"what":"dog"}`}}}
	case !strings.Contains(body, "please draw"):
		return reply{think: "A greeting.", text: "Hello!"}
	case strings.Contains(body, "drawn: cat"):
		return reply{text: "Done: it is drawn."}
	case strings.Contains(body, "2469134"):
		return reply{think: "Now the drawing.", text: "Drawing.", calls: []toolCall{{"draw", `{"what":"cat"}`}}}
	}
	return reply{think: "First the number.", text: "Let me see.", calls: []toolCall{{"double", `{"n":1234567}`}}}
}

// A double is the server of a provider, whose models all answer as replyTo does. Each turn reads 10 tokens, 4 of
// them from a cache, and writes 3.
type double struct {
	providers.Provider

	mu     sync.Mutex
	bodies []string // of the requests so far
}

// newDouble starts the double of a provider.
func newDouble(t *testing.T, name string) *double {
	d := &double{}
	answers := map[string]func(reply) string{
		"/v1/messages": anthropicStream, "/v1/chat/completions": chatStream, "/v1/responses": responsesStream, "/api/chat": ollamaLines,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		d.bodies = append(d.bodies, string(body))
		d.mu.Unlock()
		answer, kind := answers[r.URL.Path], "text/event-stream"
		if strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
			answer = geminiStream
		}
		said := replyTo(string(body))
		switch {
		case answer == nil:
			http.Error(w, `{"error":{"message":"no such path","type":"not_found_error"}}`, http.StatusNotFound)
			return
		case strings.Contains(string(body), "please be busy"):
			w.Header().Set("Retry-After", "7200") // too long to be waited for
			http.Error(w, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, http.StatusTooManyRequests)
			return
		case strings.HasPrefix(r.URL.Path, "/api/"):
			kind = "application/x-ndjson"
		case name == "prompted":
			for _, c := range said.calls {
				said.text += fmt.Sprintf("\n<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.name, c.arguments)
			}
			said.calls = nil
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, answer(said))
	}))
	t.Cleanup(server.Close)
	client := providers.Client{BaseURL: server.URL}
	switch name {
	case "anthropic":
		d.Provider = anthropic.New(anthropic.Options{Client: client, APIKey: "key"})
	case "openai":
		d.Provider = openai.NewChat(openai.Options{Client: client, APIKey: "key"})
	case "openai-responses":
		d.Provider = openai.NewResponses(openai.Options{Client: client, APIKey: "key"})
	case "gemini":
		d.Provider = gemini.New(gemini.Options{Client: client, APIKey: "key"})
	case "ollama":
		d.Provider = ollama.New(ollama.Options{Client: client})
	default:
		d.Provider = prompted.New(openai.NewChat(openai.Options{Client: client, APIKey: "key"}), prompted.Options{})
	}
	return d
}

// asked returns the bodies of the requests since the last time.
func (d *double) asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	bodies := d.bodies
	d.bodies = nil
	return bodies
}

// events returns a stream of events, each with its type where it has one.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var v struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(d), &v) == nil && v.Type != "" {
			b.WriteString("event: " + v.Type + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// quote returns a text as JSON.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// pieces halves a text.
func pieces(text string) []string { return []string{text[:len(text)/2], text[len(text)/2:]} }

func anthropicStream(r reply) string {
	all := []string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":1}}}`}
	index := 0
	block := func(begin string, deltas ...string) {
		all = append(all, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, begin))
		for _, d := range deltas {
			all = append(all, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d))
		}
		all = append(all, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
		index++
	}
	if r.think != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":`+quote(r.think)+`}`, `{"type":"signature_delta","signature":"c2ln"}`)
	}
	if r.text != "" {
		halves := pieces(r.text)
		block(`{"type":"text","text":""}`, `{"type":"text_delta","text":`+quote(halves[0])+`}`, `{"type":"text_delta","text":`+quote(halves[1])+`}`)
	}
	for i, c := range r.calls {
		halves := pieces(c.arguments)
		block(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s%d","name":%q,"input":{}}`, c.name, i, c.name),
			`{"type":"input_json_delta","partial_json":`+quote(halves[0])+`}`, `{"type":"input_json_delta","partial_json":`+quote(halves[1])+`}`)
	}
	stop := map[string]string{"": "end_turn", "length": "max_tokens", "refused": "refusal", "sequence": "stop_sequence"}[r.stop]
	if len(r.calls) > 0 {
		stop = "tool_use"
	}
	sequence := "null"
	if r.stop == "sequence" {
		sequence = `"END"`
	}
	return events(append(all, `{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":`+sequence+`},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)...)
}

func chatStream(r reply) string {
	const head = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",`
	var all []string
	chunk := func(delta, finish string) {
		all = append(all, head+`"choices":[{"index":0,"delta":`+delta+`,"finish_reason":`+finish+`}]}`)
	}
	if r.think != "" {
		chunk(`{"role":"assistant","reasoning_content":`+quote(r.think)+`}`, "null")
	}
	for _, piece := range pieces(r.text) {
		chunk(`{"content":`+quote(piece)+`}`, "null")
	}
	for i, c := range r.calls {
		halves := pieces(c.arguments)
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%s%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, i, c.name, i, c.name, quote(halves[0])), "null")
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(halves[1])), "null")
	}
	finish := map[string]string{"": "stop", "length": "length", "refused": "content_filter", "sequence": "stop"}[r.stop]
	if len(r.calls) > 0 {
		finish = "tool_calls"
	}
	chunk("{}", `"`+finish+`"`)
	return events(append(all, head+`"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4}}}`, "[DONE]")...)
}

func responsesStream(r reply) string {
	const response = `{"id":"resp_1","object":"response","created_at":1,"model":"m","error":null,`
	all := []string{`{"type":"response.created","response":` + response + `"status":"in_progress","incomplete_details":null,"output":[],"usage":null}}`}
	var items []string
	item := func(begin, done string, between ...string) {
		at := len(items)
		all = append(all, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, at, begin))
		for _, e := range between {
			all = append(all, strings.Replace(e, "{", fmt.Sprintf(`{"output_index":%d,`, at), 1))
		}
		all = append(all, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, at, done))
		items = append(items, done)
	}
	if r.think != "" {
		item(`{"id":"rs_1","type":"reasoning","summary":[]}`, `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":`+quote(r.think)+`}],"encrypted_content":"sealed"}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","summary_index":0,"delta":`+quote(r.think)+`}`)
	}
	if r.text != "" {
		halves := pieces(r.text)
		item(`{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`,
			`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":`+quote(r.text)+`}]}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","content_index":0,"delta":`+quote(halves[0])+`}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","content_index":0,"delta":`+quote(halves[1])+`}`)
	}
	for i, c := range r.calls {
		call := fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","call_id":"call_%s%d","name":%q,"arguments":`, i, c.name, i, c.name)
		item(call+`""}`, call+quote(c.arguments)+`}`, fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"fc_%d","delta":%s}`, i, quote(c.arguments)))
	}
	status, details := "completed", "null"
	if reason := map[string]string{"length": "max_output_tokens", "refused": "content_filter"}[r.stop]; reason != "" {
		status, details = "incomplete", `{"reason":"`+reason+`"}`
	}
	return events(append(all, `{"type":"response.`+status+`","response":`+response+`"status":"`+status+`","incomplete_details":`+details+`,"output":[`+strings.Join(items, ",")+
		`],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":13}}}`)...)
}

func geminiStream(r reply) string {
	var all []string
	part := func(part, more string) {
		all = append(all, `{"candidates":[{"content":{"parts":[`+part+`],"role":"model"},"index":0`+more+`}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"totalTokenCount":13},"modelVersion":"m","responseId":"r1"}`)
	}
	if r.think != "" {
		part(`{"text":`+quote(r.think)+`,"thought":true}`, "")
	}
	for _, piece := range pieces(r.text) {
		part(`{"text":`+quote(piece)+`}`, "")
	}
	for _, c := range r.calls {
		part(`{"functionCall":{"name":"`+c.name+`","args":`+c.arguments+`},"thoughtSignature":"c2ln"}`, "")
	}
	finish := map[string]string{"": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY", "sequence": "STOP"}[r.stop]
	part(`{"text":""}`, `,"finishReason":"`+finish+`"`)
	return events(all...)
}

func ollamaLines(r reply) string {
	var b strings.Builder
	line := func(message, rest string) {
		b.WriteString(`{"model":"m","created_at":"2026-11-20T10:00:00Z","message":{"role":"assistant",` + message + `},` + rest + "}\n")
	}
	if r.think != "" {
		line(`"content":"","thinking":`+quote(r.think), `"done":false`)
	}
	for _, piece := range pieces(r.text) {
		line(`"content":`+quote(piece), `"done":false`)
	}
	for i, c := range r.calls {
		line(fmt.Sprintf(`"content":"","tool_calls":[{"function":{"index":%d,"name":%q,"arguments":%s}}]`, i, c.name, c.arguments), `"done":false`)
	}
	reason := "stop"
	if r.stop == "length" {
		reason = "length"
	}
	line(`"content":""`, `"done":true,"done_reason":"`+reason+`","prompt_eval_count":10,"eval_count":3`)
	return b.String()
}
