// Package messages is Anthropic's Messages API ("Create a Message" in its API reference, version
// 2023-06-01), and its counting of tokens.
//
// request.go reads requests: block.go the blocks of messages, server.go the servers whose
// tools it selects, parameter.go what tunes the answer. answer.go
// writes responses, answer_stream.go their streams.
package messages

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/providers/serve/internal/endpoint"
	"github.com/mcpbridge/mcpbridge/providers/serve/internal/parameter"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// API is the API. It implements endpoint.API.
type API struct{}

// Read implements endpoint.API.
func (API) Read(body []byte, _ func(string) json.RawMessage, named func(string, string) string) (*endpoint.Request, error) {
	r, err := readRequest(body, named)
	if err != nil {
		return nil, dotted(err)
	}
	return &endpoint.Request{
		Model: r.Model, System: r.system, Messages: r.messages, Tools: r.set, Choice: r.choice, Select: r.selection,
		Stream: r.Stream, Override: r.override, Format: toolformat.FormatAnthropic, CallPrefix: "toolu_", Answer: r.begin,
	}, nil
}

// dotted returns an error with its path as the API writes it, such as messages.0.content.
func dotted(err error) error {
	path, text, ok := strings.Cut(err.Error(), ": ")
	if e := (*endpoint.Error)(nil); !ok || errors.As(err, &e) {
		return err
	}
	return errors.New(strings.NewReplacer("[", ".", "]", "").Replace(path) + ": " + text)
}

// Parameters says what becomes of each parameter. It must not be changed.
func (API) Parameters() parameter.Parameters { return all }

// Fail implements endpoint.API.
func (API) Fail(w http.ResponseWriter, e *endpoint.Error) { endpoint.Refuse(w, e, errorOf(e)) }

// apiError is the body of an error.
type apiError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details any    `json:"details,omitempty"`
	} `json:"error"`
}

func errorOf(e *endpoint.Error) *apiError {
	body := apiError{Type: "error"}
	body.Error.Type, body.Error.Message, body.Error.Details = errorType(e.Status), e.Message, e.Details
	return &body
}

// errorType returns the API's type of errors with a status.
func errorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}
