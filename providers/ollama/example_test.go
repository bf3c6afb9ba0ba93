package ollama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// A provider asks a model for one turn. Here the API's answer is a fixed one.
func ExampleNew() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/json", `{
		"message": {"role": "assistant", "content": "Hello!"}, "done": true, "done_reason": "stop",
		"prompt_eval_count": 10, "eval_count": 3
	}`)}}
	provider := ollama.New(ollama.Options{Client: providers.Client{HTTP: transport.Client()}})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "qwen3",
		Messages: []providers.Message{providers.UserText("Say hello.")},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(transport.Requests[0].URL)
	fmt.Println(turn.Message.Text(), turn.Stop, turn.Usage.Output)
	// Output:
	// http://127.0.0.1:11434/api/chat
	// Hello! end 3
}
