package graphql

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/httpapi"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind graphql. An API of the config is an [API], the spec of a definition a [Spec].
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "graphql"

// An API describes a GraphQL API in the config. Every request is a POST to its url. An answer
// longer than its maxBytes is a failed result.
type API struct{ httpapi.Config }

// backend is an open API.
type backend struct {
	*httpapi.Client
	specs bridge.SpecDecoder[Spec]
}

// open returns a backend without connecting.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	client, err := api.Client(httpapi.Options{
		Kind: kindName,
		Header: http.Header{ // GraphQL over HTTP, draft of 2025, sections 4.1 and 5.1
			"Accept":       {"application/graphql-response+json, application/json;q=0.9"},
			"Content-Type": {"application/json"},
		},
	}, cfg)
	if err != nil {
		return nil, err
	}
	return &backend{Client: client}, nil
}

// Tool implements bridge.Backend. The notes name variables that are not properties, and properties
// that are not variables.
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
	readOnly := t.op.kind == "query" // "a read-only fetch" (GraphQL, September 2025, Operations)
	return bridge.Tool{Tool: definition, Timeout: cmp.Or(time.Duration(s.Timeout), b.Timeout), Cancelable: true, ReadOnly: readOnly, Call: t.call}, t.notes(definition), nil
}
