package local

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// currentTime returns the function CurrentTime, with Acorn's description. It ignores arguments,
// such as context that every tool gets.
func currentTime() bridge.Tool {
	return bridge.Tool{
		Tool: toolformat.Tool{
			Name:        "CurrentTime",
			Description: "Current date and time in ISO 8601 format",
			InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
		},
		Timeout:  defaultTimeout,
		ReadOnly: true,
		Call: func(context.Context, json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(time.Now().Format(time.RFC3339), false), nil
		},
	}
}
