package oauth

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
)

const (
	fetchTime    = 20 * time.Second // bounds a request
	maxDocument  = 1 << 20          // bounds a response, in bytes
	maxRedirects = 3
)

// fetcher sends requests to URLs that a server, or an authorization server, has named.
type fetcher struct {
	guard *outbound.Guard
	http  *http.Client
}

func newFetcher(by *url.URL, roots *x509.CertPool) *fetcher {
	guard := outbound.NewGuard(by, roots)
	return &fetcher{guard, &http.Client{Transport: guard, Timeout: fetchTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case via[0].Method != http.MethodGet:
			return http.ErrUseLastResponse
		case len(via) > maxRedirects:
			return errors.New("too many redirects")
		}
		return nil // the guard checks where it leads
	}}}
}

// parse returns a URL that a server has named, if requests may go there.
func (f *fetcher) parse(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" && u.Opaque == "" {
		return nil, fmt.Errorf("%s is not a URL: %.100q", what, text)
	}
	if err := f.guard.Check(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return u, nil
}

// statusError is an HTTP status that is not a success.
type statusError struct {
	code int
	body []byte
}

func (e *statusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
}

// get reads a JSON document.
func (f *fetcher) get(ctx context.Context, u *url.URL, document any) error {
	r := (&http.Request{Method: http.MethodGet, URL: u, Header: http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}}).WithContext(ctx)
	return f.send(r, document)
}

// post sends a body and reads the JSON document in return.
func (f *fetcher) post(ctx context.Context, u *url.URL, kind string, header http.Header, body []byte, document any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", kind)
	return f.send(r, document)
}

// send sends a request, and reads the JSON document in return unless document is nil.
func (f *fetcher) send(r *http.Request, document any) error {
	r.Header.Set("Accept", "application/json")
	resp, err := f.http.Do(r)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) { // whose URL may have a query
			err = e.Err
		}
		return fmt.Errorf("%s: %w", outbound.Bare(r.URL), plain(r, err))
	}
	defer resp.Body.Close()
	if kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); kind == "text/event-stream" { // has no end
		return fmt.Errorf("%s: its answer is not the JSON that was expected", outbound.Bare(r.URL))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fmt.Errorf("%s: %w", outbound.Bare(r.URL), &statusError{resp.StatusCode, body[:min(len(body), maxDocument)]})
	case err != nil:
		return fmt.Errorf("%s: %w", outbound.Bare(r.URL), plain(r, err))
	case len(body) > maxDocument:
		return fmt.Errorf("%s: its answer has more than %d bytes", outbound.Bare(r.URL), maxDocument)
	case document == nil:
		return nil
	}
	if err := json.Unmarshal(body, document); err != nil {
		return fmt.Errorf("%s: its answer is not the JSON that was expected", outbound.Bare(r.URL))
	}
	return nil
}

// plain returns the error of a request in plain words if its time is up.
func plain(r *http.Request, err error) error {
	var late interface{ Timeout() bool }
	if errors.As(err, &late) && late.Timeout() && r.Context().Err() == nil {
		return fmt.Errorf("no answer within %s", fetchTime)
	}
	return err
}

// isAbsent reports whether an error says that there is nothing at a URL.
func isAbsent(err error) bool {
	var e *statusError
	return errors.As(err, &e) && e.code >= 400 && e.code < 500
}
