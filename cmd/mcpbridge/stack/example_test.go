package stack_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
)

// A program loads the file that the command mcpbridge loads. The stack can be opened, as here, or
// given to mcpserver.New or providers.NewToolbox.
func Example() {
	cfg, err := config.Load("testdata/mcpbridge.json")
	if err != nil {
		log.Fatal(err) // every mistake in the file, by line
	}
	st, err := stack.New(cfg, stack.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()

	ctx := context.Background()
	session, err := st.Open(ctx, &bridge.Caller{ID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	tools, err := session.List(ctx, bridge.Tools)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools.Items {
		fmt.Println(tool.Key)
	}
	// Output:
	// CurrentTime
	// greet
}

// A model can be chosen without a stack.
func ExampleModels_Choose() {
	cfg, err := config.Loader{}.Parse("mcpbridge.json", []byte(`{
		"providers": { "local": { "type": "ollama", "model": "small" } }
	}`))
	if err != nil {
		log.Fatal(err)
	}
	model, err := stack.NewModels(cfg).Choose(stack.Choice{Model: "large"}, true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Name, model.Model)
	// Output: local large
}
