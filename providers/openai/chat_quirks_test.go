package openai

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

const callsEnd = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`

// delta returns a chunk with a delta; an array is its tool_calls.
func delta(inner string) string {
	if strings.HasPrefix(inner, "[") {
		inner = `{"tool_calls":` + inner + `}`
	}
	return `{"choices":[{"index":0,"delta":` + inner + `,"finish_reason":null}]}`
}

// A quirk is a stream of a server, and its turn.
type quirk struct {
	name   string
	events []string
	calls  string         // of the turn, each on a line: id, name, arguments
	text   string         // "" means not compared
	stop   providers.Stop // "" means StopCalls
	raw    string         // "" means not compared
	notes  string
}

// check checks the turn and the events of the stream.
func (q *quirk) check(t *testing.T, provider func(Options) providers.Provider) (*providers.Turn, []providers.Event) {
	t.Helper()
	turn, events := answered(t, provider, stream(q.events...))
	if got := callsOf(turn); got != q.calls {
		t.Errorf("calls:\n%s\nwant:\n%s", got, q.calls)
	}
	if want := cmp.Or(q.stop, providers.StopCalls); turn.Stop != want {
		t.Errorf("stop %s, want %s", turn.Stop, want)
	}
	if raw := string(turn.Message.Raw.Items); q.raw != "" && raw != q.raw || !json.Valid([]byte(raw)) {
		t.Errorf("raw:\n%s\nwant:\n%s", raw, q.raw)
	}
	if notes := providertest.JoinText(events, providers.EventNote); notes != q.notes {
		t.Errorf("notes: %s, want %s", notes, q.notes)
	}
	return turn, events
}

// chatQuirks are streams of compatible servers, each with its source.
var chatQuirks = []quirk{
	{
		name: "by the letter",
		events: []string{delta(`{"role":"assistant","content":null}`),
			delta(`[{"index":0,"id":"a","type":"function","function":{"name":"add","arguments":""}}]`),
			delta(`[{"index":0,"function":{"arguments":"{\"city\":"}}]`), delta(`[{"index":1,"id":"b","type":"function","function":{"name":"now","arguments":""}}]`),
			delta(`[{"index":1,"function":{"arguments":"{}"}}]`), delta(`[{"index":0,"function":{"arguments":"\"Rome\"}"}}]`), callsEnd},
		calls: "a add {\"city\":\"Rome\"}\nb now {}",
		raw: `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{\"city\":\"Rome\"}"}},` +
			`{"id":"b","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name: "index missing (openai-python#2806, goose#10023, AstrBot#6661)",
		events: []string{delta(`[{"id":"a","type":"function","function":{"name":"add","arguments":""}}]`), delta(`[{"function":{"arguments":"{\"city\":"}}]`),
			delta(`[{"function":{"arguments":"\"Rome\"}"}}]`), delta(`[{"id":"b","type":"function","function":{"name":"now","arguments":"{}"}}]`), callsEnd},
		calls: "a add {\"city\":\"Rome\"}\nb now {}",
	},
	{
		name: "index missing, the id in every piece, side by side",
		events: []string{delta(`[{"id":"a","function":{"name":"add","arguments":""}},{"id":"b","function":{"name":"add","arguments":""}}]`),
			delta(`[{"id":"b","function":{"arguments":"{\"city\":\"B\"}"}},{"id":"a","function":{"arguments":"{\"city\":\"A\"}"}}]`), callsEnd},
		calls: "a add {\"city\":\"A\"}\nb add {\"city\":\"B\"}",
	},
	{
		name:   "neither index nor id: calls come whole",
		events: []string{delta(`[{"function":{"name":"add","arguments":"{}"}}]`), delta(`[{"function":{"name":"add","arguments":"{\"city\":\"B\"}"}}]`), callsEnd},
		calls:  "call_1_0 add {}\ncall_1_1 add {\"city\":\"B\"}",
		raw: `{"role":"assistant","tool_calls":[{"function":{"name":"add","arguments":"{}"},"type":"function","id":"call_1_0"},` +
			`{"function":{"name":"add","arguments":"{\"city\":\"B\"}"},"type":"function","id":"call_1_1"}]}`,
	},
	{
		name: "index 0 for every call (ollama#15457, vercel/ai#14277, litellm#33678)",
		events: []string{delta(`[{"index":0,"id":"a","type":"function","function":{"name":"add","arguments":"{\"city\":\"Rome\"}"}}]`),
			delta(`[{"index":0,"id":"b","type":"function","function":{"name":"add","arguments":""}}]`), delta(`[{"index":0,"function":{"arguments":"{}"}}]`), callsEnd},
		calls: "a add {\"city\":\"Rome\"}\nb add {}",
	},
	{
		name:   "index 0 for every call, in one delta",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"now","arguments":"{}"}}]`), callsEnd},
		calls:  "a add {}\nb now {}",
	},
	{
		name:   "index 0 for every call, without ids or arguments",
		events: []string{delta(`[{"index":0,"function":{"name":"add"}}]`), delta(`[{"index":0,"function":{"name":"now"}}]`), callsEnd},
		calls:  "call_1_0 add {}\ncall_1_1 now {}",
	},
	{
		name:   "index -1",
		events: []string{delta(`[{"index":-1,"id":"a","function":{"name":"add","arguments":"{\"city\":"}}]`), delta(`[{"index":-1,"function":{"arguments":"\"Rome\"}"}}]`), callsEnd},
		calls:  "a add {\"city\":\"Rome\"}",
	},
	{
		name: "first index 1 (Anthropic behind a gateway)",
		events: []string{delta(`[{"index":1,"id":"a","type":"function","function":{"name":"add","arguments":""}}]`), delta(`[{"index":1,"function":{"arguments":"{\"city\":"}}]`),
			delta(`[{"index":1,"function":{"arguments":"\"Rome\"}"}}]`), callsEnd},
		calls: "a add {\"city\":\"Rome\"}",
		raw:   `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{\"city\":\"Rome\"}"}}]}`,
	},
	{
		name:   `id "0" and name again in the second delta (Novita, simonw/llm variant a)`,
		events: []string{delta(`[{"index":0,"id":"0","type":"function","function":{"name":"now","arguments":""}}]`), delta(`[{"index":0,"id":"0","type":"function","function":{"name":"now","arguments":"{}"}}]`), callsEnd},
		calls:  "0 now {}",
		raw:    `{"role":"assistant","tool_calls":[{"id":"0","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name:   `id "0" for every call`,
		events: []string{delta(`[{"index":0,"id":"0","type":"function","function":{"name":"now","arguments":"{}"}},{"index":1,"id":"0","type":"function","function":{"name":"add","arguments":"{}"}}]`), callsEnd},
		calls:  "0 now {}\ncall_1_1 add {}",
		raw: `{"role":"assistant","tool_calls":[{"id":"0","type":"function","function":{"name":"now","arguments":"{}"}},` +
			`{"id":"call_1_1","type":"function","function":{"name":"add","arguments":"{}"}}]}`,
	},
	{
		name:   `id "now:0", arguments absent, then type again (variant c)`,
		events: []string{delta(`[{"index":0,"id":"now:0","type":"function","function":{"name":"now"}}]`), delta(`[{"index":0,"function":{"arguments":"{}"},"type":"function"}]`), callsEnd},
		calls:  "now:0 now {}",
		raw:    `{"role":"assistant","tool_calls":[{"id":"now:0","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name:   "arguments null (variant d)",
		events: []string{delta(`[{"index":0,"id":"a","type":"function","function":{"name":"now","arguments":null}}]`), callsEnd},
		calls:  "a now {}",
		raw:    `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name:   "arguments an object",
		events: []string{delta(`[{"index":0,"id":"a","type":"function","function":{"name":"add","arguments":{"city":"Rome"}}}]`), callsEnd},
		calls:  `a add {"city":"Rome"}`,
		raw:    `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":{"city":"Rome"}}}]}`,
	},
	{
		name:   "id null",
		events: []string{delta(`[{"index":0,"id":null,"type":"function","function":{"name":"now","arguments":"{}"}}]`), callsEnd},
		calls:  "call_1_0 now {}",
		raw:    `{"role":"assistant","tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name: "id and name empty, and again in later deltas (mistral-incremental-tool-call)",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":""}}]`), delta(`[{"index":0,"id":"","function":{"name":"","arguments":"{\"city\":"}}]`),
			delta(`[{"index":0,"id":"","function":{"name":"","arguments":"\"Rome\"}"}}]`), callsEnd},
		calls: `a add {"city":"Rome"}`,
		raw:   `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"add","arguments":"{\"city\":\"Rome\"}"},"type":"function"}]}`,
	},
	{
		name:   "another id in each piece",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":"{\"city\":"}}]`), delta(`[{"index":0,"id":"b","function":{"arguments":"\"Rome\"}"}}]`), callsEnd},
		calls:  `a add {"city":"Rome"}`,
	},
	{
		name:   "two pieces of one call in one delta",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":""}},{"index":0,"function":{"arguments":"{}"}}]`), callsEnd},
		calls:  `a add {}`,
	},
	{
		name:   "a call of nothing",
		events: []string{delta(`[{"index":0}]`), delta(`[{"index":1,"id":"a","function":{"name":"now","arguments":"{}"}}]`), callsEnd},
		calls:  `a now {}`,
	},
	{
		name:   "a call without a name: sent back with one",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"","arguments":"{}"}},{"index":1,"id":"b","function":{"arguments":"{\"city\":1}"}}]`), callsEnd},
		calls:  "a unnamed_call {}\nb unnamed_call {\"city\":1}",
		raw: `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"unnamed_call","arguments":"{}"},"type":"function"},` +
			`{"id":"b","function":{"arguments":"{\"city\":1}","name":"unnamed_call"},"type":"function"}]}`,
	},
	{
		name:   "finish_reason empty with calls (Snowflake)",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]`), `{"choices":[{"index":0,"delta":{},"finish_reason":""}]}`, "[DONE]"},
		calls:  "a now {}",
	},
	{
		name:   "finish_reason null with calls (Snowflake)",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]`), "[DONE]"},
		calls:  "a now {}",
	},
	{
		name:   "finish_reason stop with calls (DeepSeek)",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		calls:  "a now {}",
	},
	{
		name:   "arguments that are no JSON: sent back in some that are",
		events: []string{delta(`[{"index":0,"id":"a","function":{"name":"add","arguments":"{city: Rome"}}]`), callsEnd},
		calls:  `a add "{city: Rome"`,
		raw:    `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"add","arguments":"{\"INVALID_JSON\":\"{city: Rome\"}"},"type":"function"}]}`,
	},
	{
		name:   "a signature of Google's (its compatible endpoint): sent back in its place",
		events: []string{delta(`{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"c2lnbmVk"}},"function":{"arguments":"{}","name":"now"},"id":"a","index":0,"type":"function"}]}`), callsEnd},
		calls:  "a now {}",
		raw:    `{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"c2lnbmVk"}},"function":{"arguments":"{}","name":"now"},"id":"a","type":"function"}]}`,
	},
	{
		name: "a signature beside the text",
		events: []string{delta(`{"role":"assistant","content":"Hel"}`), delta(`{"content":"lo","extra_content":{"google":{"thought_signature":"c2lnbmVk"}}}`),
			`{"choices":[{"index":0,"delta":{"role":"assistant","extra_content":{"google":{"thought_signature":"c2lnbmVk"}}},"finish_reason":"stop"}]}`},
		stop: providers.StopEnd,
		raw:  `{"role":"assistant","content":"Hello","extra_content":{"google":{"thought_signature":"c2lnbmVk"}}}`,
	},
	{
		name: "reasoning of two kinds with one index (Vercel's gateway)",
		events: []string{delta(`{"role":"assistant"}`), delta(`{"reasoning":"Hm","reasoning_details":[{"type":"reasoning.summary","summary":"Hm","id":"rs_1","format":"f","index":0}]}`),
			delta(`{"reasoning":"…","reasoning_details":[{"type":"reasoning.summary","summary":"…","id":"rs_1","format":"f","index":0}]}`),
			delta(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"xyz","format":"f","index":0}]}`), delta(`{"content":"Hello"}`), "[DONE]"},
		stop: providers.StopEnd,
		raw: `{"role":"assistant","reasoning":"Hm…","reasoning_details":[{"type":"reasoning.summary","summary":"Hm…","id":"rs_1","format":"f","index":0},` +
			`{"type":"reasoning.encrypted","data":"xyz","format":"f","index":0}],"content":"Hello"}`,
	},
	{
		name:   "a word beside each piece (Groq's channel)",
		events: []string{delta(`{"role":"assistant","content":"Hel","channel":"final"}`), delta(`{"content":"lo","channel":"final"}`), "[DONE]"},
		stop:   providers.StopEnd,
		raw:    `{"role":"assistant","content":"Hello","channel":"final"}`,
	},
	{
		name:   "function_call, what calls were before",
		events: []string{delta(`{"role":"assistant","content":null,"function_call":{"name":"add","arguments":""}}`), delta(`{"function_call":{"arguments":"{}"}}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`},
		calls:  "call_1_0 add {}",
		raw:    `{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"add","arguments":"{}"},"type":"function","id":"call_1_0"}]}`,
	},
	{
		name:   "the wrapper multi_tool_use.parallel, which nobody offered",
		events: []string{delta(`[{"index":0,"id":"a","type":"function","function":{"name":"multi_tool_use.parallel","arguments":"{\"tool_uses\":[{\"recipient_name\":\"functions.add\",\"parameters\":{\"city\":\"Rome\"}},{\"recipient_name\":\"functions.now\",\"parameters\":{}}]}"}}]`), callsEnd},
		calls:  "a add {\"city\":\"Rome\"}\ncall_1_1 now {}",
		raw: `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{\"city\":\"Rome\"}"}},` +
			`{"id":"call_1_1","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
	},
	{
		name:   "the wrapper parallel, beside a call",
		events: []string{delta(`[{"index":0,"id":"a","type":"function","function":{"name":"now","arguments":"{}"}},{"index":1,"id":"b","type":"function","function":{"name":"parallel","arguments":"{\"tool_uses\":[{\"recipient_name\":\"functions.weather_get\",\"parameters\":{}}]}"}}]`), callsEnd},
		calls:  "a now {}\nb weather_get {}",
	},
	{
		name:   "Azure's first chunk, empty but for the filter, and the usage in one without choices",
		events: []string{`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}`, delta(`[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]`), callsEnd, `{"choices":[],"model":"m","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`, "[DONE]"},
		calls:  "a now {}",
	},
	{
		name:   "a second choice, which nobody asked for",
		events: []string{delta(`{"content":"Hello"}`), `{"choices":[{"index":1,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		stop:   providers.StopEnd,
		raw:    `{"role":"assistant","content":"Hello"}`,
	},
	{
		name:   "an answer of nothing",
		events: []string{delta(`{"role":"assistant","content":null}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		stop:   providers.StopEnd,
		raw:    `{"role":"assistant","content":""}`,
	},
	{
		name:   "bytes that are no UTF-8",
		events: []string{delta("{\"content\":\"a\xe2\x82\"}"), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		stop:   providers.StopEnd,
		raw:    `{"role":"assistant","content":"a` + "\uFFFD" + `"}`,
	},
	{
		name: "content in parts, with thinking (Mistral)",
		events: []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`),
			`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`},
		stop: providers.StopEnd,
		raw:  `{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Hello"}]}`,
	},
}

func TestChatQuirks(t *testing.T) {
	for _, q := range chatQuirks {
		t.Run(q.name, func(t *testing.T) {
			turn, events := q.check(t, chat)
			checkIDs(t, turn)
			for kind, part := range map[providers.EventType]providers.PartType{providers.EventTextDelta: providers.PartText, providers.EventThinkingDelta: providers.PartThinking} {
				if told := providertest.JoinText(events, kind); told != texts(&turn.Message, part) {
					t.Errorf("%s: %q, the turn: %q", kind, told, texts(&turn.Message, part))
				}
			}
		})
	}
}

// checkIDs: the calls of a turn and those of its raw message are the same.
func checkIDs(t *testing.T, turn *providers.Turn) {
	t.Helper()
	var raw struct {
		ToolCalls []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(turn.Message.Raw.Items, &raw); err != nil {
		t.Fatal(err)
	}
	calls := turn.Message.Calls()
	if len(raw.ToolCalls) != len(calls) {
		t.Fatalf("%d calls in the message, %d in the turn", len(raw.ToolCalls), len(calls))
	}
	for i, c := range calls {
		if raw.ToolCalls[i].ID != c.ID {
			t.Errorf("call %d is %s in the message and %s in the turn", i, raw.ToolCalls[i].ID, c.ID)
		}
	}
}
