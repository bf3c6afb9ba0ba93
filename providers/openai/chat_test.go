package openai

import (
	"fmt"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestChatWhole: a response that is not streamed. Its message is kept verbatim if it can be
// sent back so.
func TestChatWhole(t *testing.T) {
	for _, test := range []struct {
		name, message string
		calls, text   string
		stop          providers.Stop
		raw           string // "" means message
	}{
		{
			name:    "text",
			message: `{ "role":"assistant", "content":"Hello <b>\u00e9</b>", "refusal":null, "annotations":[], "n":12345678901234567890 }`,
			text:    "Hello <b>é</b>", stop: providers.StopEnd,
		},
		{
			name:    "calls without index",
			message: `{"content":null,"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"add","arguments":"{ \"city\": \"Rome\" }"}},{"id":"b","type":"function","function":{"name":"add","arguments":"{}"}}]}`,
			calls:   "a add { \"city\": \"Rome\" }\nb add {}", stop: providers.StopCalls,
		},
		{
			name:    "calls with the index that some servers give",
			message: `{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"now","arguments":"{}"}}]}`,
			calls:   "a now {}", stop: providers.StopCalls,
		},
		{
			name:    "ids missing: in the message too they are made",
			message: `{"content":"","tool_calls":[{"function":{"name":"now","arguments":"{}"}},{"id":null,"function":{"name":"now","arguments":""}}],"x":{"b":1,"a":2}}`,
			calls:   "call_1_0 now {}\ncall_1_1 now {}", stop: providers.StopCalls,
			raw: `{"role":"assistant","content":"","x":{"b":1,"a":2},"tool_calls":[{"function":{"name":"now","arguments":"{}"},"id":"call_1_0"},{"id":"call_1_1","function":{"name":"now","arguments":"{}"}}]}`,
		},
		{
			name:    "no calls, said with an array that OpenAI would refuse",
			message: `{"role":"assistant","content":"Hello","tool_calls":[]}`,
			text:    "Hello", stop: providers.StopEnd,
			raw: `{"role":"assistant","content":"Hello"}`,
		},
		{
			name:    "function_call",
			message: `{"role":"assistant","content":null,"function_call":{"name":"now","arguments":"{}"}}`,
			calls:   "call_1_0 now {}", stop: providers.StopCalls,
			raw: `{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"now","arguments":"{}"},"id":"call_1_0"}]}`,
		},
		{
			name:    "nothing but reasoning",
			message: `{"role":"assistant","content":null,"reasoning_content":"Hm"}`,
			stop:    providers.StopEnd,
			raw:     `{"role":"assistant","reasoning_content":"Hm","content":""}`,
		},
		{
			name:    "a refusal",
			message: `{"role":"assistant","content":null,"refusal":"I will not."}`,
			text:    "I will not.", stop: providers.StopRefused,
			raw: `{"role":"assistant","content":null,"refusal":"I will not."}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			turn, events := answered(t, chat, whole(`{"id":"c","model":"m-1","choices":[{"index":0,"message":`+test.message+`,"finish_reason":"stop"}]}`))
			if got := callsOf(turn); got != test.calls || turn.Message.Text() != test.text || turn.Stop != test.stop || turn.Model != "m-1" {
				t.Errorf("%s %q %s", got, turn.Message.Text(), turn.Stop)
			}
			if raw := string(turn.Message.Raw.Of("openai")); test.raw == "" && raw != test.message || test.raw != "" && raw != test.raw {
				t.Errorf("raw %s", raw)
			}
			if providertest.JoinText(events, providers.EventTextDelta) != test.text {
				t.Errorf("events %+v", events)
			}
		})
	}
}

func TestChatStops(t *testing.T) {
	const call = `,"tool_calls":[{"id":"a","function":{"name":"now","arguments":"{}"}}]`
	for _, test := range []struct {
		finish, message string
		want            providers.Stop
	}{
		{`"stop"`, "", providers.StopEnd},
		{`"STOP"`, "", providers.StopEnd},
		{`"stop"`, call, providers.StopCalls},
		{`"tool_calls"`, call, providers.StopCalls},
		{`"tool_calls"`, "", providers.StopEnd},
		{`"function_call"`, call, providers.StopCalls},
		{`null`, call, providers.StopCalls},
		{`""`, "", providers.StopEnd},
		{`"eos"`, "", providers.StopEnd},
		{`"length"`, call, providers.StopLength},
		{`"model_length"`, "", providers.StopWindow},
		{`"content_filter"`, "", providers.StopRefused},
		{`"sensitive"`, "", providers.StopRefused},
		{`"network_error"`, "", providers.StopCut},
		{`"insufficient_system_resource"`, "", providers.StopCut},
		{`"function_call_filter: MALFORMED_FUNCTION_CALL"`, "", providers.StopMalformed},
		{`"error","native_finish_reason":"MALFORMED_FUNCTION_CALL"`, "", providers.StopMalformed},
		{`"error"`, "", providers.StopOther},
		{`"whatever"`, call, providers.StopOther},
	} {
		if turn, _ := answered(t, chat, whole(`{"choices":[{"message":{"role":"assistant","content":"x"`+test.message+`},"finish_reason":`+test.finish+`}]}`)); turn.Stop != test.want {
			t.Errorf("%s%s: %s, want %s", test.finish, test.message, turn.Stop, test.want)
		}
	}
}

func TestChatUsage(t *testing.T) {
	for _, test := range []struct {
		chunk string
		want  providers.Usage
	}{
		{`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}`, providers.Usage{Input: 10, Output: 5, Cached: 4, Reasoning: 2}},
		{`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":7}}`, providers.Usage{Input: 10, Output: 12, Reasoning: 7}}, // xAI
		{`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":7}}`, providers.Usage{Input: 10, Output: 12, Reasoning: 7}}, // Vercel's gateway
		{`"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":6}`, providers.Usage{Input: 10, Output: 5, Cached: 6}},                                              // DeepSeek
		{`"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":5}}`, providers.Usage{Input: 10, Output: 5}},
		{`"usage":{"prompt_tokens":null,"completion_tokens":-1,"total_tokens":"x"}`, providers.Usage{}},
		{`"usage":null`, providers.Usage{}},
	} {
		if turn, _ := answered(t, chat, stream(delta(`{"content":"x"}`), callsEnd, fmt.Sprintf(`{"choices":[],%s}`, test.chunk), "[DONE]")); turn.Usage != test.want {
			t.Errorf("%s: %+v", test.chunk, turn.Usage)
		}
	}
}

// TestChatArgumentsAsTheyCome: arguments are emitted with their call and the tool's own name.
func TestChatArgumentsAsTheyCome(t *testing.T) {
	req := question()
	wire := req.Tools.WireName(toolformat.FormatOpenAI, "weather.get")
	o, _ := answering(stream(delta(`[{"index":0,"id":"a","function":{"name":"`+wire+`","arguments":"{\"ci"}}]`),
		delta(`[{"index":1,"function":{"name":"now","arguments":"{"}}]`), delta(`[{"index":0,"function":{"arguments":"ty\":1}"}}]`), delta(`[{"index":1,"function":{"arguments":"}"}}]`), callsEnd))
	got := ""
	turn := mustTurn(t, NewChat(o), req, func(e providers.Event) { got += e.Call.ID + " " + e.Call.Name + " " + e.Text + "\n" })
	if want := "a weather.get {\"ci\ncall_1_1 now {\na weather.get ty\":1}\ncall_1_1 now }\n"; got != want {
		t.Errorf("%s", got)
	}
	if got, want := callsOf(turn), "a weather.get {\"city\":1}\ncall_1_1 now {}"; got != want || wire == "weather.get" {
		t.Errorf("%s", got)
	}
}
