package openai_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// A provider asks a model for one turn. Here the API's answer is a fixed one.
func ExampleNewChat() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/json", `{
		"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}, "finish_reason": "stop"}],
		"usage": {"prompt_tokens": 10, "completion_tokens": 3}
	}`)}}
	provider := openai.NewChat(openai.Options{APIKey: "sk-0123456789", Client: providers.Client{HTTP: transport.Client()}})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "gpt-5.1",
		Messages: []providers.Message{providers.UserText("Say hello.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transport.Requests[0].URL)
	fmt.Println(turn.Message.Text(), turn.Stop, turn.Usage.Output)
	// Output:
	// https://api.openai.com/v1/chat/completions
	// Hello! end 3
}

// A provider asks a model for one turn. Here the API's answer is a fixed one.
func ExampleNewResponses() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/json", `{
		"status": "completed", "usage": {"input_tokens": 10, "output_tokens": 3},
		"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello!"}]}]
	}`)}}
	provider := openai.NewResponses(openai.Options{APIKey: "sk-0123456789", Client: providers.Client{HTTP: transport.Client()}})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "gpt-5.1",
		Messages: []providers.Message{providers.UserText("Say hello.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transport.Requests[0].URL)
	fmt.Println(turn.Message.Text(), turn.Stop, turn.Usage.Output)
	// Output:
	// https://api.openai.com/v1/responses
	// Hello! end 3
}
