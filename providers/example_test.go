package providers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/replay"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

func newAdd() (bridge.Tool, error) {
	return bridge.Func("add", "Adds two numbers.", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil })
}

// recorded is a provider that answers from a recording. The real one would be
//
//	openai.NewChat(openai.Options{APIKey: key})
func recorded() (providers.Provider, error) {
	script, err := replay.Open("testdata/example.jsonl")
	if err != nil {
		return nil, err
	}
	return script.Provider(func(h *http.Client) providers.Provider {
		return openai.NewChat(openai.Options{Client: providers.Client{HTTP: h}})
	})
}

// A Toolbox gives the tools of a source, here a function, to a model.
func ExampleNewToolbox() {
	ctx := context.Background()
	add, err := newAdd()
	if err != nil {
		log.Fatal(err)
	}
	source, err := bridge.NewNative(bridge.NativeOptions{}, add)
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	model, err := recorded()
	if err != nil {
		log.Fatal(err)
	}

	loop, err := providers.NewToolbox(source).Open(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	run, err := loop.Run(ctx, providers.Task{
		Provider: model,
		Request:  providers.Request{Model: "gpt-5.1", Messages: []providers.Message{providers.UserText("Add 2 and 3.")}},
		Options:  providers.Options{Limits: providers.Limits{Rounds: 5}},
		Emit: func(e providers.Event) {
			switch e.Type {
			case providers.EventToolCall:
				fmt.Println("call", e.Call.Name, string(e.Call.Arguments))
			case providers.EventToolResult:
				fmt.Println("result", e.Result.Text(true))
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Text)
	fmt.Println(run.Stop, run.Turns, "turns", run.Usage.Input, "tokens read")
	// Output:
	// call add {"a":2,"b":3}
	// result 5
	// 2 + 3 = 5
	// end 2 turns 100 tokens read
}

// A conversation with several candidates uses the first that supports tools, unless one of
// them is Anthropic's. Each Prompt returns a new conversation.
func ExampleNewConversation() {
	add, err := newAdd()
	if err != nil {
		log.Fatal(err)
	}
	model, err := recorded()
	if err != nil {
		log.Fatal(err)
	}
	c := providers.NewConversation(
		providers.Candidate{Provider: model, Model: "text-only", NoTools: true},
		providers.Candidate{Provider: model, Model: "gpt-5.1"},
	).Tool(add)
	defer c.Close()
	messages, next, err := c.Prompt(context.Background(), "Add 2 and 3.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(messages), "new messages with", next.Transcript().Model)
	fmt.Println(next.Run().Text)
	// Output:
	// 4 new messages with gpt-5.1
	// 2 + 3 = 5
}

// A ToolSet converts tools to the format of a provider, and arguments back.
func ExampleNewToolSet() {
	set := providers.NewToolSet([]toolformat.Tool{{
		Name:        "weather.now",
		Description: "The weather of a city.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}})
	const format = toolformat.FormatOpenAI
	wire := set.WireName(format, "weather.now")
	fmt.Println(wire, "is", set.OwnName(format, wire))

	arguments, err := set.Arguments(format, &providers.Call{Name: "weather.now", Arguments: json.RawMessage(`{"city":"Rome"}`)})
	fmt.Println(string(arguments), err)
	_, err = set.Arguments(format, &providers.Call{Name: "weather.now", Arguments: json.RawMessage(`{}`)})
	fmt.Println(err)
	// Output:
	// weather_now_700b5356 is weather.now
	// {"city":"Rome"} <nil>
	// invalid arguments for tool weather_now_700b5356: missing required property "city"
}

// A Memory is a Store for tests and short-lived programs; package history has one in a file.
func ExampleMemory() {
	ctx := context.Background()
	var store providers.Memory
	t := &providers.Transcript{Heading: providers.Heading{ID: "1", Title: "Weather"}}
	if err := store.Save(ctx, t); err != nil {
		log.Fatal(err)
	}
	headings, err := store.List(ctx, 10)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(headings[0].Title)
	// Output: Weather
}
