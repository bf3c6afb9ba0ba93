package prompted_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/ollama"
	"github.com/mcpbridge/mcpbridge/providers/prompted"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A model without native tool calling writes its calls as text.
func ExampleNew() {
	transport := &providertest.Transport{Answers: []providertest.Answer{providertest.NewAnswer("application/x-ndjson",
		`{"message": {"role": "assistant", "content": "Let me look.\n<tool_call>{\"name\": \"get_time\", \"argu"}}
		{"message": {"role": "assistant", "content": "ments\": {\"city\": \"Rome\"}}</tool_call>"}, "done": true}`)}}
	inner := ollama.New(ollama.Options{Client: providers.Client{HTTP: transport.Client()}})
	provider := prompted.New(inner, prompted.Options{})
	turn, err := provider.Turn(context.Background(), &providers.Request{
		Model:    "gemma3",
		Messages: []providers.Message{providers.UserText("What time is it in Rome?")},
		Tools:    providers.NewToolSet([]toolformat.Tool{{Name: "get_time", InputSchema: []byte(`{"type":"object"}`)}}),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", turn.Message.Text())
	call := turn.Message.Calls()[0]
	fmt.Println(turn.Stop, call.Name, string(call.Arguments))
	// Output:
	// "Let me look.\n"
	// tool_calls get_time {"city": "Rome"}
}
