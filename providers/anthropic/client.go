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
	"strings"

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
	header     http.Header
	cacheTools string
}

// New makes a provider of an endpoint that speaks the API. It connects to nobody yet.
func New(o Options) *Provider {
	p := &Provider{client: o.Client, header: http.Header{}, cacheTools: o.CacheTools}
	p.client.BaseURL = cmp.Or(o.BaseURL, "https://api.anthropic.com")
	p.client.Version = "v1"
	if p.client.Refuse == nil {
		p.client.Refuse = refuse
	}
	p.header.Set("anthropic-version", apiVersion)
	if o.APIKey != "" {
		p.header.Set("x-api-key", o.APIKey)
	}
	return p
}

// Name is "anthropic".
func (p *Provider) Name() string { return name }

// Format is Anthropic's.
func (p *Provider) Format() toolformat.Format { return format }

// Turn asks for one message, as providers.Provider has it. A turn that was cut has no raw
// items: half a message cannot be sent back.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if emit == nil {
		emit = func(providers.Event) {}
	}
	body, notes := p.encode(req)
	for _, note := range notes {
		emit(providers.Event{Type: providers.Note, Text: note})
	}
	resp, err := p.client.Post(ctx, path, p.header, p.client.MergeBody(body, &req.Settings), emit)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	d := newDecoder(req, emit)
	err = d.read(resp)
	t := d.turn()
	if err != nil {
		t.Stop, t.Message.Raw = providers.StopCut, nil
		return t, providers.BrokeOff(ctx, err)
	}
	if why, _ := wire.Text(wire.Lookup(d.message, "stop_details", "explanation")); why != "" {
		emit(providers.Event{Type: providers.Note, Text: name + ": " + why})
	}
	return t, nil
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
func streamError(header http.Header, event []byte) error {
	e := &providers.APIError{Status: http.StatusOK, RequestID: header.Get("request-id")}
	switch kind, _ := wire.Text(wire.Lookup(event, "error", "type")); kind {
	case "overloaded_error", "api_error", "rate_limit_error", "timeout_error":
		e.Again = true
	}
	refuse(e, event)
	return e
}

// streamed reports whether a response is a stream. Endpoints that only speak like
// Anthropic's may answer with the whole message.
func streamed(header http.Header) bool {
	return !strings.HasPrefix(header.Get("Content-Type"), "application/json")
}
