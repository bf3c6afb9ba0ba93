package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// credentials is bridge.BackendConfig.Credentials.
type credentials interface {
	Authorization(ctx context.Context) (string, error)
	Refused(ctx context.Context, sent string, status int, header http.Header, last bool) (again bool, err error)
}

// A credentialsError is why a request has not been carried out: there are no credentials for it, or the API
// has refused them.
type credentialsError struct {
	error
	code toolformat.Code
}

// exchange sends a request with the credentials of the API, and once more with others where it refuses them.
// A request that has an Authorization header of its own keeps that.
func (c *Client) exchange(req *http.Request) (*http.Response, error) {
	if c.credentials == nil || req.Header.Get("Authorization") != "" {
		return c.HTTP.Do(req)
	}
	ctx := req.Context()
	req = req.WithContext(ctx) // a copy: the next attempt asks for its credentials anew
	req.Header = req.Header.Clone()
	for last := req.Body != nil && req.GetBody == nil; ; last = true {
		value, err := c.credentials.Authorization(ctx)
		if err != nil {
			return nil, &credentialsError{err, toolformat.Unavailable}
		}
		req.Header.Set("Authorization", value)
		res, err := c.HTTP.Do(req)
		if last || err != nil || res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			return res, err
		}
		again, err := c.credentials.Refused(ctx, value, res.StatusCode, res.Header, false)
		switch {
		case err != nil:
			res.Body.Close()
			return nil, &credentialsError{err, toolformat.Denied}
		case !again:
			return res, nil
		}
		discard(res)
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // from memory: it never fails
		}
	}
}

// discard ends an answer that is not wanted, and keeps its connection if the answer is short.
func discard(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
	res.Body.Close()
}

// withoutSent returns an answer without the token that its request was sent with: it is for no model.
func (c *Client) withoutSent(res *http.Response, body []byte) []byte {
	token := []byte(c.sent(res))
	if len(token) < minSecret || !bytes.Contains(body, token) {
		return body
	}
	return bytes.ReplaceAll(body, token, []byte("xxxxx"))
}

// sent returns the token of Credentials that the request of an answer was sent with; "" without one.
func (c *Client) sent(res *http.Response) string {
	if c.credentials == nil || res.Request == nil {
		return ""
	}
	_, token, _ := strings.Cut(res.Request.Header.Get("Authorization"), " ")
	return token
}
