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
	"strings"
	"time"
)

// A Client sends requests to the endpoint of a provider. Its fields are set before the
// first request; after that it may be used from many goroutines.
type Client struct {
	// BaseURL is what stands before the API's own path, http or https. A trailing /v1 (or
	// whatever Version is) is taken off.
	BaseURL string
	Version string // the first segment of the API's paths, such as v1; "" when there is none

	Header   http.Header               // sent with each request, over what the API wants of itself
	Body     json.RawMessage           // members of each request's body, a JSON object; Settings.Body wins over them
	Auth     func(*http.Request) error // signs each attempt; nil: nothing
	HTTP     *http.Client              // nil: one that heeds the proxies of the environment and follows no redirect
	Retry    Retries                   // the zero value works
	Refuse   func(*APIError, []byte)   // reads the error that a body holds, and says whether it is worth another try; nil: any usual shape
	Patience time.Duration             // the longest silence of a response; 0: 5 min
	MaxEvent int                       // bytes of one event or line of a stream; 0: 64 MiB
	MaxBody  int64                     // bytes of a whole response, streamed or not; 0: 128 MiB
}

// Retries say when a request is sent again: when no connection came about, and for the
// answers that APIError.Again tells, before anything of a response has been read.
type Retries struct {
	Max   int           // tries after the first; 0: 2; negative: none
	First time.Duration // the wait before the first of them, doubled for each that follows, less up to a quarter; 0: 0.5 s
	Most  time.Duration // the longest wait that is made up here; 0: 8 s
	Hint  time.Duration // the longest wait that a provider may ask for; one that asks for more is not tried again; 0: 60 s
}

// For is the client for the API of one vendor: c, which has the BaseURL, the Version and
// the Refuse of vendor where it has none of its own. Of headers it has those of both, but
// for vendor's without a value; where both name one, its own counts.
func (c Client) For(vendor Client) Client {
	c.BaseURL = cmp.Or(c.BaseURL, vendor.BaseURL)
	c.Version = cmp.Or(c.Version, vendor.Version)
	if c.Refuse == nil {
		c.Refuse = vendor.Refuse
	}
	header := http.Header{}
	for name, values := range vendor.Header {
		if value := strings.Join(values, ", "); value != "" {
			header.Set(name, value)
		}
	}
	maps.Copy(header, c.Header)
	c.Header = header
	return c
}

// Bearer is the value of the header Authorization for a key; "" for none.
func Bearer(key string) string {
	if key == "" {
		return ""
	}
	return "Bearer " + key
}

// Post sends a body, of JSON, to a path of the API such as /v1/messages. It tries again as
// Retry says, telling emit. The error is an *APIError for what the provider refused.
func (c *Client) Post(ctx context.Context, path string, body []byte, emit func(Event)) (*Response, error) {
	emit = emitter(emit)
	for tries := 0; ; tries++ {
		r, err := c.send(ctx, path, body)
		if err == nil || ctx.Err() != nil {
			return r, err
		}
		wait, again := c.Retry.after(err, tries)
		if !again {
			return nil, err
		}
		emit(Event{Type: EventRetry, After: wait, Text: err.Error()})
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// URL is the address of a path of the API.
func (c *Client) URL(path string) (*url.URL, error) {
	base := strings.TrimRight(c.BaseURL, "/")
	if c.Version != "" {
		base = strings.TrimSuffix(base, "/"+c.Version)
	}
	u, err := url.Parse(base + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("base URL: expected http(s)://HOST…, such as http://127.0.0.1:11434") // without it: it can hold a secret
	}
	return u, nil
}

// send makes one attempt.
func (c *Client) send(ctx context.Context, path string, body []byte) (*Response, error) {
	u, err := c.URL(path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, c.Header)
	if c.Auth != nil {
		if err := c.Auth(req); err != nil {
			cancel(nil)
			return nil, fmt.Errorf("authorization: %w", err)
		}
	}
	patience := cmp.Or(c.Patience, 5*time.Minute)
	timer := time.AfterFunc(patience, func() { cancel(errSilent) })
	resp, err := c.http().Do(req)
	r := &Response{client: c, request: req, cancel: cancel, timer: timer}
	if err != nil {
		err = unreachable(ctx, u, err)
		r.end()
		return nil, err
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

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return &http.Client{
		Transport:     http.DefaultTransport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// unreachable is why there is no response. The error of net/http holds the whole URL.
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
	if errors.As(err, &own) { // a transport that says itself what is wrong
		return own
	}
	var dial *net.OpError
	return &APIError{Message: fmt.Sprintf("cannot reach %s: %v", u.Host, err), Again: errors.As(err, &dial) || errors.Is(err, io.EOF), Cause: err}
}
