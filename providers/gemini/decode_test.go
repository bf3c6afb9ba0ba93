package gemini

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// stream returns a stream of events with the given data and the line ends of the API.
func stream(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		b.WriteString("data: " + data + "\r\n\r\n")
	}
	return b.String()
}

// parts returns an event with parts of the content.
func parts(parts string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0}],"modelVersion":"gemini-x"}`
}

// last returns an event with the last parts and the finishReason.
func last(parts, reason string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"` + reason + `","index":0}],"modelVersion":"gemini-x"}`
}

// decodeCases are from streams of the API and of programs that imitate it.
var decodeCases = []struct {
	name   string
	events []string
	want   string // the turn: see providertest.CheckTurn
	raw    string // the parts of the raw items; "" means not compared
}{
	{
		"text in pieces", []string{parts(`{"text":"The sum of \""}`), parts(`{"text":"2\" and"}`), last(`{"text":" 3"}`, "STOP")},
		`end text<The sum of "2" and 3>`, `[{"text":"The sum of \"2\" and 3"}]`,
	},
	{
		"a character spread over two events", []string{parts(`{"text":"\ud83d"}`), last(`{"text":"\ude00"}`, "STOP")},
		`end text<😀>`, `[{"text":"\ud83d\ude00"}]`,
	},
	{
		"texts of one event stay apart", []string{last(`{"text":"a"},{"text":"b"}`, "STOP")},
		`end text<a> text<b>`, `[{"text":"a"},{"text":"b"}]`,
	},
	{
		"thoughts", []string{parts(`{"text":"Hm, ","thought":true}`), parts(`{"text":"well.","thought":true}`), last(`{"text":"Yes."}`, "STOP")},
		`end thinking<Hm, well.> text<Yes.>`, `[{"text":"Hm, well.","thought":true},{"text":"Yes."}]`,
	},
	{
		"a signature beside an empty text", []string{parts(`{"text":"Yes."}`), last(`{"text":"","thoughtSignature":"c2ln"}`, "STOP")},
		`end text<Yes.>`, `[{"text":"Yes."},{"text":"","thoughtSignature":"c2ln"}]`,
	},
	{
		"a signature beside a text", []string{parts(`{"text":"Yes"}`), parts(`{"text":".","thoughtSignature":"c2ln"}`), last(`{"text":"No."}`, "STOP")},
		`end text<Yes> text<.> text<No.>`, `[{"text":"Yes"},{"text":".","thoughtSignature":"c2ln"},{"text":"No."}]`,
	},
	{
		"an empty text", []string{parts(`{"text":"Yes."}`), last(`{"text":""}`, "STOP")},
		`end text<Yes.>`, `[{"text":"Yes."}]`,
	},
	{
		"parallel calls, the first signed", []string{last(`{"functionCall":{"name":"get_weather","args":{"city": "Rome","n":9223372036854775807}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_time","args":{},"id":"x1"}}`, "STOP")},
		`tool_calls call<call_3_0 get_weather {"city": "Rome","n":9223372036854775807}> call<x1 get_time {}>`,
		`[{"functionCall":{"name":"get_weather","args":{"city": "Rome","n":9223372036854775807}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"get_time","args":{},"id":"x1"}}]`,
	},
	{
		"a call without args", []string{parts(`{"functionCall":{"name":"get_time"}}`), last(`{"functionCall":{"name":"get_time","args":null}}`, "STOP")},
		`tool_calls call<call_3_0 get_time {}> call<call_3_1 get_time {}>`, `[{"functionCall":{"name":"get_time"}},{"functionCall":{"name":"get_time","args":null}}]`,
	},
	{
		"repeated and taken ids", []string{last(`{"functionCall":{"name":"get_time","id":"a"}},{"functionCall":{"name":"get_time","id":"a"}},{"functionCall":{"id":"id_0","name":"get_time"}}`, "STOP")},
		`tool_calls call<a get_time {}> call<call_3_1 get_time {}> call<call_3_2 get_time {}>`,
		`[{"functionCall":{"name":"get_time","id":"a"}},{"functionCall":{"name":"get_time","id":"call_3_1"}},{"functionCall":{"id":"call_3_2","name":"get_time"}}]`,
	},
	{
		"a tool that nobody offered", []string{last(`{"functionCall":{"name":"default_api:x"}}`, "STOP")},
		`tool_calls call<call_3_0 default_api:x {}>`, "",
	},
	{
		"Google's own tools", []string{parts(`{"executableCode":{"language":"PYTHON","code":"1+1"}}`), parts(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`), parts(`{"toolCall":{"toolType":"X","id":"t1"},"thoughtSignature":"eA=="}`), last(`{"toolResponse":{"id":"t1"}}`, "STOP")},
		`end`, `[{"executableCode":{"language":"PYTHON","code":"1+1"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},{"toolCall":{"toolType":"X","id":"t1"},"thoughtSignature":"eA=="},{"toolResponse":{"id":"t1"}}]`,
	},
	{
		"UNEXPECTED_TOOL_CALL with a call", []string{last(`{"functionCall":{"name":"get_time"}}`, "UNEXPECTED_TOOL_CALL")},
		`malformed_call call<call_3_0 get_time {}>`, "",
	},
	{
		"MALFORMED_FUNCTION_CALL", []string{`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(get_time())"}],"modelVersion":"gemini-x"}`},
		`malformed_call note<gemini: Malformed function call: print(get_time())>`, "",
	},
	{"no content", []string{`{"candidates":[{"finishReason":"MAX_TOKENS","index":0}],"modelVersion":"gemini-x"}`}, `max_tokens`, ""},
	{"safety", []string{parts(`{"text":"I"}`), last(``, "SAFETY")}, `refused text<I>`, ""},
	{"recitation", []string{last(``, "RECITATION")}, `refused`, ""},
	{"model armor", []string{last(``, "MODEL_ARMOR")}, `refused`, ""},
	{"too many calls of Google's own tools", []string{last(``, "TOO_MANY_TOOL_CALLS")}, `other`, ""},
	{"a new reason", []string{last(``, "MOONRISE")}, `other`, ""},
	{
		"a prompt that is refused", []string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":5},"modelVersion":"gemini-x"}`},
		`refused note<gemini: the prompt was refused: PROHIBITED_CONTENT>`, "",
	},
	{
		"finishMessage beside calls", []string{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_time"}}]},"finishReason":"STOP","finishMessage":"Model generated function call(s)."}],"modelVersion":"gemini-x"}`},
		`tool_calls call<call_3_0 get_time {}>`, "",
	},
	{
		"other candidates", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"no"}]}},{"index":0,"content":{"parts":[{"text":"yes"}]},"finishReason":"STOP"}],"modelVersion":"gemini-x"}`},
		`end text<yes>`, "",
	},
	{
		"cut", []string{parts(`{"text":"Hel"}`)},
		`cut text<Hel> error<the response broke off: unexpected EOF again>`, "",
	},
	{
		"an error in the stream", []string{parts(`{"text":"Hel"}`), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
		`cut text<Hel> error<The model is overloaded. (UNAVAILABLE, 503) again>`, "",
	},
	{
		"an error that stays", []string{`{"error":{"code":400,"message":"No.","status":"INVALID_ARGUMENT"}}`},
		`cut model<> error<No. (INVALID_ARGUMENT, 400)>`, "",
	},
	{
		"arguments in pieces", []string{
			parts(`{"functionCall":{"name":"get_weather","willContinue":true},"thoughtSignature":"c2ln"}`),
			parts(`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Ro\u006d","willContinue":true},{"jsonPath":"$.days","numberValue":1.0}],"willContinue":true}}`),
			parts(`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"e"}],"willContinue":true}}`),
			parts(`{"functionCall":{"willContinue":true}}`),
			parts(`{"functionCall":{"partialArgs":[{"jsonPath":"$.at[0].h","boolValue":true},{"jsonPath":"$.at[0]['m']","nullValue":"NULL_VALUE"},{"jsonPath":"$.at[1].h","stringValue":""}],"willContinue":true}}`),
			parts(`{"functionCall":{}}`),
			last(`{"functionCall":{"name":"get_time","id":"toolu_0","partialArgs":[{"jsonPath":"$.in","stringValue":"Rome"}]}}`, "STOP"),
		},
		`tool_calls call<call_3_0 get_weather {"city":"Ro\u006de","days":1.0,"at":[{"h":true,"m":null},{"h":""}]}> call<toolu_0 get_time {"in":"Rome"}>`,
		`[{"functionCall":{"args":{"city":"Ro\u006de","days":1.0,"at":[{"h":true,"m":null},{"h":""}]},"name":"get_weather"},"thoughtSignature":"c2ln"},{"functionCall":{"args":{"in":"Rome"},"name":"get_time","id":"toolu_0"}}]`,
	},
	{
		"arguments in pieces, a signature behind them", []string{parts(`{"functionCall":{"name":"get_time","args":{"a":1},"willContinue":true}}`), last(`{"functionCall":{},"thoughtSignature":"c2ln"}`, "STOP")},
		`tool_calls call<call_3_0 get_time {"a":1}>`, `[{"thoughtSignature":"c2ln","functionCall":{"name":"get_time","args":{"a":1}}}]`,
	},
	{
		"arguments in pieces, and the next call", []string{parts(`{"functionCall":{"name":"get_time","willContinue":true}}`), last(`{"functionCall":{"name":"get_weather","args":{"city":"Rome"}}}`, "STOP")},
		`tool_calls call<call_3_0 get_time {}> call<call_3_1 get_weather {"city":"Rome"}>`, "",
	},
	{
		"arguments in pieces that are cut", []string{parts(`{"functionCall":{"name":"get_weather","willContinue":true}}`), last(`{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Ro","willContinue":true}],"willContinue":true}}`, "STOP")},
		`malformed_call call<call_3_0 get_weather {"city":"Ro"}>`, "",
	},
	{
		"arguments in pieces that reach the limit", []string{parts(`{"functionCall":{"name":"get_weather","willContinue":true}}`), last(`{"functionCall":{"willContinue":true}}`, "MAX_TOKENS")},
		`max_tokens call<call_3_0 get_weather {}>`, "",
	},
	{
		"an argument far beyond the others", []string{parts(`{"functionCall":{"name":"get_time","partialArgs":[{"jsonPath":"$.a[1000000000]","numberValue":1}],"willContinue":true}}`)},
		`cut call<call_3_0 get_time {"a":[]}> model<> error<the response cannot be read: an argument of a call has the path "$.a[1000000000]": expected one such as $.a[0].b>`, "",
	},
	{
		"an event that is no JSON", []string{`{"candidates":`},
		`cut model<> error<the response cannot be read: not JSON: a value expected at byte 14>`, "",
	},
}

// provider returns a provider over a client.
func provider(c *http.Client) providers.Provider {
	return New(Options{Client: providers.Client{HTTP: c}})
}

// testRequest offers two tools and has an earlier call with the id id_0.
func testRequest() *providers.Request { return providertest.Request("gemini-x", "id_0") }

// TestDecode checks the turn of each case.
func TestDecode(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			turn := providertest.CheckTurn(t, provider, testRequest(), "text/event-stream", stream(c.events...), c.want)
			if c.raw != "" {
				if got := wire.Lookup(turn.Message.Raw.Items, "content", "parts"); string(got) != c.raw {
					t.Errorf("the raw parts are\n%s\nwant\n%s", got, c.raw)
				}
			}
		})
	}
}

// TestDecodeWhole: programs that imitate the API may not stream, or send an array.
func TestDecodeWhole(t *testing.T) {
	for _, c := range []struct{ name, kind, body, want string }{
		{"response", "application/json; charset=UTF-8", last(`{"text":"Hi"},{"functionCall":{"name":"get_time","id":"x"}}`, "STOP"), `tool_calls text<Hi> call<x get_time {}>`},
		{"array", "application/json", "\n[" + parts(`{"text":"H"}`) + ",\n" + last(`{"text":"i"}`, "STOP") + "]\n", `end text<Hi>`},
		{"error in an array", "application/json", `[{"error":{"code":500,"message":"Internal","status":"INTERNAL"}}]`, `cut model<> error<Internal (INTERNAL, 500) again>`},
		{"no JSON", "application/json", `<html>`, `cut model<> error<the response cannot be read: not JSON: a value expected at byte 0>`},
		{"nothing", "application/json", `[]`, `cut model<> error<the response cannot be read: no event; the Content-Type is "application/json">`},
		{"a page", "text/html", `<html>Sign in</html>`, `cut model<> error<the response cannot be read: no event; the Content-Type is "text/html">`},
	} {
		t.Run(c.name, func(t *testing.T) {
			providertest.CheckTurn(t, provider, testRequest(), c.kind, c.body, c.want)
		})
	}
}

// TestUsage: the last value of each number counts, and the raw candidate has all members.
func TestUsage(t *testing.T) {
	turn, _, err := providertest.Ask(t, provider, testRequest(), providertest.NewAnswer("text/event-stream", stream(
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]}}],"usageMetadata":{"trafficType":"ON_DEMAND","cachedContentTokenCount":4}}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP","groundingMetadata":{"x":1}}],"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":2,"candidatesTokenCount":5,"thoughtsTokenCount":3}}`)))
	want := providers.Usage{Input: 12, Output: 8, Cached: 4, Reasoning: 3}
	if err != nil || turn.Usage != want {
		t.Errorf("%+v, want %+v (%v)", turn.Usage, want, err)
	}
	const items = `{"groundingMetadata":{"x":1},"finishReason":"STOP","content":{"role":"model","parts":[{"text":"ab"}]}}`
	if string(turn.Message.Raw.Items) != items {
		t.Errorf("got\n%s\nwant\n%s", turn.Message.Raw.Items, items)
	}
}

// TestArgumentsDelta: a call is complete, and emitted as one piece.
func TestArgumentsDelta(t *testing.T) {
	_, events, err := providertest.Ask(t, provider, testRequest(), providertest.NewAnswer("text/event-stream", stream(last(`{"functionCall":{"name":"get_time","args":{"a":1}}}`, "STOP"))))
	if len(events) != 1 || err != nil {
		t.Fatalf("%+v (%v)", events, err)
	}
	e := events[0]
	if got, want := fmt.Sprintf("%s %s %s %s", e.Type, e.Call.ID, e.Call.Name, e.Text), `arguments_delta call_3_0 get_time {"a":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestProvider: the contract of all providers.
func TestProvider(t *testing.T) {
	providertest.Run(t, provider, providertest.Samples{
		Kind: "text/event-stream",
		Text: stream(parts(`{"text":"Hel"}`), last(`{"text":"lo"}`, "STOP")),
		Call: stream(last(`{"functionCall":{"id":"call_7","name":"get_weather","args":{"city":"Rome"}}}`, "STOP")),
	})
}
