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
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Kind is the kind rest. Its API is an API, its spec a Spec.
var Kind = bridge.NativeKind{Name: kindName, Open: open}

const kindName = "rest"

// An API is what a config says of a REST API.
type API struct {
	Type string `json:"type,omitempty"` // rest
	URL  string `json:"url"`            // http or https; its path stands before every tool's, its query before every tool's query

	// Auth is who asks: the value of the Authorization header as it stands, or one of
	// {"bearer": TOKEN}, {"basic": {"username": …, "password": …}} and
	// {"header": {"name": …, "value": …}}.
	Auth Auth `json:"auth,omitzero"`

	Headers        Headers  `json:"headers,omitempty"`        // sent with each request; a tool's own come before them
	Timeout        Duration `json:"timeout,omitempty"`        // of a call, its retries included; default 30 s
	Retries        *int     `json:"retries,omitempty"`        // of an idempotent request, after the first one; default 2, at most 10
	MaxBytes       int      `json:"maxBytes,omitempty"`       // of an answer, decompressed; default 8 MiB
	MaxConnections int      `json:"maxConnections,omitempty"` // at once, further calls wait; default 64
}

// The defaults and bounds of an API's settings.
const (
	defaultRetries     = 2
	maxRetries         = 10
	defaultMaxBytes    = 8 << 20
	defaultConnections = 64
)

// backend is an API that is called.
type backend struct {
	name     string
	base     *url.URL
	origin   string
	path     string // of base, escaped, without a slash at its end
	header   http.Header
	timeout  time.Duration
	retries  int
	maxBytes int
	client   *http.Client
}

// open makes a backend; nothing is connected.
func open(cfg bridge.BackendConfig) (bridge.Backend, error) {
	what := "rest"
	if cfg.Name != "" {
		what = "rest: api " + cfg.Name
	}
	if cfg.Config == nil {
		return nil, fmt.Errorf(`%s: there is no such API in the config; one is {"type": "rest", "url": "https://…"}`, what)
	}
	api, err := bridge.DecodeSpec[API](what, cfg.Config)
	if err != nil {
		return nil, err
	}
	b, err := api.backend(cfg.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if b.base.Scheme == "http" && !isLoopback(b.base.Hostname()) && (api.Auth.name != "" || b.base.User != nil) {
		cfg.Log.Warn("the API's auth is sent without encryption: its url is http", "api", cfg.Name)
	}
	return b, nil
}

func (api *API) backend(name string) (*backend, error) {
	base, err := baseURL(api.URL)
	if err != nil {
		return nil, err
	}
	b := &backend{
		name: name, base: base, origin: originOf(base), path: strings.TrimSuffix(base.EscapedPath(), "/"),
		timeout: time.Duration(api.Timeout), retries: defaultRetries, maxBytes: cmp.Or(api.MaxBytes, defaultMaxBytes),
	}
	if api.Retries != nil {
		b.retries = *api.Retries
	}
	switch {
	case api.Type != "" && !strings.EqualFold(api.Type, kindName):
		return nil, fmt.Errorf("type is %q, not rest", api.Type)
	case b.retries < 0 || b.retries > maxRetries:
		return nil, fmt.Errorf("retries: expected 0 to %d, got %d", maxRetries, b.retries)
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

// header is what each request has, if its tool does not say otherwise.
func (api *API) header() (http.Header, error) {
	h := http.Header{
		"Accept":     {"application/json, text/*;q=0.9, */*;q=0.8"},
		"User-Agent": {"mcpbridge"},
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

// baseURL reads an API's url. It may hold secrets, so that no error shows it.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, fmt.Errorf("url is empty: expected where the API is, such as https://api.example.com/v1")
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

// Tool implements bridge.Backend. The notes name placeholders that are no properties,
// and properties that no request ever holds.
func (b *backend) Tool(definition toolformat.Tool, spec json.RawMessage) (bridge.Tool, []toolformat.Note, error) {
	s, err := bridge.DecodeSpec[Spec]("rest", spec)
	if err != nil {
		return bridge.Tool{}, nil, err
	}
	t, err := s.compile()
	if err != nil {
		return bridge.Tool{}, nil, fmt.Errorf("rest: %w", err)
	}
	t.backend, t.name, t.hasOutput = b, definition.Name, definition.OutputSchema != nil
	return bridge.Tool{Tool: definition, Timeout: b.timeout, Call: t.call}, t.notes(definition), nil
}

// Close ends the connections that no call uses.
func (b *backend) Close() error {
	b.client.CloseIdleConnections()
	return nil
}
