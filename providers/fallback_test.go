package providers_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// falls returns a task whose model has two fallbacks.
func falls(first, second, third *script) providers.Task {
	task := ask(first, "go")
	task.Request.Model = "a"
	task.Options.Fallbacks = []providers.Fallback{
		{Candidate: providers.Candidate{Provider: second, Model: "b"}, Settings: providers.Settings{MaxTokens: 7}},
		{Candidate: providers.Candidate{Provider: third, Model: "c", NoTools: true}},
	}
	return task
}

// Another model goes on with the tools and the conversation where one cannot be had, and it is said.
func TestFallbacks(t *testing.T) {
	for status, moves := range map[int]bool{0: true, 401: true, 402: true, 403: true, 404: true, 408: true, 429: true, 500: true, 503: true, 529: true, 400: false, 413: false, 422: false} {
		first := play(calls(call("1", "add", `{"a":1,"b":2}`)), fails(&providers.APIError{Status: status, Message: "no"}))
		second := play(says("3"))
		r, events, err := run(t, session(t, adder(t)), falls(first, second, play()))
		if !moves {
			if err == nil || len(second.requests) > 0 {
				t.Errorf("%d: %v, %+v", status, err, r)
			}
			continue
		}
		if err != nil || r.Text != "3" || !strings.Contains(events, "note script a failed: no") || !strings.Contains(events, ": script b goes on") {
			t.Errorf("%d: %v, %+v\n%s", status, err, r, events)
		}
		if q := second.request(0); q.Model != "b" || q.Settings.MaxTokens != 7 || q.Tools.Len() != 1 || len(q.Messages) != 3 {
			t.Errorf("%d: asked with %+v", status, q)
		}
	}
}

// The last model's error is that of the run; one of a request, or after output, is nobody else's to answer.
func TestFallbacksEnd(t *testing.T) {
	away := &providers.APIError{Status: 503, Message: "away"}
	last := errors.New("broken")
	if _, _, err := run(t, session(t), falls(play(fails(away)), play(fails(away)), play(fails(last)))); !errors.Is(err, last) {
		t.Errorf("%v", err)
	}
	said := func(_ context.Context, _ *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
		emit(providers.Event{Type: providers.EventTextDelta, Text: "so"})
		return &providers.Turn{Stop: providers.StopCut}, away
	}
	second := play(says("no"))
	if _, _, err := run(t, session(t), falls(play(said), second, play())); !errors.Is(err, away) || len(second.requests) > 0 {
		t.Errorf("after output: %v", err)
	}
	task := falls(play(), nil, nil)
	task.Options.Fallbacks[0].Provider = nil
	if _, _, err := run(t, session(t), task); err == nil {
		t.Error("a fallback without a provider is taken")
	}
}

// A fallback that has no tools stops a run that needs them, unless it may do without.
func TestFallbackWithoutTools(t *testing.T) {
	away := &providers.APIError{Status: 503, Message: "away"}
	task := falls(play(fails(away)), play(fails(away)), play(says("ok")))
	if _, _, err := run(t, session(t, adder(t)), task); !errors.Is(err, providers.ErrNoTools) {
		t.Errorf("%v", err)
	}
	third := play(says("ok"))
	task = falls(play(fails(away)), play(fails(away)), third)
	task.Options.Toolless = true
	if r, _, err := run(t, session(t, adder(t)), task); err != nil || r.Text != "ok" || third.request(0).Tools.Len() != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}

// Rules about models are asked about the one that goes on.
func TestFallbackAndRules(t *testing.T) {
	second := play(calls(call("1", "add", `{"a":1,"b":2}`)), says("3"))
	second.name = "spare"
	task := falls(play(fails(&providers.APIError{Status: 503, Message: "away"})), second, play())
	asked := ""
	task.Options.Policy = func(q *providers.Question) providers.Ruling {
		asked += q.Model
		return providers.Ruling{Verdict: providers.VerdictAllow}
	}
	if _, _, err := run(t, session(t, adder(t)), task); err != nil || asked != "spare/b" {
		t.Errorf("%v: asked about %q", err, asked)
	}
}

// A fallback without tools does not tell of the model of a conversation.
func TestFallbackAndConversation(t *testing.T) {
	first, second := play(fails(&providers.APIError{Status: 503, Message: "away"}), says("back")), play(says("ok"))
	c := talk(t, first).Tool(adder(t)).Options(providers.Options{Toolless: true, Fallbacks: []providers.Fallback{{Candidate: providers.Candidate{Provider: second, NoTools: true}}}})
	for _, want := range []string{"ok", "back"} {
		var err error
		if _, c, err = c.Prompt(t.Context(), "go"); err != nil || c.Run().Text != want {
			t.Fatalf("%q, %v", c.Run().Text, err)
		}
	}
	if first.request(1).Tools.Len() != 1 || second.request(0).Tools.Len() != 0 {
		t.Errorf("offered %d tools, the fallback %d", first.request(1).Tools.Len(), second.request(0).Tools.Len())
	}
}

// The last known list is offered to a fallback, too, if it cannot be read again.
func TestFallbackAndList(t *testing.T) {
	source := newStub(t, `{"name":"f","inputSchema":{"type":"object"}}`)
	s, err := providers.NewToolbox(source).Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	leaves := func(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
		source.err = errors.New("away")
		return nil, &providers.APIError{Status: 503, Message: "away"}
	}
	second := play(says("ok"))
	if r, _, err := run(t, s, falls(play(leaves), second, play())); err != nil || r.Text != "ok" || second.request(0).Tools.Len() != 1 {
		t.Errorf("%v: %+v", err, r)
	}
}
