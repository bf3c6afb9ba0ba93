package intercept

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

// A URL gets each event as a POST, and responds with the answer, or with 204 (No Content). Another status than 200
// and 204 is a failure, and so is a redirect.
type URL struct {
	url     string
	headers map[string]string
	client  http.Client
}

// NewURL returns a URL whose requests have headers. Nil roots are the system's.
func NewURL(url string, headers map[string]string, roots *x509.CertPool) *URL {
	return &URL{url: url, headers: headers, client: http.Client{
		Transport: outbound.NoSwitch(outbound.Transport(roots)), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes connections that are idle.
func (u *URL) Close() { u.client.CloseIdleConnections() }

// Ask implements Asker.
func (u *URL) Ask(ctx context.Context, event []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(event))
	if err != nil {
		return nil, withoutURL(err)
	}
	// It may be asked twice if it closes the idle connection on which it was: a request with this mark, which is not sent
	// if it is empty, http.Transport sends again.
	req.Header["Idempotency-Key"] = nil
	for name, value := range u.headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := u.client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusNoContent:
		return nil, nil
	case http.StatusOK:
	default:
		return nil, fmt.Errorf("it responds with %s", res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBytes+1))
	if err == nil && len(body) > maxBytes {
		err = fmt.Errorf("the answer has more than %d bytes", maxBytes)
	}
	return body, err
}

// withoutURL returns an error without the URL of the request, which may have a secret.
func withoutURL(err error) error {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}
