package gemini

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/providers"
	"github.com/mcpbridge/mcpbridge/providers/providertest"
)

// quota is the body of a 429.
func quota(id, details string) string {
	return `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `"}]}` + details + `]}}`
}

// TestErrors checks which errors are retried, and after how long.
func TestErrors(t *testing.T) {
	const retryInfo = `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}`
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   string // the error, the attempts, and the waits
	}{
		{"a quota of a minute", 429, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", retryInfo), "You exceeded your current quota: try again in 34s (HTTP 429, RESOURCE_EXHAUSTED): 3 tries in 1m8.8s"},
		{"a quota of a day", 429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", retryInfo), "You exceeded your current quota. (HTTP 429, RESOURCE_EXHAUSTED, GenerateRequestsPerDayPerProjectPerModel-FreeTier): 1 tries in 0s"},
		{"in an array", 429, "[" + quota("GenerateRequestsPerDayPerProjectPerModel", "") + "]", "You exceeded your current quota. (HTTP 429, RESOURCE_EXHAUSTED, GenerateRequestsPerDayPerProjectPerModel): 1 tries in 0s"},
		{"a hint too long", 429, quota("X", `,{"retryDelay":"3600s"}`), "You exceeded your current quota: try again in 1h0m0s (HTTP 429, RESOURCE_EXHAUSTED): 1 tries in 0s"},
		{"400", 400, `{"error":{"code":400,"message":"Function call is missing a thought_signature","status":"INVALID_ARGUMENT"}}`, "Function call is missing a thought_signature (HTTP 400, INVALID_ARGUMENT): 1 tries in 0s"},
		{"402", 402, `{"error":{"code":402,"message":"Pay.","status":"X"}}`, "Pay. (HTTP 402, X): 1 tries in 0s"},
		{"404", 404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, "models/x is not found (HTTP 404, NOT_FOUND): 1 tries in 0s"},
		{"a proxy's page", 403, "<html>\nNo.</html>", "<html> No.</html> (HTTP 403): 1 tries in 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := providertest.Refused(t, provider, testRequest(), c.status, nil, c.body); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestUnavailable: an error without a time to wait is retried too.
func TestUnavailable(t *testing.T) {
	const body = `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`
	if got, _ := providertest.Refused(t, provider, testRequest(), 503, nil, body); !strings.Contains(got, "): 3 tries in ") {
		t.Error(got)
	}
}

// TestNoTools: Gemma does not support tools.
func TestNoTools(t *testing.T) {
	const body = `{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`
	_, err := providertest.Refused(t, provider, testRequest(), 400, nil, body)
	var e *providers.APIError
	if !errors.Is(err, providers.ErrNoTools) || !errors.As(err, &e) || e.Status != 400 {
		t.Error(err)
	}
}

// TestRequest checks the URL and the headers.
func TestRequest(t *testing.T) {
	const google = "https://generativelanguage.googleapis.com/v1beta/"
	for _, c := range []struct{ base, model, want string }{
		{"", "gemini-x", google + "models/gemini-x:streamGenerateContent?alt=sse"},
		{"", "models/gemini-x", google + "models/gemini-x:streamGenerateContent?alt=sse"},
		{"", "tunedModels/mine", google + "tunedModels/mine:streamGenerateContent?alt=sse"},
		{"", "../../v1/files?x=", google + "models/..%2F..%2Fv1%2Ffiles%3Fx=:streamGenerateContent?alt=sse"},
		{"http://127.0.0.1:8080/", "m", "http://127.0.0.1:8080/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"http://127.0.0.1:8080/g/v1beta", "m", "http://127.0.0.1:8080/g/v1beta/models/m:streamGenerateContent?alt=sse"},
		{"http://127.0.0.1:8080/v1", "m", "http://127.0.0.1:8080/v1beta/models/m:streamGenerateContent?alt=sse"},
	} {
		req := testRequest()
		req.Model = c.model
		r, _, _ := providertest.Sent(t, func(client *http.Client) providers.Provider {
			return New(Options{APIKey: "key-1", Client: providers.Client{BaseURL: c.base, HTTP: client, Header: http.Header{"X-Goog-User-Project": {"p"}}}})
		}, req)
		if r.URL.String() != c.want || r.Method != http.MethodPost {
			t.Errorf("%q: %s %s, want %s", c.base, r.Method, r.URL, c.want)
		}
		for key, want := range map[string]string{"x-goog-api-key": "key-1", "x-goog-user-project": "p", "content-type": "application/json"} {
			if got := r.Header.Get(key); got != want {
				t.Errorf("%s: %q, want %q", key, got, want)
			}
		}
	}
}
