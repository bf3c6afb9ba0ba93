package providers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

type placeIn struct {
	Location string `json:"location"`
}

// getWeather is the tool of the scenario.
func getWeather(_ context.Context, in placeIn) (string, error) {
	return "Weather in " + in.Location + ": Sunny, 72°F", nil
}

// The scenario of fluent-llm's design: a function is a tool, and the conversation continues.
func ExampleConversation() {
	model := play( // a real provider in a program
		calls(call("toolu_1", "getWeather", `{"location":"Paris"}`)), says("It is sunny in Paris."),
		calls(call("toolu_2", "getWeather", `{"location":"London"}`)), says("In London too."),
	)
	llm := providers.NewConversation(providers.Candidate{Provider: model, Model: "some-model"})
	defer llm.Close()

	messages, continuation, err := llm.
		Agent("You are a helpful assistant").
		Tools(getWeather).
		Prompt(context.Background(), "What's the weather in Paris?")
	fmt.Print(show(messages), err, "\n")

	final, _, err := continuation.Prompt(context.Background(), "What about London?")
	fmt.Print(show(final), err, "\n")
	// Output:
	// user: What's the weather in Paris?
	// assistant: [toolu_1 getWeather {"location":"Paris"}]
	// tool: [toolu_1 Weather in Paris: Sunny, 72°F]
	// assistant: It is sunny in Paris.
	// <nil>
	// user: What about London?
	// assistant: [toolu_2 getWeather {"location":"London"}]
	// tool: [toolu_2 Weather in London: Sunny, 72°F]
	// assistant: In London too.
	// <nil>
}

// talk returns a conversation with a script.
func talk(t *testing.T, p *script, tools ...any) *providers.Conversation {
	c := providers.NewConversation(providers.Candidate{Provider: p, Model: "m"}).Tools(tools...)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Every round is kept, and two continuations are independent.
func TestContinuations(t *testing.T) {
	p := play(calls(call("1", "add", `{"a":1,"b":1}`)), calls(call("2", "add", `{"a":2,"b":2}`)), says("4"), says("left"), says("right"))
	c := talk(t, p, adder(t))
	first, next, err := c.Prompt(t.Context(), "go")
	if err != nil || len(c.Messages()) != 0 {
		t.Fatal(err)
	}
	whole := show(next.Messages())
	same(t, "messages", whole, `
		user: go
		assistant: [1 add {"a":1,"b":1}]
		tool: [1 2]
		assistant: [2 add {"a":2,"b":2}]
		tool: [2 4]
		assistant: 4`)
	_, left, err := next.Prompt(t.Context(), "L")
	if err != nil {
		t.Fatal(err)
	}
	_, right, err := next.Prompt(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "left", show(left.Messages()), whole+"user: L\nassistant: left")
	same(t, "right", show(right.Messages()), whole+"user: R\nassistant: right")
	same(t, "the turn", show(first), whole)
	same(t, "request", show(p.request(4).Messages), whole+"user: R")
}

func TestContinuationsAtOnce(t *testing.T) {
	var steps []step
	for range 100 {
		steps = append(steps, calls(call("1", "add", `{"a":1,"b":1}`)))
	}
	c := talk(t, play(says("hello")), adder(t))
	_, c, err := c.Prompt(t.Context(), "hi")
	if err != nil {
		t.Fatal(err)
	}
	c = c.Provider(play(steps...)).Options(providers.Options{Limits: providers.Limits{Rounds: 2}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			messages, next, err := c.Prompt(t.Context(), "go")
			if err != nil || len(messages) != 7 || len(next.Messages()) != 9 {
				t.Errorf("%v\n%s", err, show(messages))
			}
		})
	}
	all.Wait()
	if len(c.Messages()) != 2 {
		t.Error(show(c.Messages()))
	}
}

func TestPromptWithoutText(t *testing.T) {
	broken := errors.New("no network")
	p := play(fails(broken), says("hello"), says("and more"))
	c := talk(t, p)
	messages, next, err := c.Prompt(t.Context(), "hi")
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	same(t, "after the error", show(messages), "user: hi")
	messages, next, err = next.Prompt(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "again", show(messages), "assistant: hello")
	messages, next, err = next.Prompt(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "goes on", show(messages), "user: Continue.\nassistant: and more")
	same(t, "all", show(next.Messages()), "user: hi\nassistant: hello\nuser: Continue.\nassistant: and more")
	if _, _, err := c.Prompt(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no messages:") {
		t.Errorf("nothing to go on with: %v", err)
	}
	image := providers.Part{Type: providers.PartImage, Data: []byte{1}, MimeType: "image/png"}
	p.steps = []step{says("a cat")}
	if messages, _, err = next.Send(t.Context(), txt("what is it?"), image); err != nil || !strings.HasPrefix(show(messages), "user: what is it? <image>\n") {
		t.Errorf("%v\n%s", err, show(messages))
	}
}

func TestModels(t *testing.T) {
	plain, tiny, claude, other := play(), play(), play(), play()
	plain.name, tiny.name, claude.name, other.name = "ollama", "openai", "anthropic", "gemini"
	all := []providers.Candidate{{Provider: tiny, Model: "tiny", NoTools: true}, {Provider: plain, Model: "qwen"}, {Provider: claude, Model: "haiku"}, {Provider: claude, Model: "opus"}}
	for _, c := range []struct {
		candidates []providers.Candidate
		tools      bool
		want       string
	}{
		{all, false, "tiny"},
		{all, true, "haiku"},
		{all[:2], true, "qwen"},
		{all[:1], true, "tiny"},
		{nil, true, "error: no model to ask: configure a provider, or name one"},
		{[]providers.Candidate{{Model: "m"}}, false, "error: candidate 1 has no provider"},
	} {
		got, err := providers.Choose(c.candidates, c.tools)
		if err != nil {
			got.Model = "error: " + err.Error()
		}
		if got.Model != c.want {
			t.Errorf("%d candidates, tools %v: %s, want %s", len(c.candidates), c.tools, got.Model, c.want)
		}
	}
	for _, c := range []struct {
		name string
		make func(*providers.Conversation) *providers.Conversation
		want string
	}{
		{"nothing said", func(c *providers.Conversation) *providers.Conversation { return c }, "openai tiny"},
		{"with tools", func(c *providers.Conversation) *providers.Conversation { return c.Tool(getWeather) }, "anthropic haiku"},
		{"a model", func(c *providers.Conversation) *providers.Conversation { return c.Model("opus").Tool(getWeather) }, "anthropic opus"},
		{"a provider", func(c *providers.Conversation) *providers.Conversation { return c.Tool(getWeather).Provider(plain) }, "ollama qwen"},
		{"a provider and a model", func(c *providers.Conversation) *providers.Conversation { return c.Provider(claude).Model("sonnet") }, "anthropic sonnet"},
		{"another provider", func(c *providers.Conversation) *providers.Conversation { return c.Provider(other).Model("flash") }, "gemini flash"},
		{"a model that nobody lists", func(c *providers.Conversation) *providers.Conversation { return c.Model("new") }, "openai new"},
	} {
		for _, p := range []*script{plain, tiny, claude, other} {
			p.steps, p.requests = []step{says("ok"), says("ok")}, nil
		}
		conv := c.make(providers.NewConversation(all...))
		_, next, err := conv.Prompt(t.Context(), "hi")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, next, err = next.Tool(describe).Options(providers.Options{Toolless: true}).Prompt(t.Context(), "more"); err != nil { // the same throughout
			t.Errorf("%s: %v", c.name, err)
		}
		if h := next.Transcript().Heading; h.Provider+" "+h.Model != c.want {
			t.Errorf("%s: %s %s, want %s", c.name, h.Provider, h.Model, c.want)
		}
		conv.Close()
	}
	for name, c := range map[string]*providers.Conversation{
		"the provider is nil":  providers.NewConversation(all...).Provider(nil),
		"no model to ask: con": providers.NewConversation().Model("x"),
		"no model to ask":      providers.NewConversation(),
	} {
		var l listener
		if _, _, err := c.Listen(l.hear).Prompt(t.Context(), "hi"); err == nil || !strings.HasPrefix(err.Error(), name) || l.String() != "error "+err.Error()+"\n" {
			t.Errorf("%v\n%s", err, &l)
		}
	}
}

// A conversation that switches to another provider keeps its text and calls; raw items only go
// to the provider that sent them.
func TestMove(t *testing.T) {
	first, second := play(calls(call("1", "add", `{"a":1,"b":1}`)), says("2")), play(says("hello"))
	second.name = "other"
	_, next, err := talk(t, first, adder(t)).Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, next, err = next.Provider(second).Model("big").Prompt(t.Context(), "and you?"); err != nil {
		t.Fatal(err)
	}
	req := second.request(0)
	if req.Model != "big" || len(req.Messages) != 5 || req.Messages[1].Raw.Of("other") != nil || req.Messages[1].Raw.Of("script") == nil {
		t.Errorf("%+v", req)
	}
	if got := next.Transcript().Heading; got.Provider != "other" || got.Model != "big" || got.Title != "go" || got.ID == "" {
		t.Errorf("%+v", got)
	}
}

// The title is what the user has said, unless that is only a file.
func TestTitle(t *testing.T) {
	file, words := providers.Part{Type: providers.PartText, Name: "a.txt", Text: "<file>\nmilk\n</file>"}, providers.Part{Type: providers.PartText, Text: "What is it?\nSay."}
	for want, parts := range map[string][]providers.Part{"What is it?": {file, words}, "<file>": {file}} {
		_, next, err := talk(t, play(says("Food.")), adder(t)).Send(t.Context(), parts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := next.Transcript().Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type widget struct{}

func (widget) Spin(context.Context, none) (int, error)   { return 1, nil }
func help(context.Context, none) (string, error)         { return "", nil }
func shape(in placeIn) string                            { return in.Location }
func text(context.Context, string) (string, error)       { return "", nil }
func describe(context.Context, placeIn) (placeIn, error) { return placeIn{"here"}, nil }

type word string

func name(context.Context, none) (word, error)            { return "it", nil }
func list(context.Context, none) ([]string, error)        { return nil, nil }
func table(context.Context, none) (map[string]int, error) { return nil, nil }
func refuse(context.Context, none) (*placeIn, error)      { return nil, errors.New("not today") }
func whole(context.Context, none) (*toolformat.Result, error) {
	return toolformat.TextResult("whole", true), nil
}

// A function's results are converted as by bridge.Func.
func TestFunctionResults(t *testing.T) {
	p := play(calls(call("1", "name", "{}"), call("2", "list", "{}"), call("3", "table", "{}"), call("4", "refuse", "{}"), call("5", "whole", "{}")), says("ok"))
	_, next, err := talk(t, p, name, list, table, refuse, whole).Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "results", show(next.Messages()[2:3]), "tool: [1 it] [2 []] [3 {}] [4 Error: not today] [5 Error: whole]")
	tools := p.request(0).Tools
	if a, b, c := tools.Find("name"), tools.Find("list"), tools.Find("refuse"); a.OutputSchema != nil || b.OutputSchema == nil || c.OutputSchema == nil {
		t.Errorf("output schemas: %s, %s, %s", a.OutputSchema, b.OutputSchema, c.OutputSchema)
	}
}

// What can be added to a conversation as a tool, and the errors for anything else.
func TestTools(t *testing.T) {
	fake := sourcetest.NewFake()
	p := play(calls(call("1", "Spin", "{}"), call("2", "describe", `{"location":"x"}`), call("3", "echo", `{"x":1}`), call("4", "add", `{"a":1,"b":1}`)), says("ok"))
	var l listener
	c := providers.NewConversation(providers.Candidate{Provider: p}).Tools(fake, widget{}.Spin, describe).Tool(adder(t)).Listen(l.hear)
	_, next, err := c.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "results", strings.ReplaceAll(show(next.Messages()[2:3]), "] [", "]\n["), `
		tool: [1 1]
		[2 {"location":"here"}]
		[3 {"x":1}]
		[4 2]`)
	if !strings.Contains(l.String(), "note tool Spin has no description") || p.request(0).Tools.Find("Spin").Description != "Tool: Spin" {
		t.Error(l.String())
	}
	if n := fake.Sessions(); n != 1 {
		t.Errorf("%d sessions are open", n)
	}
	p.steps = []step{says("again")}
	if _, next, err = next.Prompt(t.Context(), "go"); err != nil || fake.Sessions() != 1 || strings.Count(l.String(), "no description") != 2 {
		t.Errorf("%v, %d sessions\n%s", err, fake.Sessions(), &l)
	}
	p.steps = []step{says("again")}
	if err = c.Close(); err != nil || fake.Sessions() != 0 {
		t.Errorf("%v, %d sessions are open after Close", err, fake.Sessions())
	}
	if _, _, err = next.Prompt(t.Context(), "go"); err != nil || fake.Sessions() != 1 {
		t.Errorf("after Close: %v, %d sessions", err, fake.Sessions())
	}
	p.steps = []step{says("again")}
	if _, _, err = next.Caller(&bridge.Caller{}).Prompt(t.Context(), "go"); err != nil || strings.Count(l.String(), "no description") != 2 {
		t.Errorf("for another caller: %v\n%s", err, &l)
	}
	c.Close()

	closure := func(context.Context, none) (string, error) { return "", nil }
	for _, c := range []struct {
		tool any
		want string
	}{
		{help, `tool name "help" is reserved for a chat command`},
		{bridge.Tool{Tool: toolformat.Tool{Name: "exit"}}, `tool name "exit" is reserved`},
		{closure, "an anonymous function is not a tool: name it with bridge.Func"},
		{shape, "function shape is a func(providers_test.placeIn) string: expected a func(context.Context, In) (Out, error)"},
		{text, "function text: argument of type string: expected a struct with a field for each argument"},
		{nil, "a <nil> is not a tool: expected a function, a bridge.Tool or a bridge.Source"},
		{7, "a int is not a tool"},
		{bridge.Tool{Tool: toolformat.Tool{Name: "hollow"}}, "opening the tools: bridge: tool hollow: Call is nil"},
	} {
		if _, _, err := talk(t, play(), c.tool, getWeather).Prompt(t.Context(), "hi"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}

// The caller's hidden values reach the tools, and never a model.
func TestCallerContext(t *testing.T) {
	tool, err := bridge.Func("orders", "Lists orders.", func(_ context.Context, in struct {
		Customer int `json:"customerid"`
	}) (string, error) {
		return fmt.Sprint("orders of ", in.Customer), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tool.Hidden = []string{"customerid"}
	p := play(calls(call("1", "orders", `{}`)), calls(call("2", "orders", `{"customerid":8}`)), says("ok"))
	c := talk(t, p, tool).Caller(&bridge.Caller{HiddenValue: func(name string) ([]byte, bool) { return []byte("7"), strings.EqualFold(name, "customerid") }})
	_, next, err := c.Prompt(t.Context(), "go")
	if err != nil || strings.Contains(string(p.request(0).Tools.Encoded(p.Format()).JSON()), "customerid") {
		t.Error(err)
	}
	if got := show(next.Messages()); !strings.Contains(got, "[1 orders of 7]") || strings.Contains(got, "orders of 8") {
		t.Error(got)
	}
}

// The settings of a conversation apply to each turn.
func TestSettings(t *testing.T) {
	p := play(calls(call("1", "add", `{"a":1,"b":1}`)), says("2"), says("bye"))
	c := talk(t, p, adder(t)).Settings(providers.Settings{MaxTokens: 7, Body: []byte(`{"seed":1}`)})
	_, next, err := c.Prompt(t.Context(), "go")
	if err == nil {
		_, _, err = next.Prompt(t.Context(), "bye")
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if got := p.request(i).Settings; got.MaxTokens != 7 || string(got.Body) != `{"seed":1}` {
			t.Errorf("turn %d: %+v", i, got)
		}
	}
}
