package history_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/history"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := history.Open(ctx, filepath.Join(dir, "history.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	// In a program the transcript is that of a Conversation.
	saved := &providers.Transcript{Heading: providers.Heading{ID: "1", Title: "Greetings"}}
	saved.Messages = []providers.Message{providers.UserText("Say hello.")}
	if err := store.Save(ctx, saved); err != nil {
		log.Fatal(err)
	}
	loaded, err := store.Load(ctx, "1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(loaded.Title, len(loaded.Messages))
	// Output: Greetings 1
}
