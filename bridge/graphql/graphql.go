// Package graphql is the kind of native tool that is one operation of a GraphQL API.
//
// A definition says a document, as Acorn's tools files do (DataSQRL/Acorn,
// TOOLS_CONFIG.md):
//
//	{"query": "query Orders($customerid: Int!, $limit: Int = 10) { orders(…) { id } }"}
//
// The document is sent as it was written. Arguments are its variables and nothing else,
// so that none can change what is asked. Where the API is, and what it is told about who
// asks, stands in the config.
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

// Kind is the kind graphql. Its API is an API, its spec a Spec.
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "graphql"

// An API is what a config says of a GraphQL API. Each request is a POST to its url. An
// answer that is longer than its maxBytes is an error.
type API struct{ httpapi.Config }

// backend is an API that is called.
type backend struct {
	*httpapi.Client
	specs bridge.SpecDecoder[Spec]
}

// open makes a backend; nothing is connected.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	api, err := httpapi.Decode[API](kindName, cfg)
	if err != nil {
		return nil, err
	}
	client, err := api.Client(httpapi.Options{
		Kind: kindName,
		Header: http.Header{ // GraphQL over HTTP, draft of 2025, 4.1 and 5.1
			"Accept":       {"application/graphql-response+json, application/json;q=0.9"},
			"Content-Type": {"application/json"},
		},
	}, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Subject(kindName), err)
	}
	return &backend{Client: client}, nil
}

// Tool implements bridge.Backend. The notes name variables that are no properties, and
// properties that are no variables.
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
