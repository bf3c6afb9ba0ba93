package gemini_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/gemini"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// A provider asks a model for one turn. Here the API's answer is a fixed one.
func ExampleNew() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/json", `{
		"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello!"}]}, "finishReason": "STOP"}],
		"usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3}
	}`)}}
	provider := gemini.New(gemini.Options{APIKey: "sk-0123456789", Client: providers.Client{HTTP: transport.Client()}})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "gemini-3-pro",
		Messages: []providers.Message{providers.UserText("Say hello.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transport.Requests[0].URL)
	fmt.Println(turn.Message.Text(), turn.Stop, turn.Usage.Output)
	// Output:
	// https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse
	// Hello! end 3
}
