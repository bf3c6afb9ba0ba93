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
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind graphql. Its API is an API, its spec a Spec.
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "graphql"

// An API is what a config says of a GraphQL API.
type API struct {
	Type string `json:"type,omitempty"` // graphql
	URL  string `json:"url"`            // http or https; each request is a POST to it

	// Auth is who asks: the value of the Authorization header as it stands, or one of
	// {"bearer": TOKEN}, {"basic": {"username": …, "password": …}} and
	// {"header": {"name": …, "value": …}}.
	Auth Auth `json:"auth,omitzero"`

	Headers        Headers  `json:"headers,omitempty"`        // sent with each request
	Timeout        Duration `json:"timeout,omitempty"`        // of a call; default 30 s
	MaxBytes       int      `json:"maxBytes,omitempty"`       // of an answer, decompressed; a longer one is an error; default 8 MiB
	MaxConnections int      `json:"maxConnections,omitempty"` // at once, further calls wait; default 64
}

// The defaults of an API's settings.
const (
	defaultMaxBytes    = 8 << 20
	defaultConnections = 64
)

// backend is an API that is called.
type backend struct {
	name     string
	url      *url.URL
	header   http.Header
	timeout  time.Duration
	maxBytes int
	client   *http.Client
}

// open makes a backend; nothing is connected.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	what := kindName
	if cfg.Name != "" {
		what = "graphql: api " + cfg.Name
	}
	if cfg.Config == nil {
		return nil, fmt.Errorf(`%s: there is no such API in the config; one is {"type": "graphql", "url": "https://…"}`, what)
	}
	api, err := bridge.DecodeSpec[API](what, cfg.Config)
	if err != nil {
		return nil, err
	}
	b, err := api.backend(cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if b.url.Scheme == "http" && !isLoopback(b.url.Hostname()) && (api.Auth.name != "" || b.url.User != nil) {
		cfg.Log.Warn("the API's auth is sent without encryption: its url is http", "api", cfg.Name)
	}
	return b, nil
}

func (api *API) backend(name string) (*backend, error) {
	at, err := parseURL(api.URL)
	if err != nil {
		return nil, err
	}
	b := &backend{name: name, url: at, timeout: time.Duration(api.Timeout), maxBytes: cmp.Or(api.MaxBytes, defaultMaxBytes)}
	switch {
	case api.Type != "" && !strings.EqualFold(api.Type, kindName):
		return nil, fmt.Errorf("type is %q, not graphql", api.Type)
	case b.maxBytes < 0:
		return nil, fmt.Errorf("maxBytes: expected a number of bytes, got %d", b.maxBytes)
	case api.MaxConnections < 0:
		return nil, fmt.Errorf("maxConnections: expected a positive number, got %d", api.MaxConnections)
	}
	if b.header, err = api.header(); err != nil {
		return nil, err
	}
	b.client = newClient(cmp.Or(api.MaxConnections, defaultConnections))
	return b, nil
}

// header is what each request has (GraphQL over HTTP, draft of 2025, 4.1 and 5.1).
func (api *API) header() (http.Header, error) {
	h := http.Header{
		"Accept":       {"application/graphql-response+json, application/json;q=0.9"},
		"Content-Type": {"application/json"},
		"User-Agent":   {"mcpbridge"},
	}
	for name, value := range api.Headers {
		if err := checkHeader(name); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		if !isHeaderValue(value) {
			return nil, fmt.Errorf("headers: the value of %s has a line break or another control character in it", name)
		}
		h.Set(name, value)
	}
	if api.Auth.name != "" {
		h.Set(api.Auth.name, api.Auth.value)
	}
	return h, nil
}

// parseURL reads an API's url. It may hold secrets, so that no error shows it.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, fmt.Errorf("url is empty: expected where the API is, such as https://api.example.com/graphql")
	case err != nil:
		return nil, fmt.Errorf("url: not a URL (it is not shown, as it may hold a secret)")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url: expected http:// or https:// at its beginning")
	case u.Hostname() == "":
		return nil, fmt.Errorf("url: there is no host in it")
	case strings.Contains(s, "#"):
		return nil, fmt.Errorf("url: a fragment (#…) is never sent; leave it out")
	}
	return u, nil
}

// originOf is what a redirect must not leave (RFC 6454, 4).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback()
}

// Tool implements bridge.Backend. The notes name variables that are no properties, and
// properties that are no variables.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	s, err := bridge.DecodeSpec[Spec](kindName, spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t, err := s.compile()
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("graphql: %w", err)
	}
	t.backend, t.name, t.hasOutput = b, definition.Name, definition.OutputSchema != nil
	return bridge.Tool{Tool: definition, Timeout: b.timeout, Call: t.call}, t.notes(definition), nil
}

// Close ends the connections that no call uses.
func (b *backend) Close() error {
	b.client.CloseIdleConnections()
	return nil
}
