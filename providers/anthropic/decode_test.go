package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// stream returns a stream of events with the given data.
func stream(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		kind, _ := wire.Text(wire.Lookup([]byte(data), "type"))
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, data)
	}
	return b.String()
}

const (
	start   = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}`
	finish  = `{"type":"message_stop"}`
	call    = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}`
	endTurn = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}`
	toolUse = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}`
)

func blockStart(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func blockDelta(index int, delta string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, delta)
}

func input(index int, escaped string) string {
	return blockDelta(index, `{"type":"input_json_delta","partial_json":"`+escaped+`"}`)
}

func stopFor(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
}

// decodeCases are from streams of the API and of programs that imitate it.
var decodeCases = []struct {
	name   string
	events []string
	want   string // the turn: see providertest.CheckTurn
	raw    string // the content of the raw items; "" means not compared
}{
	{
		"text", []string{start, `{"type": "ping"}`, blockStart(0, `{"type":"text","text":""}`), blockDelta(0, `{"type":"text_delta","text":"Hello"}`), blockDelta(0, `{"type":"text_delta","text":", \"you\""}`), `{"type":"content_block_stop","index":0}`, endTurn, finish},
		`end text<Hello, "you">`, `[{"type":"text","text":"Hello, \"you\""}]`,
	},
	{
		"the text of the beginning counts", []string{start, blockStart(0, `{"type":"text","text":"He"}`), blockDelta(0, `{"type":"text_delta","text":"llo"}`), endTurn, finish},
		`end text<Hello>`, `[{"type":"text","text":"Hello"}]`,
	},
	{
		"a character spread over two deltas", []string{start, blockStart(0, `{"type":"text","text":""}`), blockDelta(0, `{"type":"text_delta","text":"\ud83d"}`), blockDelta(0, `{"type":"text_delta","text":"\ude00"}`), endTurn, finish},
		`end text<😀>`, `[{"type":"text","text":"\ud83d\ude00"}]`,
	},
	{
		"arguments in pieces", []string{start, call, input(0, ``), input(0, `{\"city\": \"Pa`), input(0, `ris\", \"n\": 9223372036854775807}`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {"city": "Paris", "n": 9223372036854775807}>`,
		`[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city": "Paris", "n": 9223372036854775807}}]`,
	},
	{
		"empty partial_json", []string{start, call, input(0, ``), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {}>`, `[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}]`,
	},
	{
		"no delta at all", []string{start, call, toolUse, finish},
		`tool_calls call<toolu_1 get_weather {}>`, "",
	},
	{
		"arguments in the beginning", []string{start, blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Rome"}}`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {"city":"Rome"}>`, "",
	},
	{
		"no input member", []string{start, blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"get_weather"}`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {}>`, `[{"input":{},"type":"tool_use","id":"toolu_1","name":"get_weather"}]`,
	},
	{
		"interleaved deltas", []string{start, call, blockStart(1, `{"type":"tool_use","id":"toolu_2","name":"get_time","input":{}}`), input(1, `{\"zone\":`), input(0, `{\"city\":`), input(1, `\"CET\"}`), input(0, `\"Rome\"}`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {"city":"Rome"}> call<toolu_2 get_time {"zone":"CET"}>`, "",
	},
	{
		"arguments that were cut", []string{start, call, input(0, `{\"city\":\"Ro`), stopFor("max_tokens"), finish},
		`max_tokens call<toolu_1 get_weather "{\"city\":\"Ro">`, `[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"INVALID_JSON":"{\"city\":\"Ro"}}]`,
	},
	{
		"arguments that are no object", []string{start, call, input(0, `[1]`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather [1]>`, `[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"INVALID_JSON":[1]}}]`,
	},
	{
		"a tool that nobody offered", []string{start, blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"made.up","input":{}}`), toolUse, finish},
		`tool_calls call<toolu_1 made.up {}>`, "",
	},
	{
		"missing, repeated and taken ids", []string{start,
			blockStart(0, `{"type":"tool_use","name":"get_time","input":{}}`),
			blockStart(1, `{"type":"tool_use","id":"a:0","name":"get_time","input":{}}`),
			blockStart(2, `{"type":"tool_use","id":"a:0","name":"get_time","input":{}}`),
			blockStart(3, `{"type":"tool_use","id":"toolu_0","name":"get_time","input":{}}`), toolUse, finish},
		`tool_calls call<call_3_0 get_time {}> call<a:0 get_time {}> call<call_3_2 get_time {}> call<call_3_3 get_time {}>`,
		`[{"id":"call_3_0","type":"tool_use","name":"get_time","input":{}},{"type":"tool_use","id":"a:0","name":"get_time","input":{}},{"type":"tool_use","id":"call_3_2","name":"get_time","input":{}},{"type":"tool_use","id":"call_3_3","name":"get_time","input":{}}]`,
	},
	{
		"thinking and redacted_thinking", []string{start, blockStart(0, `{"type":"thinking","thinking":"","signature":""}`), blockDelta(0, `{"type":"thinking_delta","thinking":"Let me","estimated_tokens":3}`), blockDelta(0, `{"type":"thinking_delta","thinking":" see."}`), blockDelta(0, `{"type":"signature_delta","signature":"c2ln"}`), blockStart(1, `{"type":"redacted_thinking","data":"ZGF0YQ=="}`), blockStart(2, `{"type":"text","text":"Yes."}`), endTurn, finish},
		`end thinking<Let me see.> text<Yes.>`, `[{"type":"thinking","thinking":"Let me see.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Yes."}]`,
	},
	{
		"citations", []string{start, blockStart(0, `{"citations":[],"type":"text","text":""}`), blockDelta(0, `{"type":"citations_delta","citation":{"type":"char_location","n":1}}`), blockDelta(0, `{"type":"text_delta","text":"It is."}`), blockDelta(0, `{"type":"citations_delta","citation":{"type":"char_location","n":2}}`), endTurn, finish},
		`end text<It is.>`, `[{"citations":[{"type":"char_location","n":1},{"type":"char_location","n":2}],"type":"text","text":"It is."}]`,
	},
	{
		"a delta and an event of new types", []string{start, blockStart(0, `{"type":"compaction","content":null}`), blockDelta(0, `{"type":"compaction_delta","content":"In short"}`), blockDelta(0, `{"type":"compaction_delta","content":": all is well.","encrypted_content":"eA=="}`), `{"type":"weather_report","index":0}`, stopFor("compaction"), finish},
		`paused`, `[{"encrypted_content":"eA==","type":"compaction","content":"In short: all is well."}]`,
	},
	{
		"pause_turn with server tools", []string{start, blockStart(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{},"caller":{"type":"direct"}}`), input(0, `{\"query\":\"x\"}`), blockStart(1, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"eA=="}]}`), blockStart(2, `{"type":"mcp_tool_use","id":"mcptoolu_1","name":"get_time","server_name":"s","input":{}}`), stopFor("pause_turn"), finish},
		`paused`, `[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"},"caller":{"type":"direct"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"eA=="}]},{"type":"mcp_tool_use","id":"mcptoolu_1","name":"get_time","server_name":"s","input":{}}]`,
	},
	{
		"refusal", []string{start, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"Not this."}},"usage":{"output_tokens":2}}`, finish},
		`refused note<anthropic: Not this.>`, `[]`,
	},
	{"context window", []string{start, stopFor("model_context_window_exceeded"), finish}, `context_window`, ""},
	{"stop sequence", []string{start, stopFor("stop_sequence"), finish}, `end`, ""},
	{"a new reason", []string{start, stopFor("moonrise"), finish}, `other`, ""},
	{
		"calls before the last fallback", []string{start, call, blockStart(1, `{"type":"fallback","from":{"model":"claude-x"},"to":{"model":"claude-y"}}`), blockStart(2, `{"type":"tool_use","id":"toolu_2","name":"get_time","input":{}}`), blockStart(3, `{"type":"fallback","from":{"model":"claude-y"},"to":{"model":"claude-z"}}`), blockStart(4, `{"type":"tool_use","id":"toolu_3","name":"get_time","input":{}}`), toolUse, finish},
		`tool_calls call<toolu_3 get_time {}> model<claude-z>`, "",
	},
	{
		"message_start twice", []string{start, start, blockStart(0, `{"type":"text","text":"Hello"}`), start, endTurn, finish},
		`end text<Hello>`, "",
	},
	{
		"another message in the middle", []string{start, call, input(0, `{\"city\":\"Ro`), `{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}`, blockStart(0, `{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}`), input(0, `{\"city\":\"Rome\"}`), toolUse, finish},
		`tool_calls call<toolu_1 get_weather {"city":"Rome"}> note<anthropic: the answer starts over; disregard its text so far>`, "",
	},
	{
		"a program's next call stands in message_start", []string{`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"toolu_9","name":"get_time","input":{"zone":"CET"},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}],"container":{"id":"container_1","expires_at":"2999-01-01T00:00:00Z"},"stop_reason":"tool_use","usage":{"input_tokens":0,"output_tokens":0}}}`, finish},
		`tool_calls call<toolu_9 get_time {"zone":"CET"}>`, `[{"type":"tool_use","id":"toolu_9","name":"get_time","input":{"zone":"CET"},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}]`,
	},
	{
		"no message_start", []string{blockStart(0, `{"type":"text","text":"Hello"}`), endTurn, finish},
		`end text<Hello> model<>`, "",
	},
	{"no message_stop", []string{start, blockStart(0, `{"type":"text","text":"Hello"}`), endTurn}, `end text<Hello>`, ""},
	{
		"cut", []string{start, blockStart(0, `{"type":"text","text":""}`), blockDelta(0, `{"type":"text_delta","text":"Hel"}`)},
		`cut text<Hel> error<the response broke off: unexpected EOF again>`, "",
	},
	{
		"an error in the stream", []string{start, blockStart(0, `{"type":"text","text":"Hel"}`), `{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`},
		`cut text<Hel> error<Overloaded (overloaded_error, request req_1) again>`, "",
	},
	{
		"a delta of a block that has not begun", []string{start, blockDelta(4, `{"type":"text_delta","text":"x"}`), endTurn, finish},
		`cut error<the response cannot be read: a delta for content block "4", which has not begun>`, "",
	},
	{
		"an event that is no JSON", []string{start, `{"type":`},
		`cut error<the response cannot be read: not JSON: a value expected at byte 8>`, "",
	},
}

// provider returns a provider over a client. Without marks for the cache, its requests have the
// tools as their format has them, and are those of the corpus.
func provider(c *http.Client) providers.Provider {
	return New(Options{Client: providers.Client{HTTP: c}, Cache: "none"})
}

// testRequest offers two tools and has an earlier call with the id toolu_0.
func testRequest() *providers.Request { return providertest.Request("claude-x", "toolu_0") }

// TestDecode checks the turn of each case.
func TestDecode(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			turn := providertest.CheckTurn(t, provider, testRequest(), "text/event-stream", stream(c.events...), c.want)
			if c.raw != "" {
				if got := wire.Lookup(turn.Message.Raw.Items, "content"); string(got) != c.raw {
					t.Errorf("the raw content is\n%s\nwant\n%s", got, c.raw)
				}
			}
		})
	}
}

// TestDecodeWhole: programs that imitate the API may not stream.
func TestDecodeWhole(t *testing.T) {
	for _, c := range []struct{ name, kind, body, want string }{
		{"message", "application/json; charset=utf-8", `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"toolu_1","name":"get_time","input":{"zone": "CET"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`, `tool_calls text<Hi> call<toolu_1 get_time {"zone": "CET"}>`},
		{"error", "application/json", `{"type":"error","error":{"type":"api_error","message":"Internal"}}`, `cut model<> error<Internal (api_error) again>`},
		{"no JSON", "application/json", `<html>`, `cut model<> error<the response cannot be read: not JSON: a value expected at byte 0>`},
		{"no message", "application/json", `[]`, `cut model<> error<the response cannot be read: no message; the Content-Type is "application/json">`},
		{"a page", "text/html", `<html>Sign in</html>`, `cut model<> error<the response cannot be read: no message; the Content-Type is "text/html">`},
	} {
		t.Run(c.name, func(t *testing.T) {
			providertest.CheckTurn(t, provider, testRequest(), c.kind, c.body, c.want)
		})
	}
}

// TestUsage: the members of message_delta override earlier ones.
func TestUsage(t *testing.T) {
	turn, _, err := providertest.Ask(t, provider, testRequest(), providertest.NewAnswer("text/event-stream", stream(start,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":20,"cache_read_input_tokens":null,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}},"context_management":{"applied_edits":[]}}`, finish)))
	want := providers.Usage{Input: 27, Output: 50, Cached: 4, Reasoning: 30, CacheWrite: 3}
	if err != nil || turn.Usage != want {
		t.Errorf("%+v, want %+v (%v)", turn.Usage, want, err)
	}
	const items = `{"context_management":{"applied_edits":[]},"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":"end_turn","stop_sequence":null,"usage":{"output_tokens_details":{"thinking_tokens":30},"input_tokens":20,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"output_tokens":50}}`
	if string(turn.Message.Raw.Items) != items {
		t.Errorf("got\n%s\nwant\n%s", turn.Message.Raw.Items, items)
	}
}

// TestArgumentsDelta: arguments are emitted with their call.
func TestArgumentsDelta(t *testing.T) {
	_, events, err := providertest.Ask(t, provider, testRequest(), providertest.NewAnswer("text/event-stream", stream(start, blockStart(0, `{"type":"tool_use","name":"get_time","input":{}}`), input(0, `{\"a\"`), input(0, `:1}`), toolUse, finish)))
	var pieces []string
	for _, e := range events {
		pieces = append(pieces, fmt.Sprintf("%s %s %s %s", e.Type, e.Call.ID, e.Call.Name, e.Text))
	}
	if got, want := strings.Join(pieces, "; "), `arguments_delta call_3_0 get_time {"a"; arguments_delta call_3_0 get_time :1}`; got != want || err != nil {
		t.Errorf("got %s (%v)\nwant %s", got, err, want)
	}
}

// TestProvider: the contract of all providers.
func TestProvider(t *testing.T) {
	providertest.Run(t, provider, providertest.Samples{
		Kind: "text/event-stream",
		Text: stream(start, blockStart(0, `{"type":"text","text":""}`), blockDelta(0, `{"type":"text_delta","text":"Hel"}`), blockDelta(0, `{"type":"text_delta","text":"lo"}`), endTurn, finish),
		Call: stream(start, blockStart(0, `{"type":"tool_use","id":"call_7","name":"get_weather","input":{}}`), input(0, `{\"city\":`), input(0, `\"Rome\"}`), toolUse, finish),
	})
}
