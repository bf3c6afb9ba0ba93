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

// Kind is the kind rest. An API of the config is an [API], the spec of a definition a [Spec].
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "rest"

// An API describes a REST API in the config. The path and the query of its url precede those of
// every tool.
type API struct {
	httpapi.Config

	Retries *int `json:"retries,omitempty"` // of an idempotent request, after the first attempt; default 2, at most 10
}

const (
	defaultRetries = 2
	maxRetries     = 10
)

// backend is an open API.
type backend struct {
	*httpapi.Client
	path    string // of the URL, escaped, without a slash at its end
	retries int
	specs   bridge.SpecDecoder[Spec]
}

// open returns a backend without connecting.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	retries := defaultRetries
	if api.Retries != nil {
		retries = *api.Retries
	}
	if retries < 0 || retries > maxRetries {
		return nil, fmt.Errorf("%s: retries: expected 0 to %d, got %d", cfg.Subject(kindName), maxRetries, retries)
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

// Tool implements bridge.Backend. The notes name placeholders that are not properties, and
// properties that no request ever contains.
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
		ReadOnly:   t.method == http.MethodGet || t.method == http.MethodHead,   // RFC 9110, section 9.2.1
		Idempotent: t.method == http.MethodPut || t.method == http.MethodDelete, // section 9.2.2
	}, t.notes(definition), nil
}
