package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/providers"
)

// continuations asks about two cities in turn; then it goes back to the first answer and asks
// something else.
func (e *example) continuations(ctx context.Context) (err error) {
	c, end, err := e.newConversation("conversation.jsonl")
	if err != nil {
		return err
	}
	defer end(&err)
	c = c.Agent("You are a helpful assistant.").Tools(getWeather) // just pass the function
	messages, afterParis, err := c.Prompt(ctx, "What's the weather in Paris?")
	if err != nil {
		return err
	}
	e.show(messages)
	messages, afterLondon, err := afterParis.Prompt(ctx, "What about London?")
	if err != nil {
		return err
	}
	e.show(messages)
	messages, other, err := afterParis.Prompt(ctx, "Do I need a coat?") // does not include London
	if err != nil {
		return err
	}
	e.show(messages)
	fmt.Fprintf(e.out, "messages: %d after Paris, %d after London, %d after the coat\n",
		len(afterParis.Messages()), len(afterLondon.Messages()), len(other.Messages()))

	saved, err := json.Marshal(afterLondon.Transcript())
	if err != nil {
		return err
	}
	var loaded providers.Transcript
	if err := json.Unmarshal(saved, &loaded); err != nil {
		return err
	}
	messages, _, err = c.Load(&loaded).Prompt(ctx, "Which of the two is warmer?")
	if err != nil {
		return err
	}
	e.show(messages)
	return nil
}
