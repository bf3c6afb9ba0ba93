package providers

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAPIError(t *testing.T) {
	for _, c := range []struct {
		e    APIError
		want string
	}{
		{APIError{}, "the provider failed"},
		{APIError{Status: 503}, "Service Unavailable (HTTP 503)"},
		{APIError{Status: 429, Type: "rate_limit_error", Code: "slow", Message: "too fast", RequestID: "req_1"}, "too fast (HTTP 429, rate_limit_error, slow, request req_1)"},
		{APIError{Status: 200, Message: "broke off"}, "broke off"},
		{APIError{Status: 200, Type: "overloaded_error", Message: "Overloaded"}, "Overloaded (overloaded_error)"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if err := error(&APIError{Cause: ErrNoTools}); !errors.Is(err, ErrNoTools) {
		t.Error("the cause is lost")
	}
}

func TestReadError(t *testing.T) {
	for _, c := range []struct {
		name, body, message, kind, code string
		status                          int
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "m", "t", "c", 400},
		{"Anthropic", `{"type":"error","error":{"type":"t","message":"m"},"request_id":"r"}`, "m", "t", "", 400},
		{"Gemini", `{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}`, "m", "INVALID_ARGUMENT", "", 400},
		{"Gemini's stream", `[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]`, "m", "UNAVAILABLE", "503", 200},
		{"Ollama", `{"error":"m"}`, "m", "", "", 400},
		{"flat", `{"message":"m","code":"c"}`, "m", "", "c", 400},
		{"null beside a message", `{"error":null,"message":"m"}`, "m", "", "", 400},
		{"a number as a code", `{"error":{"message":"m","code":7}}`, "m", "", "7", 400},
		{"an object as a code", `{"error":{"message":"m","code":{}}}`, "m", "", "", 400},
		{"nothing in it", `{}`, "", "", "", 400},
		{"an empty list", `[]`, "", "", "", 400},
		{"no JSON", `<html>`, "", "", "", 400},
		{"half of it", `{"error":{"message":"m"`, "", "", "", 400},
		{"nothing", ``, "", "", "", 400},
	} {
		e := &APIError{Status: c.status}
		ReadError(e, []byte(c.body))
		if e.Message != c.message || e.Type != c.kind || e.Code != c.code {
			t.Errorf("%s: %q %q %q", c.name, e.Message, e.Type, e.Code)
		}
	}
}

// refusedWith returns the error of a response.
func refusedWith(t *testing.T, c *Client, status int, header http.Header, body string) *APIError {
	t.Helper()
	c.BaseURL, c.Retry.Max = "http://api.invalid", -1
	c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return answered(status, header, strings.NewReader(body))
	})}
	_, err := c.post(t.Context(), "/x", nil, nil)
	var e *APIError
	if !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	return e
}

func TestRefused(t *testing.T) {
	for status, again := range map[int]bool{400: false, 401: false, 402: false, 403: false, 404: false, 408: true, 409: true, 413: false, 422: false, 429: true, 500: true, 502: true, 503: true, 529: true, 304: false} {
		if e := refusedWith(t, &Client{}, status, nil, "x"); e.Again != again || e.Status != status {
			t.Errorf("%d: %+v", status, e)
		}
	}
	if e := refusedWith(t, &Client{}, 502, http.Header{"Request-Id": {"a"}, "X-Request-Id": {"b"}}, "<h1>Bad\n gateway</h1>"); e.RequestID != "a" || e.Message != "<h1>Bad gateway</h1>" {
		t.Errorf("%+v", e)
	}
	if e := refusedWith(t, &Client{}, 502, nil, strings.Repeat("é", 300)); e.Message != strings.Repeat("é", 200)+"…" {
		t.Errorf("%+v", e)
	}
	if e := refusedWith(t, &Client{}, 502, nil, " "); e.Error() != "Bad Gateway (HTTP 502)" {
		t.Errorf("%v", e)
	}
	quota := func(e *APIError, body []byte) {
		e.Message, e.Again, e.After = string(body), false, time.Second
	}
	if e := refusedWith(t, &Client{Refuse: quota}, 429, nil, "spent"); e.Message != "spent" || e.Again || e.After != time.Second {
		t.Errorf("%+v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		ms, value string
		want      time.Duration
	}{
		{"", "", 0},
		{"", "2", 2 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"", "0", 0}, {"", "-1", 0}, {"", "NaN", 0}, {"", "Inf", 0}, {"", "soon", 0}, {"", "1e300", 0},
		{"20", "2", 20 * time.Millisecond},
		{"1.5", "", 1500 * time.Microsecond},
		{"x", "2", 2 * time.Second},
		{"-5", "2", 2 * time.Second},
		{"", "Fri, 02 Jan 2026 03:04:35 GMT", 30 * time.Second},
		{"", "Fri, 02 Jan 2026 03:04:00 GMT", 0},
	} {
		h := http.Header{}
		h.Set("Retry-After-Ms", c.ms)
		h.Set("Retry-After", c.value)
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.ms, c.value, got, c.want)
		}
	}
}

// No settings make a wait too long, or invalid.
func TestAfter(t *testing.T) {
	e := &APIError{Again: true}
	for _, r := range []Retries{{Max: 100}, {Max: 100, First: -1}, {Max: 100, Most: -1}, {Max: 100, First: 1 << 62, Most: 1 << 62}, {Max: 100, First: 1, Most: 1 << 62}} {
		for tries := range 100 {
			wait, again := r.after(e, tries)
			if !again || wait < 0 || r.Most == 0 && wait > 8*time.Second {
				t.Errorf("%+v, try %d: %v, %v", r, tries, wait, again)
			}
		}
		if _, again := r.after(e, 100); again {
			t.Errorf("%+v: one try too many", r)
		}
	}
	if _, again := (Retries{}).after(errors.New("something else"), 0); again {
		t.Error("an error that is not the provider's")
	}
}

func TestMergeBody(t *testing.T) {
	c := Client{Body: json.RawMessage(`{"b":2,"c":2}`)}
	for _, s := range []struct{ body, settings, want string }{
		{`{"a":1}`, ``, `{"c":2,"b":2,"a":1}`},
		{`{"a":1,"b":1}`, `{"c": 3.0}`, `{"c":3.0,"a":1,"b":2}`},
		{`{}`, `null`, `{"c":2,"b":2}`},
	} {
		if got := c.MergeBody([]byte(s.body), &Settings{Body: json.RawMessage(s.settings)}); string(got) != s.want {
			t.Errorf("%s, want %s", got, s.want)
		}
	}
	if got := (&Client{}).MergeBody([]byte(`{"a":1.0}`), &Settings{}); string(got) != `{"a":1.0}` {
		t.Errorf("%s", got)
	}
}
