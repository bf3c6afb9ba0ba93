package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Client sends requests to the endpoint of a provider. Its fields are set before the
// first request; after that it may be used from many goroutines.
type Client struct {
	// BaseURL is the http or https URL before the API's own path. A trailing /v1 (or
	// another Version) is removed. What it has behind a question mark, every request has.
	BaseURL string
	Version string // the first segment of the API's paths, such as v1; may be ""

	Header   http.Header               // sent with each request; overrides the API's own headers
	Body     json.RawMessage           // members for each body, a JSON object; Settings.Body overrides
	Auth     func(*http.Request) error // signs each attempt; may be nil. An APIError of it may say Again
	HTTP     *http.Client              // nil means the default transport, without redirects
	Retry    Retries                   // the zero value works
	Refuse   func(*APIError, []byte)   // reads the body of an error into an APIError; nil means ReadError
	Patience time.Duration             // bounds the silence before and within a response; 0 means 5 min
	MaxEvent int                       // bytes of one event or line of a stream; 0 means 64 MiB
	MaxBody  int64                     // bytes of a whole response; 0 means 128 MiB
	MaxTools int                       // tools of a request, for Check; 0 means no limit
}

// Retries bound how often a request is sent again. That happens when no connection was made
// and for errors with APIError.Again, as long as nothing of a response has been read.
type Retries struct {
	Max   int           // attempts after the first; 0 means 2, negative means none
	First time.Duration // backoff before the first retry, then doubled, less up to 25 %; 0 means 0.5 s
	Most  time.Duration // the longest backoff; 0 means 8 s
	Hint  time.Duration // the longest wait that a provider may ask for; more is not retried; 0 means 60 s
}

// For returns c as the client for the API of one vendor: BaseURL, Version, Refuse and MaxTools
// default to those of vendor, and vendor's headers are added, unless c has them or their value lacks
// its key ("", "Bearer ").
func (c Client) For(vendor Client) Client {
	c.BaseURL = cmp.Or(c.BaseURL, vendor.BaseURL)
	c.Version = cmp.Or(c.Version, vendor.Version)
	c.MaxTools = cmp.Or(c.MaxTools, vendor.MaxTools)
	if c.Refuse == nil {
		c.Refuse = vendor.Refuse
	}
	header := http.Header{}
	for name, values := range vendor.Header {
		if value := strings.Join(values, ", "); value != "" && value != "Bearer " {
			header.Set(name, value)
		}
	}
	maps.Copy(header, c.Header)
	c.Header = header
	return c
}

// post sends a JSON body to a path of the API, such as /v1/messages. It retries as Retry
// allows, with an event for each retry. The error is an *APIError if the provider refused.
func (c *Client) post(ctx context.Context, path string, body net.Buffers, emit func(Event)) (*Response, error) {
	emit = emitter(emit)
	for tries := 0; ; tries++ {
		r, err := c.send(ctx, path, body)
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		wait, again := c.Retry.after(err, tries)
		if !again {
			return nil, withWait(err)
		}
		emit(Event{Type: EventRetry, After: wait, Text: err.Error()})
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// MergeBody returns a request's body with the members that the caller adds or overrides:
// first those of the client, then those of the request. Of the objects that groups names the
// members are added or overridden, at any depth: they hold settings of the request too.
func (c *Client) MergeBody(body []byte, s *Settings, groups ...string) []byte {
	for _, extra := range []json.RawMessage{c.Body, s.Body} {
		for name, value := range wire.Members(extra) {
			if slices.Contains(groups, name) {
				value = mergeObjects(wire.Lookup(body, name), value)
			}
			body = wire.SetMember(body, name, value)
		}
	}
	return body
}

// mergeObjects returns a value with the members of another one, at any depth, if both are objects; else
// the other one.
func mergeObjects(value, other []byte) []byte {
	if !bytes.HasPrefix(value, []byte("{")) || !bytes.HasPrefix(other, []byte("{")) {
		return other
	}
	for key, member := range wire.Members(other) {
		value = wire.SetMember(value, key, mergeObjects(wire.Lookup(value, key), member))
	}
	return value
}

// address returns the address of a path of the API.
func (c *Client) address(path string) (*url.URL, error) {
	base, query, _ := strings.Cut(c.BaseURL, "?")
	base = strings.TrimRight(base, "/")
	if c.Version != "" {
		base = strings.TrimSuffix(base, "/"+c.Version)
	}
	u, err := url.Parse(base + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The URL is not quoted: it can hold a secret.
		return nil, fmt.Errorf("base URL: expected http(s)://HOST…, such as http://127.0.0.1:11434")
	}
	u.RawQuery = strings.Trim(u.RawQuery+"&"+query, "&")
	return u, nil
}

// send makes one attempt.
func (c *Client) send(ctx context.Context, path string, body net.Buffers) (*Response, error) {
	u, err := c.address(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	setBody(req, body)
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, c.Header)
	if c.Auth != nil {
		if err := c.Auth(req); err != nil {
			cancel(nil)
			var own *APIError
			again := errors.As(err, &own) && own.Again
			return nil, &APIError{Message: "authorization: " + err.Error(), Again: again, Cause: err} // so that another model may go on
		}
	}
	patience := cmp.Or(c.Patience, 5*time.Minute)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	client := cmp.Or(c.HTTP, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
	resp, err := client.Do(req)
	r := &Response{client: c, request: req, cancel: cancel, timer: timer}
	if err != nil {
		defer r.Close()
		return nil, unreachable(ctx, u, err)
	}
	timer.Reset(patience)
	r.Header, r.body = resp.Header, &boundedBody{ReadCloser: resp.Body, ctx: ctx, timer: timer, patience: patience, most: cmp.Or(c.MaxBody, defaultMaxBody)}
	if resp.StatusCode/100 == 2 {
		return r, nil
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r.body, 64<<10))
	return nil, c.refused(resp, hide(req, text))
}

// setBody sets the body of a request, to be read again and again.
func setBody(req *http.Request, body net.Buffers) {
	for _, piece := range body {
		req.ContentLength += int64(len(piece))
	}
	req.GetBody = func() (io.ReadCloser, error) {
		unread := slices.Clone(body) // reading changes it
		return io.NopCloser(&unread), nil
	}
	req.Body, _ = req.GetBody()
}

// unreachable returns the error for a missing response. That of net/http holds the whole URL.
func unreachable(ctx context.Context, u *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errSilent) {
			return &APIError{Message: fmt.Sprintf("%s: %v", u.Host, cause), Again: true}
		}
		return cause
	}
	var whole *url.Error
	if errors.As(err, &whole) {
		err = whole.Err
	}
	var own *APIError
	if errors.As(err, &own) { // of a transport that says what is wrong
		return own
	}
	var dial *net.OpError
	return &APIError{Message: fmt.Sprintf("cannot reach %s: %v", u.Host, err), Again: errors.As(err, &dial) || errors.Is(err, io.EOF), Cause: err}
}
