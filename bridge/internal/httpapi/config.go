// Package httpapi is what the kinds of native tool share that speak to an API over HTTP:
// where the API is and who asks, the client that goes nowhere else, and what is said of
// an answer that is none.
package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A Config is what a config says of an API, whatever is spoken with it. The API of a kind
// embeds one.
type Config struct {
	Type string `json:"type,omitempty"` // the kind, in any letter case
	URL  string `json:"url"`            // http or https

	// Auth is who asks: the value of the Authorization header as it stands, or one of
	// {"bearer": TOKEN}, {"basic": {"username": …, "password": …}} and
	// {"header": {"name": …, "value": …}}.
	Auth Auth `json:"auth,omitzero"`

	Headers        Headers         `json:"headers,omitempty"`        // sent with each request; a tool's own come before them
	Timeout        bridge.Duration `json:"timeout,omitempty"`        // of a call, its retries included; default 30 s
	MaxBytes       bridge.Size     `json:"maxBytes,omitempty"`       // of an answer, decompressed; default 8 MiB
	MaxConnections int             `json:"maxConnections,omitempty"` // at once, further calls wait; default 64
}

// The defaults of a Config.
const (
	defaultMaxBytes    = 8 << 20
	defaultConnections = 64
)

// Decode reads the API of a kind, a struct that embeds a Config, with DecodeSpec.
func Decode[T any](kind string, cfg bridge.BackendConfig) (api T, err error) {
	if cfg.Config == nil {
		return api, fmt.Errorf(`%s: there is no such API in the config; one is {"type": %q, "url": "https://…"}`, cfg.Subject(kind), kind)
	}
	return bridge.DecodeSpec[T](cfg.Subject(kind), cfg.Config)
}

// Options are what a kind says of its requests.
type Options struct {
	Kind     string      // its name
	Header   http.Header // of each request, where the config says nothing else
	SeeOther bool        // a redirect with 303 is followed, as a GET (RFC 9110, 15.4.4)
}

// Client makes the client of the API; nothing is connected. cfg.Log is told when auth
// would pass without encryption. No error shows a value of the config that may be secret.
func (c *Config) Client(o Options, cfg bridge.BackendConfig) (*Client, error) {
	at, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Type != "" && !strings.EqualFold(c.Type, o.Kind):
		return nil, fmt.Errorf("type is %q, not %s", c.Type, o.Kind)
	case c.MaxConnections < 0:
		return nil, fmt.Errorf("maxConnections: expected a positive number, got %d", c.MaxConnections)
	}
	header, err := c.header(o.Header)
	if err != nil {
		return nil, err
	}
	if at.Scheme == "http" && !isLoopback(at.Hostname()) && (c.Auth.name != "" || at.User != nil) {
		cfg.Log.Warn("the API's auth is sent without encryption: its url is http", "api", cfg.Name)
	}
	client := &Client{
		Name: cmp.Or(cfg.Name, "default"), URL: at, Header: header, Timeout: time.Duration(c.Timeout), MaxBytes: int(cmp.Or(c.MaxBytes, defaultMaxBytes)),
		HTTP: newHTTP(cmp.Or(c.MaxConnections, defaultConnections), o.SeeOther),
	}
	client.secrets = c.secrets(at)
	return client, nil
}

// header is what each request has.
func (c *Config) header(kinds http.Header) (http.Header, error) {
	h := http.Header{"User-Agent": {"mcpbridge"}}
	maps.Copy(h, kinds)
	for name, value := range c.Headers {
		if err := CheckHeader(name, value); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		h.Set(name, value)
	}
	if c.Auth.name != "" {
		h.Set(c.Auth.name, c.Auth.value)
	}
	return h, nil
}

// parseURL reads an API's url. It may hold secrets, so that no error shows it.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, errors.New("url is empty: expected where the API is, such as https://api.example.com/v1")
	case err != nil:
		return nil, errors.New("url: not a URL: expected http:// or https:// and a host (it is not shown, as it may hold a secret)")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url: expected http:// or https:// at its beginning")
	case u.Hostname() == "":
		return nil, errors.New("url: there is no host in it")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, errors.New("url: expected a port from 1 to 65535")
	case strings.Contains(s, "#"):
		return nil, errors.New("url: a fragment (#…) is never sent; leave it out")
	}
	return u, nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.IsLoopback()
}
