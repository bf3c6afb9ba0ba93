package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/models"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name       = "anthropic"
	format     = toolformat.FormatAnthropic
	apiVersion = "2023-06-01"
	path       = "/v1/messages"
)

// Options configure a Provider. Anthropic itself needs only an APIKey.
type Options struct {
	// BaseURL defaults to Anthropic's. One with /publishers/anthropic is that of Vertex AI:
	// https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/anthropic.
	providers.Client

	APIKey string // sent as x-api-key; may be "" if Header or Auth has the credentials

	// Cache is how long the API caches tools, system prompt and messages, at different prices:
	// "5m", the default, "1h", or "none" for no caching.
	Cache string
}

// A Provider is one endpoint. It may be used from many goroutines at once.
type Provider struct {
	client providers.Client
	cache  string
	vertex bool // it is Vertex AI, which has the model in the path
}

// New makes a provider. It does not connect yet.
func New(o Options) *Provider {
	return &Provider{cache: o.Cache, vertex: strings.Contains(o.BaseURL, "/publishers/"), client: o.For(providers.Client{
		BaseURL: "https://api.anthropic.com",
		Version: "v1",
		Header:  http.Header{"anthropic-version": {apiVersion}, "x-api-key": {o.APIKey}},
		Refuse:  refuse,
	})}
}

// Name returns "anthropic".
func (p *Provider) Name() string { return name }

// Format returns Anthropic's format.
func (p *Provider) Format() toolformat.Format { return format }

// Models returns the names of the models that the API has.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	api := models.API{BaseURL: p.client.BaseURL, Version: p.client.Version, Header: p.client.Header, Auth: p.client.Auth, HTTP: p.client.HTTP}
	return api.List(ctx, "/v1/models?limit=1000", "data", "id")
}

// ResultPlace returns where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/content/*/type=tool_result", []string{"tool_use_id"}, "content"
}

// Turn implements providers.Provider.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if err := p.check(req); err != nil {
		return nil, err
	}
	x, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	x.Body = p.client.MergeBody(x.Body, &req.Settings, "output_config")
	x.Decoder = newDecoder(req)
	if p.vertex {
		x.Path = "/models/" + url.PathEscape(req.Model) + ":streamRawPredict"
		x.Body = onVertex(wire.CutMember(x.Body, "model"))
	}
	return p.client.Turn(ctx, x, emit)
}

// onVertex returns the body of a request to Vertex AI ("Claude on Vertex AI" in Anthropic's documentation).
func onVertex(body []byte) []byte {
	return wire.SetMember(body, "anthropic_version", json.RawMessage(`"vertex-2023-10-16"`))
}

// check returns the error of a request that the API cannot express.
func (p *Provider) check(req *providers.Request) error {
	return p.client.Check(req, p, "seed", "presence_penalty", "frequency_penalty")
}

// refuse reads an error. That of a spending limit is a 429 too, but a retry cannot succeed.
func refuse(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	e.RequestID = cmp.Or(e.RequestID, rawjson.TextAt(body, "request_id"))
	if code, ok := wire.Text(wire.Lookup(body, "error", "details", "error_code")); ok {
		e.Code = code
		e.Again = e.Again && code != "enforced_spend_limit_reached"
	}
}

// streamError returns the error in an event of a stream.
func streamError(event []byte) error {
	e := &providers.APIError{Status: http.StatusOK}
	switch rawjson.TextAt(event, "error", "type") {
	case "overloaded_error", "api_error", "rate_limit_error", "timeout_error":
		e.Again = true
	}
	refuse(e, event)
	return e
}
