package anthropic

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// TestErrors checks which errors are retried, and after how long.
func TestErrors(t *testing.T) {
	const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	for _, c := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   string // the error, the attempts, and the waits
	}{
		{"429 with a hint", 429, http.Header{"Retry-After": {"7"}}, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`, "Slow down: try again in 7s (HTTP 429, rate_limit_error): 3 tries in 14s"},
		{"429 with a hint too long", 429, http.Header{"Retry-After": {"3600"}}, `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}`, "Slow down: try again in 1h0m0s (HTTP 429, rate_limit_error): 1 tries in 0s"},
		{"spend limit", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"You have spent it","details":{"error_code":"enforced_spend_limit_reached"}}}`, "You have spent it (HTTP 429, rate_limit_error, enforced_spend_limit_reached): 1 tries in 0s"},
		{"529", 529, http.Header{"Request-Id": {"req_0"}, "Retry-After": {"1"}}, overloaded, "Overloaded: try again in 1s (HTTP 529, overloaded_error, request req_0): 3 tries in 2s"},
		{"529 that says no", 529, http.Header{"X-Should-Retry": {"false"}}, overloaded, "Overloaded (HTTP 529, overloaded_error, request req_1): 1 tries in 0s"},
		{"400", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.3: bad"}}`, "tools.3: bad (HTTP 400, invalid_request_error): 1 tries in 0s"},
		{"401", 401, nil, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "invalid x-api-key (HTTP 401, authentication_error): 1 tries in 0s"},
		{"413", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"Too large"}}`, "Too large (HTTP 413, request_too_large): 1 tries in 0s"},
		{"a proxy's page", 403, nil, "<html>\nNo.</html>", "<html> No.</html> (HTTP 403): 1 tries in 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := providertest.Refused(t, provider, testRequest(), c.status, c.header, c.body); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestNoRetryOnceBegun: a turn that has emitted something is not retried.
func TestNoRetryOnceBegun(t *testing.T) {
	answer := providertest.Answer{Header: http.Header{"Request-Id": {"req_7"}}, Body: strings.NewReader(stream(start, blockStart(0, `{"type":"text","text":"Hel"}`), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))}
	carrier := &providertest.Transport{Answers: []providertest.Answer{answer, {Body: strings.NewReader("")}}}
	_, err := New(Options{Client: providers.Client{HTTP: carrier.Client()}}).Turn(t.Context(), testRequest(), nil)
	var e *providers.APIError
	if !errors.As(err, &e) || e.Status != 200 || !e.Again || e.RequestID != "req_7" || len(carrier.Requests) != 1 {
		t.Errorf("%v after %d requests", err, len(carrier.Requests))
	}
}

// TestRequest checks the URL and the headers.
func TestRequest(t *testing.T) {
	for _, c := range []struct{ base, want string }{
		{"", "https://api.anthropic.com/v1/messages"},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/messages"},
		{"http://127.0.0.1:8080/anthropic/v1", "http://127.0.0.1:8080/anthropic/v1/messages"},
	} {
		r, _, _ := providertest.Sent(t, func(client *http.Client) providers.Provider {
			return New(Options{APIKey: "sk-1", Client: providers.Client{BaseURL: c.base, HTTP: client, Header: http.Header{"Anthropic-Beta": {"files"}}}})
		}, testRequest())
		if r.URL.String() != c.want || r.Method != http.MethodPost {
			t.Errorf("%q: %s %s, want %s", c.base, r.Method, r.URL, c.want)
		}
		for key, want := range map[string]string{"x-api-key": "sk-1", "anthropic-version": "2023-06-01", "anthropic-beta": "files", "content-type": "application/json"} {
			if got := r.Header.Get(key); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
	}
}
