package ollama

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/internal/models"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	name   = "ollama"
	format = toolformat.FormatOllama
	path   = "/api/chat"
)

// Options configure a Provider. The zero value is for a server on this machine.
type Options struct {
	providers.Client // BaseURL defaults to http://127.0.0.1:11434; a trailing /v1 or /api is removed

	APIKey string // sent as a bearer token, which ollama.com wants; may be ""
}

// A Provider is one server. It may be used from many goroutines at once.
type Provider struct {
	client providers.Client
}

// New makes a provider. It does not connect yet.
func New(o Options) *Provider {
	o.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/api")
	return &Provider{client: o.For(providers.Client{
		BaseURL: "http://127.0.0.1:11434",
		Version: "v1",
		Header:  http.Header{"Authorization": {"Bearer " + o.APIKey}},
		Refuse:  refuse,
	})}
}

// Name returns "ollama".
func (p *Provider) Name() string { return name }

// Format returns Ollama's format.
func (p *Provider) Format() toolformat.Format { return format }

// Embed implements providers.Embedder with the server's imitation of OpenAI's API.
func (p *Provider) Embed(ctx context.Context, body []byte) ([]byte, error) {
	return p.client.Embed(ctx, "/v1/embeddings", body)
}

// Models returns the names of the models that the server has.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	api := models.API{BaseURL: p.client.BaseURL, Version: p.client.Version, Header: p.client.Header, Auth: p.client.Auth, HTTP: p.client.HTTP}
	names, err := api.List(ctx, "/api/tags", "models", "name")
	if isDown(err) {
		err = fmt.Errorf("%w%s", err, start)
	}
	return names, err
}

// start is the advice for a server that is down.
const start = `: if Ollama does not run there, "ollama serve" starts it`

// isDown reports whether an error says that no connection could be made.
func isDown(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// ResultPlace returns where a request has the results of tools, for package replay.
func (p *Provider) ResultPlace() (path string, ids []string, result string) {
	return "messages/*/role=tool", []string{"tool_call_id", "tool_name"}, "content"
}

// Turn implements providers.Provider. The API cannot require a tool call and takes no files,
// of which a note tells.
func (p *Provider) Turn(ctx context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if err := p.client.Check(req, p, "image_url"); err != nil {
		return nil, err
	}
	if req.Settings.Answer != nil && req.Tools.Len() > 0 && req.Choice != providers.ChoiceNone {
		// The format would hold for the whole reply, in which the model then cannot call a tool.
		return nil, fmt.Errorf("%w: %s", providers.ErrNoAnswer, name)
	}
	x := p.encode(req)
	x.Body = p.client.MergeBody(x.Body, &req.Settings, "options")
	x.Decoder = newDecoder(req)
	turn, err := p.client.Turn(ctx, x, emit)
	if e := (*providers.APIError)(nil); errors.As(err, &e) && isDown(e.Cause) {
		e.Message += start
	}
	return turn, err
}

// refuse reads an error, and adds advice where possible.
func refuse(e *providers.APIError, body []byte) {
	providers.ReadError(e, body)
	switch {
	case strings.Contains(e.Message, "does not support tools"):
		e.Cause = providers.ErrNoTools
	case e.Status == http.StatusNotFound && strings.HasPrefix(e.Message, "model ") && !strings.Contains(e.Message, "pull"):
		e.Message += `: run "ollama pull" to fetch it`
	case e.Status == http.StatusUnauthorized && wire.Lookup(body, "signin_url") != nil:
		e.Message += `: run "ollama signin" or set an API key`
	}
}

// streamError returns the error in a line of a stream: {"error", "status"}.
func streamError(line []byte) error {
	e := &providers.APIError{Status: http.StatusOK, Code: string(wire.Lookup(line, "status"))}
	switch e.Code {
	case "500", "502", "503", "504":
		e.Again = true
	}
	refuse(e, line)
	return e
}
