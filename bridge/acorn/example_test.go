package acorn_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/acorn"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func ExampleNewStore() {
	function := func(name string, hidden []string, call func(arguments json.RawMessage) string) *bridge.Tool {
		return &bridge.Tool{Tool: toolformat.Tool{Name: name}, Hidden: hidden, Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(call(arguments), false), nil
		}}
	}
	save := function(acorn.SaveFunction, []string{"chatid"}, func(arguments json.RawMessage) string {
		var m struct{ Role, Content, ChatID string }
		fmt.Println(json.Unmarshal(arguments, &m), m.ChatID, m.Role, m.Content)
		return "{}"
	})
	load := function(acorn.LoadFunction, nil, func(json.RawMessage) string {
		return `[{"role":"assistant","content":"Hello."},{"role":"user","content":"Hi!"}]` // newest first
	})
	store, err := acorn.NewStore(acorn.Options{}, save, load)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	caller := &bridge.Caller{HiddenValue: func(name string) ([]byte, bool) { return []byte(`"7"`), name == "chatid" }}
	fmt.Println(store.Save(context.Background(), caller, acorn.Message{Role: "user", Content: "Hi!"}))
	messages, err := store.Load(context.Background(), caller, 10)
	for _, m := range messages {
		fmt.Println(m.Role, m.Content)
	}
	fmt.Println(err)
	// Output:
	// <nil> 7 user Hi!
	// <nil>
	// user Hi!
	// assistant Hello.
	// <nil>
}
