// Package anthropic speaks Anthropic's Messages API: POST /v1/messages, always streamed
// (platform.claude.com/docs, Messages; anthropic-sdk-go v1.84).
//
// A turn's raw items are the message as the API sends it when it is not streamed. Its
// content goes back as it came: thinking with its signatures, the blocks of tools that
// Anthropic runs itself, and the id of the container that they run in.
package anthropic

import (
	"cmp"
	"context"
	"net/http"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name       = "anthropic"
	format     = toolformat.FormatAnthropic
	apiVersion = "2023-06-01"
	path       = "/v1/messages"
)

// Options say who asks whom. An APIKey is all that Anthropic itself needs.
type Options struct {
	providers.Client // BaseURL "": Anthropic's own

	APIKey string // sent as x-api-key; "" for none, when Header or Auth has what the endpoint wants

	// CacheTools makes the API keep the tools for the requests that follow: "5m" or "1h",
	// which it bills differently; "" does not ask for it. Any change of the tools or their
	// order begins anew.
	CacheTools string
}

// A Provider is one endpoint. It may be used from many goroutines at once.
type Provider struct {
	client     providers.Client
	cacheTools string
}

// New makes a provider of an endpoint that speaks the API. It connects to nobody yet.
func New(o Options) *Provider {
	return &Provider{cacheTools: o.CacheTools, client: o.For(providers.Client{
		BaseURL: "https://api.anthropic.com",
		Version: "v1",
		Header:  http.Header{"anthropic-version": {apiVersion}, "x-api-key": {o.APIKey}},
		Refuse:  refuse,
	})}
}

// Name is "anthropic".
func (p *Provider) Name() string { return name }

// Format is Anthropic's.
func (p *Provider) Format() toolformat.Format { return format }

// ResultPlace is where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/content/*/type=tool_result", []string{"tool_use_id"}, "content"
}

// Turn asks for one message, as providers.Provider has it. A turn that was cut has no raw
// items: half a message cannot be sent back.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	body, notes := p.encode(req)
	return p.client.Turn(ctx, providers.Exchange{
		Path:    path,
		Body:    p.client.MergeBody(body, &req.Settings),
		Notes:   notes,
		Decoder: newDecoder(req),
	}, emit)
}

// refuse reads an error. Spending too much is a 429 too, which no waiting cures.
func refuse(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	if id, ok := wire.Text(wire.Lookup(body, "request_id")); ok {
		e.RequestID = cmp.Or(e.RequestID, id)
	}
	if code, ok := wire.Text(wire.Lookup(body, "error", "details", "error_code")); ok {
		e.Code = code
		e.Again = e.Again && code != "enforced_spend_limit_reached"
	}
}

// streamError is the error that an event of a stream holds.
func streamError(event []byte) error {
	e := &providers.APIError{Status: http.StatusOK}
	switch kind, _ := wire.Text(wire.Lookup(event, "error", "type")); kind {
	case "overloaded_error", "api_error", "rate_limit_error", "timeout_error":
		e.Again = true
	}
	refuse(e, event)
	return e
}
