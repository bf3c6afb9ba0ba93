package replay_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/openai"
	"github.com/mcpbridge/mcpbridge/providers/replay"
)

// A script plays the part of an API.
func ExampleOpen() {
	script, err := replay.Open("../testdata/example.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(script.Format())
	provider, err := script.Provider(func(h *http.Client) providers.Provider {
		return openai.NewChat(openai.Options{Client: providers.Client{HTTP: h}})
	})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "gpt-5.1",
		Messages: []providers.Message{providers.UserText("Add 2 and 3.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range turn.Message.Calls() {
		fmt.Println(call.Name, string(call.Arguments))
	}
	// Output:
	// openai
	// add {"a":2,"b":3}
}
