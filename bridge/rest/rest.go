// Package rest is the kind of native tool that is one request to an HTTP API.
//
// A definition says a method and a path template, as Acorn's tools files do
// (DataSQRL/Acorn, TOOLS_CONFIG.md):
//
//	{"method": "GET", "path": "/users/{id}/orders?limit={limit}&sort=desc"}
//
// What an argument can change is its own place alone: it is percent-encoded in a path or
// a query, checked in a header, and stays JSON in a body. Where the API is, and what it
// is told about who asks, stands in the config.
package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind rest. Its API is an API, its spec a Spec.
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "rest"

// An API is what a config says of a REST API. The path of its url stands before every
// tool's, the query before every tool's query.
type API struct {
	httpapi.Config

	Retries *int `json:"retries,omitempty"` // of an idempotent request, after the first one; default 2, at most 10
}

const (
	defaultRetries = 2
	maxRetries     = 10
)

// backend is an API that is called.
type backend struct {
	*httpapi.Client
	path    string // of the URL, escaped, without a slash at its end
	retries int
	specs   bridge.SpecDecoder[Spec]
}

// open makes a backend; nothing is connected.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	b, err := api.backend(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Subject(kindName), err)
	}
	return b, nil
}

func (api *API) backend(cfg bridge.BackendConfig) (*backend, error) {
	retries := defaultRetries
	if api.Retries != nil {
		retries = *api.Retries
	}
	if retries < 0 || retries > maxRetries {
		return nil, fmt.Errorf("retries: expected 0 to %d, got %d", maxRetries, retries)
	}
	client, err := api.Client(httpapi.Options{
		Kind:     kindName,
		Header:   http.Header{"Accept": {"application/json, text/*;q=0.9, */*;q=0.8"}},
		SeeOther: true,
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &backend{Client: client, path: strings.TrimSuffix(client.URL.EscapedPath(), "/"), retries: retries}, nil
}

// Tool implements bridge.Backend. The notes name placeholders that are no properties,
// and properties that no request ever holds.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	s, err := b.specs.Decode(kindName, spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t, err := s.compile()
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("%s: %w", kindName, err)
	}
	t.backend, t.name, t.hasOutput = b, definition.Name, definition.OutputSchema != nil
	return bridge.Tool{
		Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), b.Timeout), Cancelable: true, Call: t.call,
		ReadOnly:   t.method == http.MethodGet || t.method == http.MethodHead,   // RFC 9110, 9.2.1
		Idempotent: t.method == http.MethodPut || t.method == http.MethodDelete, // 9.2.2
	}, t.notes(definition), nil
}
