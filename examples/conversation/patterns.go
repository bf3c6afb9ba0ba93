package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// function offers a function under its own name and description.
func (e *example) function(ctx context.Context) (err error) {
	c, end, err := e.newConversation("function.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	tool, err := bridge.Func("get_weather", "Get the current weather for a location.", getWeather)
	if err != nil {
		return err
	}
	messages, _, err := c.Tool(tool).Prompt(ctx, "What's the weather in Paris?")
	e.show(messages)
	return err
}

// definition offers a function with a schema written by hand.
func (e *example) definition(ctx context.Context) (err error) {
	c, end, err := e.newConversation("definition.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	tool := bridge.FuncOf(toolformat.Tool{
		Name:        "get_weather",
		Description: "Get the current weather for a location",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"location": {"type": "string"},
				"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}
			},
			"required": ["location"]
		}`),
	}, getWeather)
	messages, _, err := c.Tool(tool).Prompt(ctx, "What's the weather in Paris, in Fahrenheit?")
	e.show(messages)
	return err
}

// session offers two tools, which the model calls at once. It corrects the call that failed.
func (e *example) session(ctx context.Context) (err error) {
	c, end, err := e.newConversation("session.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	messages, _, err := c.
		Agent("You are a helpful assistant that can use tools.").
		Tools(getWeather, getTime).
		Prompt(ctx, "What's the weather in Paris and what time is it there?")
	e.show(messages)
	return err
}

// byHand defers the model's calls and answers them itself.
func (e *example) byHand(ctx context.Context) (err error) {
	c, end, err := e.newConversation("byhand.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	c = c.Tools(getWeather).
		Options(providers.Options{Policy: askAlways}).
		Approve(func(context.Context, *providers.Question) providers.Decision {
			return providers.Decision{Verdict: providers.VerdictDefer}
		})
	messages, c, err := c.Prompt(ctx, "What's the weather in Paris?")
	if err != nil {
		return err
	}
	e.show(messages)
	run, decisions := c.Run(), map[string]providers.Decision{}
	fmt.Fprintf(e.out, "(the run waits: %s)\n", run.Stop)
	for _, call := range run.WaitingCalls() {
		decisions[call.ID] = providers.Decision{Verdict: providers.VerdictAnswer, Result: toolformat.TextResult("Look out of the window.", false)}
	}
	messages, _, err = c.Resume(ctx, decisions)
	e.show(messages)
	return err
}

// limits bounds the time and the output of tools.
func (e *example) limits(ctx context.Context) (err error) {
	c, end, err := e.newConversation("limits.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	slow, err := bridge.Func("sleep", "Sleeps.", sleep)
	if err != nil {
		return err
	}
	slow.Timeout = 20 * time.Millisecond // the default is 5 s
	messages, _, err := c.Tools(slow, readBook).
		Options(providers.Options{Limits: providers.Limits{Output: 43}}). // the default is 10,000 characters
		Prompt(ctx, "Read the book and sleep over it.")
	e.show(messages)
	return err
}

// askAlways asks about each call.
func askAlways(*providers.Question) providers.Ruling {
	return providers.Ruling{Verdict: providers.VerdictAsk}
}
