package config_test

import (
	"fmt"

	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Every mistake is reported with its place and the nearest known word.
func ExampleLoader_Parse() {
	_, err := config.Loader{}.Parse("mcpbridge.json", []byte(`{
		"mcpServers": {
			"docs": { "comand": "npx", "args": ["-y", "docs-server"] }
		},
		"limits": { "sessions": "many" }
	}`))
	fmt.Println(err)
	// Output:
	// mcpbridge.json:3:14: mcpServers.docs: unknown key "comand" (did you mean "command"?)
	// mcpbridge.json:5:27: limits.sessions: expected a positive integer (omit the key for the default), got a string
}
