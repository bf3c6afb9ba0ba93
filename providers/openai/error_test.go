package openai

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// both runs a test with each provider.
func both(t *testing.T, test func(t *testing.T, provider func(Options) providers.Provider)) {
	t.Run("chat", func(t *testing.T) { test(t, chat) })
	t.Run("responses", func(t *testing.T) { test(t, responses) })
}

// TestRefusals: which errors are retried, and their texts.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		again  bool
		want   string
		header http.Header
	}{
		{"rate limit", 429, `{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, true, "slow down (HTTP 429, requests, rate_limit_exceeded)", nil},
		{"server", 503, `<html>down</html>`, true, "<html>down</html> (HTTP 503)", nil},
		{"conflict", 409, `{}`, true, "{} (HTTP 409)", nil},
		{"quota", 429, `{"error":{"message":"no money","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, false, "no money (HTTP 429, insufficient_quota)", nil},
		{"credit", 429, `{"error":{"message":"no money","type":"x","code":"credit_balance_exhausted"}}`, false, "no money (HTTP 429, x, credit_balance_exhausted)", nil},
		{"billing", 429, `{"error":{"message":"no money","type":"x","code":"billing_hard_limit_reached"}}`, false, "no money (HTTP 429, x, billing_hard_limit_reached)", nil},
		{"spend", 429, `{"error":{"message":"no money","type":"x","code":"spend_limit_reached"}}`, false, "no money (HTTP 429, x, spend_limit_reached)", nil},
		{"balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, false, "Insufficient Balance (HTTP 402, unknown_error, invalid_request_error)", nil},
		{"window", 400, `{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, false, "too long (messages) (HTTP 400, invalid_request_error, context_length_exceeded)", nil},
		{"a tool", 400, `{"error":{"message":"Invalid schema for function 'x'","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`, false,
			"Invalid schema for function 'x' (tools[1].function.parameters) (HTTP 400, invalid_request_error, invalid_function_parameters)", nil},
		{"should not", 500, `{"error":{"message":"m"}}`, false, "m (HTTP 500)", http.Header{"X-Should-Retry": {"false"}}},
		{"flat", 400, `{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}`, false, "bad (HTTP 400, BadRequestError)", nil},
		{"key", 401, `{"error":{"message":"Incorrect API key provided: sk-secret-123.","code":"invalid_api_key"}}`, false, "Incorrect API key provided: [hidden]. (HTTP 401, invalid_api_key, request r-1)", http.Header{"X-Request-Id": {"r-1"}}},
	} {
		both(t, func(t *testing.T, provider func(Options) providers.Provider) {
			a := refusal(test.status, test.body)
			maps.Copy(a.Header, test.header)
			o, s := answering(a, refusal(418, `{"error":{"message":"the second try"}}`))
			o.APIKey = "sk-secret-123"
			turn, err := provider(o).Turn(context.Background(), question(), nil)
			var e *providers.APIError
			if turn != nil || !errors.As(err, &e) {
				t.Fatalf("%s: %v %v", test.name, turn, err)
			}
			if again := len(s.Bodies) == 2; again != test.again || !again && err.Error() != test.want {
				t.Errorf("%s: again %v: %v", test.name, again, err)
			}
		})
	}
}

// TestErrorsInAStream: an error after a status of 200 is returned with the turn so far, and
// not retried, since part of the turn was emitted.
func TestErrorsInAStream(t *testing.T) {
	text := stream(delta(`{"content":"Hel"}`))
	spoken := `{"type":"response.output_text.delta","output_index":0,"delta":"Hel"}`
	for _, test := range []struct {
		name     string
		provider func(Options) providers.Provider
		events   []string
		again    bool
		want     string
	}{
		{"OpenRouter", chat, []string{delta(`{"content":"Hel"}`), `{"id":"x","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`}, true, "Provider returned error (502)"},
		{"OpenRouter, in the choice", chat, []string{delta(`{"content":"Hel"}`), `{"choices":[{"index":0,"delta":{},"error":{"code":402,"message":"no credits"},"finish_reason":"error"}]}`}, false, "no credits (402)"},
		{"vLLM", chat, []string{delta(`{"content":"Hel"}`), `{"object":"error","message":"broken","type":"InternalServerError","code":500}`, "[DONE]"}, true, "broken (InternalServerError, 500)"},
		{"an event error", chat, []string{delta(`{"content":"Hel"}`), `error {"message":"broken","type":"server_error"}`}, true, "broken (server_error)"},
		{"quota", chat, []string{delta(`{"content":"Hel"}`), `{"error":{"message":"no money","type":"insufficient_quota","code":429}}`}, false, "no money (insufficient_quota, 429)"},
		{"no JSON", chat, []string{delta(`{"content":"Hel"}`), `{"choices`}, false, "the response is not JSON: an unterminated string at byte 9"},
		{"the end missing", chat, []string{delta(`{"content":"Hel"}`)}, true, "the response broke off: unexpected EOF"},

		{"flat", responses, []string{spoken, `error {"type":"error","code":"server_error","message":"broken","param":null,"sequence_number":3}`}, true, "broken (server_error)"},
		{"in an object", responses, []string{spoken, `error {"type":"error","sequence_number":2,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long","param":"input"}}`}, false, "too long (input) (invalid_request_error, context_length_exceeded)"},
		{"failed", responses, []string{spoken, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"},"output":[]}}`}, true, "slow down (rate_limit_exceeded)"},
		{"the end missing", responses, []string{spoken}, true, "the response broke off: unexpected EOF"},
	} {
		a := stream(test.events...)
		a.Header.Set("X-Request-Id", "r-7")
		o, s := answering(a, text)
		turn, err := test.provider(o).Turn(context.Background(), question(), nil)
		var e *providers.APIError
		if !errors.As(err, &e) || e.Status != 200 || e.Again != test.again || len(s.Bodies) != 1 {
			t.Fatalf("%s: %v %+v", test.name, err, e)
		}
		if want := strings.TrimSuffix(test.want, ")"); !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "request r-7") {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if turn == nil || turn.Stop != providers.StopCut || turn.Message.Text() != "Hel" || turn.Message.Raw != nil {
			t.Errorf("%s: %+v", test.name, turn)
		}
	}
}

// TestMalformedCall: a call that Groq cannot parse is an answer of its model.
func TestMalformedCall(t *testing.T) {
	const failure = `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=add>{}","status_code":400}}`
	for name, test := range map[string]struct {
		answer providertest.Answer
		want   string
	}{
		"refused":            {refusal(400, failure), "<function=add>{}"},
		"in a stream":        {stream("error " + failure), "<function=add>{}"},
		"after text":         {stream(delta(`{"content":"Well, "}`), "error "+failure), "Well, <function=add>{}"},
		"without the call":   {refusal(400, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`), ""},
		"at once, with text": {stream(delta(`{"content":"Well, "}`), failure), "Well, <function=add>{}"},
	} {
		turn, events := answered(t, chat, test.answer)
		if turn.Stop != providers.StopMalformed || turn.Message.Text() != test.want || turn.Message.Role != providers.RoleAssistant || turn.Message.Raw != nil {
			t.Errorf("%s: %+v", name, turn)
		}
		if providertest.JoinText(events, providers.EventNote) != "Failed to call a function." {
			t.Errorf("%s: %+v", name, events)
		}
	}
}

// TestNoTools: the errors of models without tools, and some that look like them.
func TestNoTools(t *testing.T) {
	for message, want := range map[string]bool{
		"No endpoints found that support tool use. To learn more about provider routing, visit: https://x": true,
		"tools is not supported in this model. For a list of supported models, refer to https://x":         true,
		"`tool calling` is not supported with this model":                                                  true,
		"registry.ollama.ai/library/gemma:2b does not support tools":                                       true,
		"deepseek-reasoner does not support Function Calling":                                              true,
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`:           true,
		"tools param requires --jinja flag":                                                                true,
		"Function calling is not enabled for models/gemma":                                                 true,
		"this model doesn't support tools":                                                                 true,
		"Parallel tool calls are not supported":                                                            false,
		"deepseek-reasoner does not support this tool_choice":                                              false,
		"Invalid schema for function 'x': 'oneOf' is not permitted":                                        false,
		"The model `x` does not exist":                                                                     false,
	} {
		both(t, func(t *testing.T, provider func(Options) providers.Provider) {
			body := string(wire.AppendString(nil, message))
			ask := func(req *providers.Request) error {
				o, _ := answering(refusal(400, `{"error":{"message":`+body+`}}`))
				_, err := provider(o).Turn(context.Background(), req, nil)
				return err
			}
			var e *providers.APIError
			if err := ask(question()); errors.Is(err, providers.ErrNoTools) != want || !errors.As(err, &e) || e.Message != message {
				t.Errorf("%s: %v", message, err)
			}
			if err := ask(&providers.Request{}); errors.Is(err, providers.ErrNoTools) {
				t.Errorf("%s, without tools: %v", message, err)
			}
		})
	}
}

// TestBrokenBehindTheEnd: a connection that breaks off after the end of the turn.
func TestBrokenBehindTheEnd(t *testing.T) {
	both(t, func(t *testing.T, provider func(Options) providers.Provider) {
		a := stream(delta(`{"content":"Hello"}`), callsEnd, done("0", messageItem), completed(`[]`)) // each provider reads the events of its API
		a.Body = io.MultiReader(a.Body, iotest.ErrReader(io.ErrUnexpectedEOF))
		o, _ := answering(a)
		if turn := mustTurn(t, provider(o), question(), nil); turn.Message.Text() != "Hello" || turn.Stop != providers.StopEnd {
			t.Errorf("%+v", turn)
		}
	})
}

// TestNoAnswer: bodies with status 200 that are not an answer.
func TestNoAnswer(t *testing.T) {
	both(t, func(t *testing.T, provider func(Options) providers.Provider) {
		for _, test := range []struct {
			answer providertest.Answer
			want   string
		}{
			{whole(`<html>`), "is not JSON"},
			{whole(`{}`), " no "},
			{whole(`null`), " no "},
			{whole(`{"error":{"message":"broken"}}`), "broken"},
			{providertest.NewAnswer("text/html", "<html>a proxy's page</html>"), `the Content-Type is "text/html"`},
			{providertest.Answer{Body: iotest.ErrReader(errors.New("connection reset"))}, "connection reset"},
			{providertest.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: iotest.ErrReader(errors.New("connection reset"))}, "connection reset"},
		} {
			o, _ := answering(test.answer)
			turn, err := provider(o).Turn(context.Background(), question(), nil)
			var e *providers.APIError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) || turn == nil || turn.Stop != providers.StopCut {
				t.Errorf("%v, want %s; %+v", err, test.want, turn)
			}
		}
	})
}
