package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// newSampling returns a Sampling with a provider.
func newSampling(p providers.Provider, change ...func(*serve.SamplingOptions)) *serve.Sampling {
	o := serve.SamplingOptions{Model: func(hints []string) (providers.Candidate, providers.Settings, error) {
		if len(hints) > 0 {
			return providers.Candidate{}, providers.Settings{}, errors.New("no model for " + strings.Join(hints, ", "))
		}
		return providers.Candidate{Name: "here", Provider: p, Model: "m"}, providers.Settings{MaxTokens: 500}, nil
	}}
	for _, c := range change {
		c(&o)
	}
	return serve.NewSampling(o)
}

// sampled returns the result of a request, or its error.
func sampled(t *testing.T, s *serve.Sampling, params string) string {
	t.Helper()
	result, err := s.CreateMessage(t.Context(), []byte(params))
	if err != nil {
		return string(err.Raw)
	}
	if wire.Valid(result) != nil {
		t.Errorf("the result is no JSON: %s", result)
	}
	return string(result)
}

func TestSampling(t *testing.T) {
	p := &scripted{turns: []providers.Turn{says("Rome.")}}
	got := sampled(t, newSampling(p), `{"messages":[
		{"role":"user","content":{"type":"text","text":"Where?"}},
		{"role":"assistant","content":{"type":"text","text":"There."}},
		{"role":"user","content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]},
		{"role":"user","content":{"type":"text","text":"And this?"}}],
		"systemPrompt":"Be brief.","maxTokens":100,"temperature":0.5,"includeContext":"allServers","metadata":{"a":1},"modelPreferences":{"hints":[{}],"costPriority":1}}`)
	if want := `{"role":"assistant","content":{"type":"text","text":"Rome."},"model":"m","stopReason":"endTurn"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r := p.requests[0]
	if r.Model != "m" || r.System != "Be brief." || r.Settings.MaxTokens != 100 || *r.Settings.Temperature != 0.5 || r.Tools.Len() != 0 || len(r.Messages) != 3 {
		t.Errorf("asked with %+v", r)
	}
	if last := r.Messages[2].Parts; len(last) != 3 || last[0].MimeType != "image/png" || last[1].Type != providers.PartFile || last[2].Text != "And this?" {
		t.Errorf("the last message is %+v", last)
	}
}

// Calls of the server's tools are handed to it. The provider gets its raw items back, although
// the server's next request lacks them.
func TestSamplingTools(t *testing.T) {
	p := &scripted{turns: []providers.Turn{
		says("I look.", call("a", "look_up", `{"of":"ink"}`), call("b", "look_up", `{"of":"pens"}`)),
		says("42."),
	}}
	s := newSampling(p)
	const (
		tools = `"maxTokens":9,"tools":[{"name":"look_up","description":"Looks up.","inputSchema":{"type":"object","properties":{"of":{"type":"string"}}}}]`
		ask   = `{"role":"user","content":{"type":"text","text":"How many?"}}`
	)
	got := sampled(t, s, `{`+tools+`,"toolChoice":{"mode":"required"},"messages":[`+ask+`]}`)
	var ids []string // made by the bridge
	for block := range wire.Elements(wire.Lookup([]byte(got), "content")) {
		if id, ok := wire.Text(wire.Lookup(block, "id")); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) != 2 {
		t.Fatalf("the calls are %s", got)
	}
	calls := fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"look_up","input":{"of":"ink"}},{"type":"tool_use","id":%q,"name":"look_up","input":{"of":"pens"}}`, ids[0], ids[1])
	if want := `{"role":"assistant","content":[{"type":"text","text":"I look."},` + calls + `],"model":"m","stopReason":"toolUse"}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if r := p.requests[0]; r.Choice != providers.ChoiceRequired || r.Tools.Len() != 1 {
		t.Errorf("asked with %+v", r)
	}
	got = sampled(t, s, `{`+tools+`,"toolChoice":{"mode":"none"},"messages":[`+ask+`,{"role":"assistant","content":[`+calls+`]},{"role":"user","content":[
		{"type":"tool_result","toolUseId":"`+ids[1]+`","content":[{"type":"text","text":"30"}]},
		{"type":"tool_result","toolUseId":"`+ids[0]+`","content":[],"structuredContent":{"n":12},"isError":true}]}]}`)
	if want := `{"role":"assistant","content":{"type":"text","text":"42."},"model":"m","stopReason":"endTurn"}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	r := p.requests[1]
	if len(r.Messages) != 3 || r.Choice != providers.ChoiceNone || r.Messages[1].Raw.Of("scripted") == nil {
		t.Fatalf("asked with %+v", r)
	}
	results := r.Messages[2].Parts
	if len(results) != 2 || results[0].Result.ID != "a" || !results[0].Result.Content.IsError() || results[1].Result.Text(false) != "30" {
		t.Errorf("the results are %+v", results)
	}
}

// A model is stopped at a stop sequence, whatever its provider supports.
func TestSamplingStops(t *testing.T) {
	for text, want := range map[string]string{
		"one END two":  `"text":"one "},"model":"m","stopReason":"stopSequence"`,
		"one STOP END": `"text":"one "},"model":"m","stopReason":"stopSequence"`,
		"one two":      `"text":"one two"},"model":"m","stopReason":"endTurn"`,
	} {
		for _, letters := range []bool{false, true} {
			p := &scripted{turns: []providers.Turn{says(text)}, letters: letters}
			got := sampled(t, newSampling(p), `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":9,"stopSequences":["","END","STOP"]}`)
			if !strings.Contains(got, want) {
				t.Errorf("%s, single letters %v: %s", text, letters, got)
			}
		}
	}
	for stop, want := range map[providers.Stop]string{
		providers.StopLength: "maxTokens", providers.StopRefused: "refused", providers.StopWindow: "maxTokens",
	} {
		turn := says("so")
		turn.Stop = stop
		got := sampled(t, newSampling(&scripted{turns: []providers.Turn{turn}}), `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":9}`)
		if !strings.HasSuffix(got, `"stopReason":"`+want+`"}`) {
			t.Errorf("%s: %s", stop, got)
		}
	}
}

func TestSamplingRefuses(t *testing.T) {
	const user = `{"role":"user","content":{"type":"text","text":"a"}}`
	for params, want := range map[string]string{
		`null`:            "messages: expected at least one",
		`{"messages":[]}`: "messages: expected at least one",
		`{"messages":7}`:  "messages: expected an array, got a number",
		`{"messages":[{"role":"system","content":{"type":"text","text":"a"}}]}`:                        "messages[0]: role: expected user or assistant",
		`{"messages":[` + user + `,{"role":"assistant","content":{"type":"text","text":"a"}}]}`:        "the last of the user",
		`{"messages":[{"role":"user","content":"a"}]}`:                                                 "messages[0]: content: expected a block",
		`{"messages":[{"role":"user","content":{"type":"video"}}]}`:                                    `type: \"video\" is not valid in a message of role user`,
		`{"messages":[{"role":"assistant","content":{"type":"image","data":"AAAA"}}]}`:                 `type: \"image\" is not valid in a message of role assistant`,
		`{"messages":[{"role":"user","content":{"type":"image","data":"?"}}]}`:                         "messages[0]: content: expected a block",
		`{"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"x","content":[]}}]}`: `no tool_use with the id \"x\" precedes it`,
		`{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"x"}}]}`:                   "expected an id and a name",
		`{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"x","name":"n"}},{"role":"user","content":[{"type":"tool_result","toolUseId":"x","content":[]},{"type":"text","text":"b"}]}]}`: "must not have other blocks",
		`{"messages":[` + user + `],"tools":[{"description":"nameless"}]}`:                     "tools[0]: ",
		`{"messages":[` + user + `],"stopSequences":["a"` + strings.Repeat(`,"a"`, 100) + `]}`: "stopSequences: expected at most 100, got 101",
		`{"messages":[` + user + `],"toolChoice":{"mode":"maybe"}}`:                            "toolChoice.mode: expected auto, required or none",
	} {
		got := sampled(t, newSampling(&scripted{}), params)
		if !strings.HasPrefix(got, `{"code":-32602,"message":"`) || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

// A server does not learn which model the bridge asks, or why it failed.
func TestSamplingFails(t *testing.T) {
	const ask = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":9`
	p := &scripted{err: &providers.APIError{Status: 401, Type: "authentication_error", Message: "sk-s3cr3t is no key"}}
	if got, want := sampled(t, newSampling(p), ask+"}"), `{"code":-32603,"message":"the bridge's model failed (authentication_error)"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := sampled(t, newSampling(p), ask+`,"modelPreferences":{"hints":[{"name":"x"}]}}`); !strings.Contains(got, "model failed (internal)") {
		t.Errorf("without a model: %s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSampling(p).CreateMessage(ctx, []byte(ask+"}")); err == nil || err.Code != toolformat.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if got := sampled(t, newSampling(panicking{p}), ask+"}"); got != `{"code":-32603,"message":"internal error"}` {
		t.Errorf("a panic: %s", got)
	}
}

// panicking and silent are providers that do not answer.
type panicking struct{ *scripted }

func (panicking) Turn(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
	panic("no")
}

type silent struct{ *scripted }

func (silent) Turn(ctx context.Context, _ *providers.Request, _ func(providers.Event)) (*providers.Turn, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// The limits of requests at once, of requests per minute, and of time.
func TestSamplingLimits(t *testing.T) {
	const ask = `{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":9}`
	synctest.Test(t, func(t *testing.T) {
		s := newSampling(silent{&scripted{}}, func(o *serve.SamplingOptions) {
			o.AtOnce, o.PerMinute, o.Timeout = 1, 3, 10*time.Second
		})
		answers := make(chan string)
		begun := time.Now()
		for range 4 {
			go func() { answers <- sampled(t, s, ask) }()
		}
		var got []string
		for range 4 {
			got = append(got, fmt.Sprint(time.Since(begun), " ", <-answers))
		}
		all := strings.Join(got, "\n")
		if strings.Count(all, "the model took longer than 10s") != 3 || strings.Count(all, "too many sampling requests: at most 3 a minute") != 1 || time.Since(begun) != 10*time.Second {
			t.Errorf("after %s:\n%s", time.Since(begun), all)
		}
		time.Sleep(time.Minute)
		if got := sampled(t, s, ask); !strings.Contains(got, "took longer") {
			t.Errorf("a minute later: %s", got)
		}
	})
	p := &scripted{turns: []providers.Turn{says("a"), says("b")}}
	s := newSampling(p, func(o *serve.SamplingOptions) { o.MaxTokens = 7 })
	sampled(t, s, ask)
	sampled(t, s, strings.Replace(ask, `"maxTokens":9`, `"maxTokens":0`, 1))
	if a, b := p.requests[0].Settings.MaxTokens, p.requests[1].Settings.MaxTokens; a != 7 || b != 7 {
		t.Errorf("asked for %d and %d tokens", a, b)
	}
}

// Any request of a server ends in a result or an error that is JSON.
func FuzzSampling(f *testing.F) {
	for _, s := range []string{
		`{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":1,"tools":[{"name":"t","inputSchema":{}}]}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"n","input":{}}]},{"role":"user","content":{"type":"tool_result","toolUseId":"x","content":[{"type":"text"}]}}]}`,
		`{"messages":[{"role":"user","content":[]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		s := newSampling(&scripted{turns: []providers.Turn{says("so", call("a", "t", `"{"`))}})
		result, err := s.CreateMessage(t.Context(), params)
		switch {
		case err == nil && !json.Valid(result):
			t.Errorf("result %s", result)
		case err != nil && !json.Valid(err.Raw):
			t.Errorf("error %s", err.Raw)
		}
	})
}
