// Package ollama speaks Ollama's own API: POST /api/chat, always streamed, a JSON object a
// line (github.com/ollama/ollama, docs/api.md and api/types.go).
//
// A turn's raw items are the message as the API sends it when it is not streamed.
package ollama

import (
	"context"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "ollama"
	format = toolformat.FormatOllama
	path   = "/api/chat"
)

// Options say who asks whom. The zero value asks the server of this machine.
type Options struct {
	providers.Client // BaseURL "": http://127.0.0.1:11434; a trailing /v1 or /api is taken off

	APIKey string // sent as a bearer token, which ollama.com wants; "" for none
}

// A Provider is one server. It may be used from many goroutines at once.
type Provider struct {
	client providers.Client
}

// New makes a provider of a server. It connects to nobody yet.
func New(o Options) *Provider {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/api")
	return &Provider{client: o.For(providers.Client{
		BaseURL: "http://127.0.0.1:11434",
		Version: "v1",
		Header:  http.Header{"Authorization": {providers.Bearer(o.APIKey)}},
		Refuse:  refuse,
	})}
}

// Name is "ollama".
func (p *Provider) Name() string { return name }

// Format is Ollama's.
func (p *Provider) Format() toolformat.Format { return format }

// ResultPlace is where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/role=tool", []string{"tool_call_id", "tool_name"}, "content"
}

// Turn asks for one message, as providers.Provider has it. A turn that was cut has no raw
// items: half a message is not what the model said.
//
// The API has no place for a choice: ChoiceRequired and the name of a tool are left to the
// model, which a Note says. Nor does it take files.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	body, notes := encode(req)
	return p.client.Turn(ctx, providers.Exchange{
		Path:    path,
		Body:    p.client.MergeBody(body, &req.Settings),
		Notes:   notes,
		Decoder: newDecoder(req),
	}, emit)
}

// refuse reads an error, and adds what to do where there is something.
func refuse(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	switch {
	case strings.Contains(e.Message, "does not support tools"):
		e.Cause = providers.ErrNoTools
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.Message, "model ") && !strings.Contains(e.Message, "pull"):
		e.Message += `: "ollama pull" fetches it`
	case e.Status == http.StatusUnauthorized && wire.Lookup(body, "signin_url") != nil:
		e.Message += `: "ollama signin", or an API key`
	}
}

// streamError is the error that a line of a stream is: {"error", "status"}.
func streamError(line []byte) error {
	e := &providers.APIError{Status: http.StatusOK, Code: string(wire.Lookup(line, "status"))}
	switch e.Code {
	case "500", "502", "503", "504":
		e.Again = true
	}
	refuse(e, line)
	return e
}
