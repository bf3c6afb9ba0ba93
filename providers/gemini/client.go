package gemini

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/models"
	"github.com/mcpbridge/mcpbridge/providers/internal/rawjson"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "gemini"
	format = toolformat.FormatGemini
)

// Options configure a Provider. Google itself needs only an APIKey.
type Options struct {
	// BaseURL defaults to Google's. One with /publishers/google is that of Vertex AI:
	// https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google.
	providers.Client

	APIKey string // sent as x-goog-api-key; may be "" if Header or Auth has the credentials
}

// A Provider is one endpoint. It may be used from many goroutines at once.
type Provider struct {
	client providers.Client
	vertex bool // it is Vertex AI, whose URLs have the version before the project
}

// New makes a provider. It does not connect yet.
func New(o Options) *Provider {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")
	return &Provider{vertex: strings.Contains(o.BaseURL, "/publishers/"), client: o.For(providers.Client{
		BaseURL: "https://generativelanguage.googleapis.com",
		Version: "v1beta",
		Header:  http.Header{"x-goog-api-key": {o.APIKey}},
		Refuse:  refuse,

		MaxTools: 512, // genai's comment on functionDeclarations
	})}
}

// Name returns "gemini".
func (p *Provider) Name() string { return name }

// Format returns Gemini's format.
func (p *Provider) Format() toolformat.Format { return format }

// Models returns the names of the models that the API has.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	api := models.API{BaseURL: p.client.BaseURL, Version: p.client.Version, Header: p.client.Header, Auth: p.client.Auth, HTTP: p.client.HTTP}
	names, err := api.List(ctx, "/v1beta/models?pageSize=1000", "models", "name")
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], "models/")
	}
	return names, err
}

// ResultPlace returns where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "contents/*/parts/*/functionResponse", []string{"id", "name"}, "response"
}

// Turn implements providers.Provider. A generationConfig in Settings.Body or Client.Body is
// merged member by member: one for thinking leaves the other settings in force. The API has
// no switch for Settings.Serial.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if err := p.client.Check(req, p); err != nil {
		return nil, err
	}
	if g := generation(req.Model); req.Settings.Answer != nil && req.Tools.Len() > 0 && (g == 1 || g == 2) {
		// "Function calling with a response mime type: 'application/json' is unsupported"
		return nil, fmt.Errorf("%w: %s", providers.ErrNoAnswer, req.Model)
	}
	x := p.encode(req)
	x.Body = p.client.MergeBody(x.Body, &req.Settings, "generationConfig")
	x.Decoder = newDecoder(req)
	return p.client.Turn(ctx, x, emit)
}

// path returns the path for a model, which may be named with its collection.
func (p *Provider) path(model string) string {
	folder, id, named := strings.Cut(model, "/")
	if !named || folder != "models" && folder != "tunedModels" {
		folder, id = "models", model
	}
	version := "/v1beta/"
	if p.vertex {
		version = "/"
	}
	return version + folder + "/" + url.PathEscape(id) + ":streamGenerateContent?alt=sse"
}

// refuse reads an error: a google.rpc.Status, whose details have the time to wait and the
// quota that is spent. That of a day is not retried.
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
		if after, err := time.ParseDuration(rawjson.TextAt(detail, "retryDelay")); err == nil && after > 0 {
			e.After = after
		}
		for violation := range wire.Elements(wire.Lookup(detail, "violations")) {
			if quota := rawjson.TextAt(violation, "quotaId"); strings.Contains(quota, "PerDay") {
				e.Code, e.Again = quota, false
			}
		}
	}
}

// streamError returns the error in an event of a stream.
func streamError(event []byte) error {
	e := &providers.APIError{Status: http.StatusOK}
	code := rawjson.NumberAt(event, "error", "code")
	e.Again = code == http.StatusRequestTimeout || code == http.StatusTooManyRequests || code >= 500
	refuse(e, event)
	return e
}
