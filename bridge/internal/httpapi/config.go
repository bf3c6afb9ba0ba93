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

// A Config describes an API in the config, whatever protocol it speaks. The API of a kind embeds
// one.
type Config struct {
	Type string `json:"type,omitempty"` // the kind, in any letter case
	URL  string `json:"url"`            // http or https

	// Auth is the credential of every request: the value of the Authorization header, verbatim,
	// or one of {"bearer": TOKEN}, {"basic": {"username": …, "password": …}} and
	// {"header": {"name": …, "value": …}}.
	Auth auth `json:"auth,omitzero"`

	Headers        headers         `json:"headers,omitempty"`        // of every request; a tool's own override them
	Timeout        bridge.Duration `json:"timeout,omitempty"`        // bounds a call with its retries; default 30 s
	MaxBytes       bridge.Size     `json:"maxBytes,omitempty"`       // bounds an answer, decompressed; default 8 MiB
	MaxConnections int             `json:"maxConnections,omitempty"` // at a time, further calls wait; default 64
}

// The defaults of a Config.
const (
	defaultMaxBytes    = 8 << 20
	defaultConnections = 64
)

// Decode decodes the API of a kind, a struct that embeds a Config, with bridge.DecodeSpec.
func Decode[T any](kind string, cfg bridge.BackendConfig) (api T, err error) {
	if cfg.Config == nil {
		return api, fmt.Errorf(`%s: the config has no such API: expected {"type": %q, "url": "https://…"}`, cfg.Subject(kind), kind)
	}
	return bridge.DecodeSpec[T](cfg.Subject(kind), cfg.Config)
}

// Options are how a kind speaks to its APIs.
type Options struct {
	Kind     string      // name of the kind
	Header   http.Header // of every request; the headers of the config override it
	SeeOther bool        // follow a redirect with status 303, as a GET (RFC 9110, section 15.4.4)
}

// Client returns the client of the API, without connecting. It warns cfg.Log when credentials
// would be sent unencrypted. No error shows a value of the config that may be secret.
func (c *Config) Client(o Options, cfg bridge.BackendConfig) (_ *Client, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", cfg.Subject(o.Kind), err)
		}
	}()
	at, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Type != "" && !strings.EqualFold(c.Type, o.Kind):
		return nil, fmt.Errorf("type is %q, not %s", c.Type, o.Kind)
	case c.MaxConnections < 0:
		return nil, fmt.Errorf("maxConnections: expected a number above 0, got %d", c.MaxConnections)
	}
	header, err := c.header(o.Header)
	if err != nil {
		return nil, err
	}
	secrets := c.secrets(at, cfg.Secrets)
	if at.Scheme == "http" && !isLoopback(at.Hostname()) && (c.Auth.name != "" || at.User != nil || cfg.Credentials != nil) {
		cfg.Log.Warn("the API's auth is sent without encryption: its url is http", "api", cfg.Name)
	}
	if at.User != nil && cfg.Credentials == nil && header.Get("Authorization") == "" {
		header.Set("Authorization", basicOf(at.User))
	}
	at.User = nil // a redirect would lose it, or repeat it
	return &Client{
		Name: cmp.Or(cfg.Name, "default"), URL: at, Header: header, Timeout: time.Duration(c.Timeout), MaxBytes: int(cmp.Or(c.MaxBytes, defaultMaxBytes)),
		HTTP: newHTTP(cfg.Roots, cmp.Or(c.MaxConnections, defaultConnections), o.SeeOther), secrets: secrets, credentials: cfg.Credentials,
	}, nil
}

// header returns the headers of every request. defaults are those of the kind.
func (c *Config) header(defaults http.Header) (http.Header, error) {
	h := http.Header{"User-Agent": {"mcpbridge"}}
	maps.Copy(h, defaults)
	for name, value := range c.Headers {
		if err := CheckHeader(name, value); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		h.Set(name, value)
	}
	if c.Auth.name != "" {
		h.Set(c.Auth.name, c.Auth.value)
	}
	DropCoding(h)
	return h, nil
}

// parseURL parses the URL of an API. No error shows it, as it may hold secrets.
func parseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, errors.New("url is empty: expected the URL of the API, such as https://api.example.com/v1")
	case err != nil:
		return nil, errors.New("url: not a URL: expected http:// or https:// and a host (it is not shown, as it may hold a secret)")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("url: expected http:// or https:// at the beginning")
	case u.Hostname() == "":
		return nil, errors.New("url: expected a host in it")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, errors.New("url: expected a port from 1 to 65535")
	case strings.Contains(s, "#"):
		return nil, errors.New("url: a fragment (#…) is never sent: remove it")
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
