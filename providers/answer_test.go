package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

const citySchema = `{"type":"object","properties":{"city":{"type":"string"},"people":{"type":"integer"}},"required":["city","people"]}`

// asking returns a task with an answer in a format.
func asking(p providers.Provider, f providers.AnswerFormat) providers.Task {
	task := ask(p, "Which city?")
	task.Request.System = "Be brief."
	task.Request.Settings.Answer = &f
	return task
}

// noAnswer is what a provider says that has no structured answers.
func noAnswer(tools bool) step {
	err := fmt.Errorf("%w: m", providers.ErrNoAnswer)
	if !tools {
		err = fmt.Errorf("%w: %w", err, providers.ErrNoTools)
	}
	return fails(err)
}

// A provider that takes the format is left to it.
func TestAnswerNatively(t *testing.T) {
	p := play(says(`{"city":"Rome"}`))
	r, events, err := run(t, session(t, adder(t)), asking(p, providers.AnswerFormat{Schema: json.RawMessage(citySchema)}))
	if err != nil || r.Text != `{"city":"Rome"}` || p.request(0).Settings.Answer == nil || p.request(0).System != "Be brief." || !strings.Contains(events, "text_delta") {
		t.Errorf("%v: %+v, asked with %+v", err, r, p.request(0))
	}
}

// Without structured answers the model must call a tool, and no one sees that it does.
func TestAnswerByTool(t *testing.T) {
	for _, refusal := range []error{
		fmt.Errorf("%w: m", providers.ErrNoAnswer),
		&providers.APIError{Status: 400, Message: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."},
		&providers.APIError{Status: 400, Message: "output_config.format: 'claude-3' does not support structured outputs"},
		&providers.APIError{Status: 400, Message: "Function calling with a response mime type: 'application/json' is unsupported"},
		&providers.APIError{Status: 400, Message: "This response_format type is unavailable now"},
	} {
		p := play(fails(refusal), calls(txt("Let me add."), call("1", "add", `{"a":1,"b":2}`), call("2", "final_answer", `{"city":"Oslo","people":1}`)),
			calls(txt("Here:"), call("3", "final_answer", `{"city":"Rome"}`)), calls(call("4", "final_answer", `{"city":"Rome","people":3}`)))
		r, events, err := run(t, session(t, adder(t)), asking(p, providers.AnswerFormat{Schema: json.RawMessage(citySchema)}))
		if err != nil || r.Text != `{"city":"Rome","people":3}` || r.Stop != providers.StopEnd {
			t.Fatalf("%v: %v, %+v", refusal, err, r)
		}
		if strings.Count(events, "text_delta") != 1 || !strings.Contains(events, `text_delta {"city":"Rome","people":3}`) || strings.Contains(events, "tool_call 3") {
			t.Errorf("events:\n%s", events)
		}
		q := p.request(1)
		if q.Settings.Answer != nil || q.Choice != providers.ChoiceRequired || q.Tools.Len() != 2 || q.Tools.Tools()[1].Name != "final_answer" || !strings.HasPrefix(q.System, "Be brief.\n\nWhen you have") {
			t.Errorf("asked with %+v", q)
		}
		if got := show(r.Messages); !strings.Contains(got, "not taken: call final_answer alone") || !strings.Contains(got, "[1 3]") || !strings.HasSuffix(got, "assistant: {\"city\":\"Rome\",\"people\":3}\n") {
			t.Errorf("the conversation:\n%s", got)
		}
	}
}

// With no other tools, and at a limit, that tool is the only one.
func TestAnswerForced(t *testing.T) {
	p := play(noAnswer(true), calls(call("1", "final_answer", `{"city":"Rome","people":3}`)))
	r, _, err := run(t, session(t), asking(p, providers.AnswerFormat{Schema: json.RawMessage(citySchema)}))
	if err != nil || r.Text != `{"city":"Rome","people":3}` || p.request(1).Choice != "final_answer" {
		t.Errorf("%v: %+v, choice %s", err, r, p.request(1).Choice)
	}
	p = play(noAnswer(true), calls(call("1", "add", `{"a":1,"b":2}`)), calls(call("2", "add", `{"a":1,"b":2}`)), calls(call("3", "final_answer", `{}`)))
	task := asking(p, providers.AnswerFormat{})
	task.Options.Limits = providers.Limits{Rounds: 1, Last: true}
	r, _, err = run(t, session(t, adder(t)), task)
	if err != nil || r.Text != `{}` || r.Stop != providers.StopRounds || p.request(3).Choice != "final_answer" {
		t.Errorf("%v: %+v, choice %s", err, r, p.request(3).Choice)
	}
}

// A model that thinks is left to call that tool by itself, wherever its settings say that it thinks.
func TestAnswerAfterThinking(t *testing.T) {
	for body, want := range map[string]providers.Choice{
		`{"thinking":{"type":"enabled","budget_tokens":2000}}`: providers.ChoiceAuto, `{"thinking":{"type":"disabled"}}`: "final_answer",
	} {
		p := play(noAnswer(true), calls(call("1", "final_answer", `{}`)))
		task := asking(p, providers.AnswerFormat{})
		task.Request.Settings.Body = json.RawMessage(body)
		if _, _, err := run(t, session(t), task); err != nil || p.request(1).Choice != want {
			t.Errorf("%s: %v, choice %q", body, err, p.request(1).Choice)
		}
	}
}

// A model that calls no tools is told in words, and once what is wrong.
func TestAnswerInWords(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{`{"city":"Rome","people":3}`, "", `{"city":"Rome","people":3}`},
		{"Sure:\n```json\n{\"city\":\"Rome\",\"people\":3}\n```\nDone.", "", `{"city":"Rome","people":3}`},
		{"Rome.", `{"city":"Rome","people":3}`, `{"city":"Rome","people":3}`},
		{"Rome.", "Still Rome.", ""},
		{`{"city":"Rome"}`, `{"city":"Rome","people":"many"}`, ""},
	} {
		p := play(noAnswer(false), says(c.first), says(c.second))
		format := providers.AnswerFormat{Schema: json.RawMessage(citySchema)}
		if c.want == "" { // an answer that must be right is an error, any other is the text as it is
			format.Checked = true
			_, events, err := run(t, session(t, adder(t)), asking(p, format))
			var e *providers.APIError
			if !errors.As(err, &e) || e.Type != "invalid_answer" || strings.Contains(events, "text_delta") {
				t.Errorf("%s: %v\n%s", c.first, err, events)
			}
			format.Checked, c.want = false, c.second
			p = play(noAnswer(false), says(c.first), says(c.second))
		}
		r, events, err := run(t, session(t, adder(t)), asking(p, format))
		if err != nil || r.Text != c.want || !strings.Contains(p.request(1).System, citySchema) || strings.Count(events, "text_delta") != 1 {
			t.Errorf("%s: %v, %+v\n%s", c.first, err, r, events)
		}
	}
	p := play(noAnswer(true), says("[1,2]"))
	r, _, err := run(t, session(t), asking(p, providers.AnswerFormat{Schema: json.RawMessage(`{"type":"array"}`)}))
	if err != nil || r.Text != "[1,2]" || p.request(1).Tools.Len() != 0 {
		t.Errorf("an array: %v, %+v", err, r)
	}
}

// A checked answer is held back and repaired from any provider.
func TestAnswerChecked(t *testing.T) {
	p := play(says(`{"city":"Rome"}`), says(`{"city":"Rome","people":3}`))
	r, events, err := run(t, session(t, adder(t)), asking(p, providers.AnswerFormat{Schema: json.RawMessage(citySchema), Checked: true}))
	if err != nil || r.Text != `{"city":"Rome","people":3}` || strings.Count(events, "text_delta") != 1 || p.request(1).Settings.Answer == nil {
		t.Errorf("%v: %+v\n%s", err, r, events)
	}
	_, _, err = run(t, session(t), asking(play(), providers.AnswerFormat{Schema: json.RawMessage(`7`), Checked: true}))
	if err == nil || !strings.HasPrefix(err.Error(), "response_format: the schema is not valid: ") {
		t.Errorf("a wrong schema: %v", err)
	}
}

// Other errors are not about the format.
func TestAnswerOtherErrors(t *testing.T) {
	for _, refusal := range []error{
		&providers.APIError{Status: 401, Message: "response_format"},
		&providers.APIError{Status: 400, Message: "the model does not exist"},
		errors.New("json_schema"),
	} {
		if _, _, err := run(t, session(t), asking(play(fails(refusal)), providers.AnswerFormat{})); !errors.Is(err, refusal) {
			t.Errorf("%v became %v", refusal, err)
		}
	}
}

func ExamplePromptFor() {
	type City struct {
		Name   string `json:"name"`
		People int    `json:"people"`
	}
	model := play(says(`{"name":"Rome","people":2800000}`)) // in a program: anthropic.New(…)
	c := providers.NewConversation(providers.Candidate{Provider: model, Model: "m"})
	city, _, err := providers.PromptFor[City](context.Background(), c, "What is the largest city of Italy?")
	fmt.Println(city.Name, city.People, err)
	// Output: Rome 2800000 <nil>
}

// An answer that is not an object is sent within one.
func TestPromptFor(t *testing.T) {
	p := play(says(`{"value":["a","b"]}`), says("c"))
	names, c, err := providers.PromptFor[[]string](t.Context(), providers.NewConversation(providers.Candidate{Provider: p}), "Names?")
	if err != nil || strings.Join(names, ",") != "a,b" {
		t.Fatalf("%v, %v", names, err)
	}
	if _, c, err = c.Prompt(t.Context(), "And?"); err != nil || p.request(1).Settings.Answer != nil || len(c.Messages()) != 4 {
		t.Errorf("%v: the next prompt has %+v", err, p.request(1).Settings)
	}
	p = play(turn(providers.StopPaused, txt("Let me search.")), says(`{"value":["a"]}`))
	if names, _, err = providers.PromptFor[[]string](t.Context(), providers.NewConversation(providers.Candidate{Provider: p}), "Names?"); err != nil || strings.Join(names, ",") != "a" {
		t.Errorf("after a pause: %v, %v", names, err)
	}
	if _, _, err := providers.PromptFor[chan int](t.Context(), c, "?"); err == nil || !strings.HasPrefix(err.Error(), "an answer of type chan int: ") {
		t.Errorf("a channel: %v", err)
	}
}

// What a model says in a turn that is no answer, such as why it refuses, is told although answers are held back.
func TestAnswerRefused(t *testing.T) {
	for _, stop := range []providers.Stop{providers.StopRefused, providers.StopLength} {
		p := play(noAnswer(true), turn(stop, txt("I cannot.")))
		r, events, err := run(t, session(t), asking(p, providers.AnswerFormat{}))
		if err != nil || r.Stop != stop || r.Text != "I cannot." || strings.Count(events, "text_delta I cannot.") != 1 {
			t.Errorf("%v: %+v\n%s", err, r, events)
		}
	}
	p := play(turn(providers.StopRefused, txt("I cannot.")))
	if _, events, err := run(t, session(t), asking(p, providers.AnswerFormat{Checked: true})); err != nil || strings.Contains(events, "text_delta") {
		t.Errorf("a checked answer: %v\n%s", err, events)
	}
	p = play(noAnswer(true), calls(txt("Let me add."), call("1", "add", `{"a":1,"b":2}`)))
	task := asking(p, providers.AnswerFormat{})
	task.Request.Choice = providers.ChoiceNone
	r, events, err := run(t, session(t, adder(t)), task)
	if err != nil || r.Text != "Let me add." || strings.Count(events, "text_delta Let me add.") != 1 {
		t.Errorf("%v: %+v\n%s", err, r, events)
	}
}

// A provider that refuses the tool for the answer too is asked in words.
func TestAnswerToolRefused(t *testing.T) {
	p := play(noAnswer(true), fails(&providers.APIError{Status: 400, Message: "Invalid schema for function 'final_answer': too deep"}), says(`{"city":"Rome","people":3}`))
	r, events, err := run(t, session(t, adder(t)), asking(p, providers.AnswerFormat{Schema: json.RawMessage(citySchema)}))
	if err != nil || r.Text != `{"city":"Rome","people":3}` || !strings.Contains(events, "note tool final_answer is left out, script refuses it: ") {
		t.Fatalf("%v after %d requests\n%s", err, len(p.requests), events)
	}
	if q := p.request(2); q.Tools.Len() != 1 || q.Choice != providers.ChoiceAuto || !strings.Contains(q.System, citySchema) {
		t.Errorf("asked with %+v", q)
	}
}
