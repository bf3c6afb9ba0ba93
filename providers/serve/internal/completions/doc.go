// Package completions is OpenAI's Chat Completions ("Create chat completion" in its API reference).
//
// request.go reads requests: content.go the content of messages, parameter.go what tunes the answer,
// choice.go which tools may be called, and legacy.go functions, which were before tools. answer.go writes
// responses.
package completions

import (
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// API is the API. It implements endpoint.API.
type API struct{}

// Read implements endpoint.API.
func (API) Read(body []byte, _ func(string) json.RawMessage, _ func(string, string) string) (*endpoint.Request, error) {
	r, err := readRequest(body)
	if err != nil {
		return nil, err
	}
	return &endpoint.Request{
		Model: r.Model, System: r.system.String(), Messages: r.messages, Tools: r.set, Choice: r.choice, Only: r.only,
		Stream: r.Stream, Override: r.override, Format: toolformat.FormatOpenAI, CallPrefix: "call_", Answer: r.begin,
	}, nil
}

// Parameters says what becomes of each parameter. It must not be changed.
func (API) Parameters() parameter.Parameters { return all }

// Fail implements endpoint.API.
func (API) Fail(w http.ResponseWriter, e *endpoint.Error) {
	endpoint.Refuse(w, e, endpoint.OpenAIError(e))
}
