package anthropic_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/anthropic"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// A provider asks a model for one turn. Here the API's answer is a fixed one.
func ExampleNew() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/json", `{
		"type": "message", "role": "assistant", "stop_reason": "end_turn",
		"content": [{"type": "text", "text": "Hello!"}], "usage": {"input_tokens": 10, "output_tokens": 3}
	}`)}}
	provider := anthropic.New(anthropic.Options{APIKey: "sk-0123456789", Client: providers.Client{HTTP: transport.Client()}})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "claude-sonnet-4-5",
		Messages: []providers.Message{providers.UserText("Say hello.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transport.Requests[0].URL)
	fmt.Println(turn.Message.Text(), turn.Stop, turn.Usage.Output)
	// Output:
	// https://api.anthropic.com/v1/messages
	// Hello! end 3
}
