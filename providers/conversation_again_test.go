package providers_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
)

// A prompt that failed can be sent again: it is in the conversation once. One that the provider
// refused does not stay before the next one.
func TestPromptAgain(t *testing.T) {
	overloaded := &providers.APIError{Status: 529, Message: "overloaded", Again: true}
	refusal := &providers.APIError{Status: 400, Message: "no such image"}
	brokeOff := func(context.Context, *providers.Request, func(providers.Event)) (*providers.Turn, error) {
		m := providers.Message{Role: providers.RoleAssistant, Parts: []providers.Part{txt("half")}}
		return &providers.Turn{Message: m, Stop: providers.StopCut}, refusal
	}
	for name, c := range map[string]struct {
		failing     step
		first, next string
		want        string
	}{
		"the same":                      {fails(overloaded), "go", "go", "user: go\nassistant: done"},
		"the same, refused":             {fails(refusal), "go", "go", "user: go\nassistant: done"},
		"the same, failed otherwise":    {fails(errors.New("no network")), "go", "go", "user: go\nassistant: done"},
		"the same, broken off":          {brokeOff, "go", "go", "user: go\nassistant: done"},
		"another one":                   {fails(overloaded), "go", "please", "user: go\nuser: please\nassistant: done"},
		"another one after a refusal":   {fails(refusal), "go", "please", "user: please\nassistant: done"},
		"another one, after half":       {brokeOff, "go", "please", "user: go\nassistant: half\nuser: please\nassistant: done"},
		"none":                          {fails(refusal), "go", "", "user: go\nassistant: done"},
		"the same that was answered":    {says("yes"), "go", "go", "user: go\nassistant: yes\nuser: go\nassistant: done"},
		"the same after calls that ran": {calls(call("1", "add", `{"a":1,"b":1}`)), "go", "go", "user: go\nassistant: [1 add {\"a\":1,\"b\":1}]\ntool: [1 2]\nuser: go\nassistant: done"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []step{says("hello"), c.failing}
			if name == "the same after calls that ran" {
				steps = append(steps, fails(overloaded))
			}
			_, talked, err := talk(t, play(append(steps, says("done"))...), adder(t)).Prompt(t.Context(), "hi")
			if err != nil {
				t.Fatal(err)
			}
			_, talked, _ = talked.Prompt(t.Context(), c.first)
			added, talked, err := talked.Prompt(t.Context(), c.next)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "messages", show(talked.Messages()), "user: hi\nassistant: hello\n"+c.want)
			if c.next != "" && (len(added) != 2 || added[0].Text() != c.next) {
				t.Errorf("it added\n%s", show(added))
			}
		})
	}
}

// A conversation that is saved and loaded knows that its last prompt failed.
func TestPromptAgainAfterLoad(t *testing.T) {
	p := play(fails(errors.New("no network")), says("done"))
	_, failed, err := talk(t, p).Prompt(t.Context(), "go")
	if err == nil {
		t.Fatal("no error")
	}
	_, again, err := talk(t, p).Load(failed.Transcript()).Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "messages", show(again.Messages()), "user: go\nassistant: done")
}
