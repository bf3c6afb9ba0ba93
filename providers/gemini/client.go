// Package gemini speaks Google's Gemini API: POST /v1beta/models/…:streamGenerateContent
// (ai.google.dev/api/generate-content; go-genai v1.77).
//
// A turn's raw items are the candidate as the API sends it when it is not streamed. Its
// content goes back as it came, with the signatures of its thoughts and the parts of tools
// that Google runs itself.
package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "gemini"
	format = toolformat.FormatGemini
)

// Options say who asks whom. An APIKey is all that Google itself needs.
type Options struct {
	providers.Client // BaseURL "": Google's own

	APIKey string // sent as x-goog-api-key; "" for none, when Header or Auth has what the endpoint wants
}

// A Provider is one endpoint. It may be used from many goroutines at once.
type Provider struct {
	client providers.Client
}

// New makes a provider of an endpoint that speaks the API. It connects to nobody yet.
func New(o Options) *Provider {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	return &Provider{client: o.For(providers.Client{
		BaseURL: "https://generativelanguage.googleapis.com",
		Version: "v1beta",
		Header:  http.Header{"x-goog-api-key": {o.APIKey}},
		Refuse:  refuse,
	})}
}

// Name is "gemini".
func (p *Provider) Name() string { return name }

// Format is Gemini's.
func (p *Provider) Format() toolformat.Format { return format }

// ResultPlace is where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "contents/*/parts/*/functionResponse", []string{"id", "name"}, "response"
}

// Turn asks for one content of the model's, as providers.Provider has it. A turn that was
// cut has no raw items: half a content cannot be sent back.
//
// A generationConfig in Settings.Body or Client.Body wins member by member, so that one for
// thinking leaves the other settings in force. The API has no switch for Settings.Serial.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	body, notes := encode(req)
	return p.client.Turn(ctx, providers.Exchange{
		Path:    path(req.Model),
		Body:    withSettings(p.client.MergeBody(body, &req.Settings), &req.Settings),
		Notes:   notes,
		Decoder: newDecoder(req),
	}, emit)
}

// path is where a model is asked. It may be named with the folder that it is in.
func path(model string) string {
	folder, id, named := strings.Cut(model, "/")
	if !named || folder != "models" && folder != "tunedModels" {
		folder, id = "models", model
	}
	return "/v1beta/" + folder + "/" + url.PathEscape(id) + ":streamGenerateContent?alt=sse"
}

// refuse reads an error: google.rpc.Status, whose details hold how long to wait, and which
// quota is spent. One of a day is not waited for.
func refuse(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	if strings.Contains(e.Message, "Function calling is not enabled for") { // Gemma
		e.Cause = providers.ErrNoTools
	}
	for first := range wire.Elements(body) {
		body = first
		break
	}
	for detail := range wire.Elements(wire.Lookup(body, "error", "details")) {
		if delay, ok := wire.Text(wire.Lookup(detail, "retryDelay")); ok {
			if after, err := time.ParseDuration(delay); err == nil && after > 0 {
				e.After = after
			}
		}
		for violation := range wire.Elements(wire.Lookup(detail, "violations")) {
			if quota, _ := wire.Text(wire.Lookup(violation, "quotaId")); strings.Contains(quota, "PerDay") {
				e.Code, e.Again = quota, false
			}
		}
	}
}

// streamError is the error that an event of a stream holds.
func streamError(event []byte) error {
	e := &providers.APIError{Status: http.StatusOK}
	code, _ := strconv.Atoi(string(wire.Lookup(event, "error", "code")))
	e.Again = code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500
	refuse(e, event)
	return e
}
