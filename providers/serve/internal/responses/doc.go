// Package responses is OpenAI's Responses API ("Create a model response" in its API reference).
//
// request.go reads requests: item.go the items of the input, tool.go the tools, server.go the servers
// whose tools it selects, parameter.go what tunes the answer. answer.go makes the response, output.go
// its items, and stream.go the events of a stream.
package responses

import (
	"encoding/json"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// API is the API. It implements endpoint.API.
type API struct {
	NewID func() string // returns the id of a response, behind its prefix
}

// Read implements endpoint.API.
func (a API) Read(body []byte, kept func(string) json.RawMessage, named func(string, string) string) (*endpoint.Request, error) {
	r, err := readRequest(body, kept, named)
	if err != nil {
		return nil, err
	}
	r.id = "resp_" + a.NewID()
	return &endpoint.Request{
		Model: r.Model, System: r.prompt(), Messages: r.messages, Tools: r.set, Choice: r.choice, Only: r.only, Select: r.selection, Must: r.must,
		Stream: r.Stream, Override: r.override, Format: toolformat.FormatOpenAIResponses, CallPrefix: "call_", Answer: r.begin,
		Previous: r.Previous, Keep: r.keep(), MaxCalls: int(r.MaxCalls),
	}, nil
}

// Continued returns the id of the response that a request continues, "" if it begins a conversation.
func Continued(body []byte) string {
	id, _ := wire.Text(wire.Lookup(body, "previous_response_id"))
	return id
}

// Parameters says what becomes of each parameter. It must not be changed.
func (API) Parameters() parameter.Parameters { return all }

// Fail implements endpoint.API.
func (API) Fail(w http.ResponseWriter, e *endpoint.Error) {
	endpoint.Refuse(w, e, endpoint.OpenAIError(e))
}
