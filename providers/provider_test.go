package providers_test

import (
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A wordy provider gives tools to the models of another one, as package prompted does.
type wordy struct{ providers.Provider }

func (wordy) Name() string                { return "wordy" }
func (w wordy) Inner() providers.Provider { return w.Provider }

// Policies and prices know a model by the config's name of its provider, or by that of its API, also where its tools are
// described in words.
func TestProviderName(t *testing.T) {
	outer := func(p providers.Provider) providers.Provider { return wordy{p} }
	for _, c := range []struct {
		name, want string
		task       func(*script) providers.Task
	}{
		{"", "script", func(s *script) providers.Task { return ask(s, "go") }},
		{"work", "work", func(s *script) providers.Task { return ask(s, "go") }},
		{"", "script", func(s *script) providers.Task { return ask(outer(s), "go") }},
		{"work", "work", func(s *script) providers.Task { return ask(outer(s), "go") }},
		{"", "script", func(s *script) providers.Task {
			task := ask(s, "go")
			task.NoTools, task.Options.StandIn = true, outer
			return task
		}},
	} {
		task := c.task(play(calls(call("1", "add", `{"a":1,"b":2}`)), says("3")))
		task.Name, task.Request.Model = c.name, "m"
		var asked []string
		task.Options.Info = func(provider, model string) *providers.ModelInfo {
			asked = append(asked, provider+"/"+model)
			return &providers.ModelInfo{}
		}
		task.Options.Policy = func(q *providers.Question) providers.Ruling {
			asked = append(asked, q.Model)
			return providers.Ruling{Verdict: providers.VerdictAllow}
		}
		r, err := session(t, adder(t)).Run(t.Context(), task)
		if err != nil || r.Calls != 1 || len(asked) < 2 {
			t.Errorf("%v: %+v, %v", err, r, asked)
		}
		for _, id := range asked {
			if id != c.want+"/m" {
				t.Errorf("%q is asked about, want %s/m", asked, c.want)
				break
			}
		}
	}
	// So it is in a conversation.
	asked := ""
	policy := func(q *providers.Question) providers.Ruling {
		asked = q.Model
		return providers.Ruling{Verdict: providers.VerdictAllow}
	}
	talks := providers.NewConversation(providers.Candidate{Name: "work", Provider: play(calls(call("1", "add", `{"a":1,"b":2}`)), says("3")), Model: "m"}).
		Tool(adder(t)).Options(providers.Options{Policy: policy})
	defer talks.Close()
	if _, _, err := talks.Prompt(t.Context(), "go"); err != nil || asked != "work/m" {
		t.Errorf("%v: %s", err, asked)
	}
	// The one that goes on has a name of its own.
	task := falls(play(fails(&providers.APIError{Status: 503})), play(calls(call("1", "add", `{"a":1,"b":2}`)), says("3")), play())
	task.Name, task.Options.Fallbacks[0].Name = "first", "second"
	task.Options.Policy = policy
	if _, err := session(t, adder(t)).Run(t.Context(), task); err != nil || asked != "second/b" {
		t.Errorf("%v: %s", err, asked)
	}
}
