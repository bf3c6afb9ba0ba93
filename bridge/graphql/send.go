package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

const maxRedirects = 5

// newClient makes the client of one API, with its own pool.
func newClient(connections int) *http.Client {
	return &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment, // which leaves loopback alone
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			IdleConnTimeout:        90 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxConnsPerHost:        connections,
			MaxIdleConns:           connections,
			MaxIdleConnsPerHost:    connections,
			MaxResponseHeaderBytes: 256 << 10,
		},
	}
}

// checkRedirect follows a redirect only to the same origin, so that nobody else gets to
// see auth, headers and variables, and only as a POST, as there is no query in a GET.
// What is not followed is the answer.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects || originOf(req.URL) != originOf(via[0].URL) || req.URL.User != nil || req.Method != http.MethodPost {
		return http.ErrUseLastResponse
	}
	return nil
}

// call carries out a call. It implements bridge.Tool.Call. It sends one request, and
// none again: a mutation may have been carried out by one that was not answered.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
	body := make([]byte, len(t.head), len(t.head)+2*len(arguments)+len("{}}"))
	copy(body, t.head)
	body, err := t.appendVariables(body, arguments)
	if err != nil {
		return nil, err
	}
	b := t.backend
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url.String(), bytes.NewReader(append(body, '}')))
	if err != nil {
		return nil, t.away(ctx, err)
	}
	req.Header = b.header.Clone()
	res, err := b.client.Do(req)
	if err != nil {
		return nil, t.away(ctx, err)
	}
	defer res.Body.Close()
	r, err := t.result(res)
	if err != nil {
		return nil, t.away(ctx, err)
	}
	return r, nil
}

// away is the error of an API that did not answer. What it shows has no URL in it: the
// query may hold a key.
func (t *tool) away(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	name := t.backend.name
	if name == "" {
		name = "default"
	}
	next := "try again later"
	if t.op.kind == "mutation" {
		next = "the mutation may have been carried out all the same: look before you try again"
	}
	return toolformat.Errorf(toolformat.Unavailable, "tool %s: the API %q did not answer; %s", t.name, name, next).Because(err)
}
