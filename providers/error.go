package providers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// An APIError is the failure of a provider: an HTTP error, an error within a stream, or no
// response at all.
type APIError struct {
	Status    int           // the HTTP status; 0 without a response, 200 for an error within a stream
	Type      string        // the provider's type of the error, if it has one
	Code      string        // the provider's code, if it has one
	Message   string        // for people; never holds a key
	RequestID string        // the provider's id of the request, if it has one
	Again     bool          // a retry may succeed
	After     time.Duration // the wait that the provider asks for; 0 means it does not
	Cause     error         // may be nil
}

func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(e.Message, http.StatusText(e.Status), "the provider failed"))
	var about []string
	if e.Status != 0 && e.Status != http.StatusOK {
		about = append(about, "HTTP "+strconv.Itoa(e.Status))
	}
	for _, s := range []string{e.Type, e.Code} {
		if s != "" && !slices.Contains(about, s) {
			about = append(about, s)
		}
	}
	if e.RequestID != "" {
		about = append(about, "request "+e.RequestID)
	}
	if about != nil {
		fmt.Fprintf(&b, " (%s)", strings.Join(about, ", "))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *APIError) Unwrap() error { return e.Cause }

// Unreadable returns the error of a decoder for a response that does not follow its API.
func Unreadable(format string, args ...any) error {
	return &APIError{Status: http.StatusOK, Message: "the response cannot be read: " + fmt.Sprintf(format, args...)}
}

// brokeOff returns the error of a turn whose response had begun: the cause of ctx if that
// ended, else an *APIError, which may be the decoder's.
func (r *Response) brokeOff(ctx context.Context, err error) error {
	var e *APIError
	var long *wire.TooLongError
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !errors.As(err, &e) {
		e = &APIError{
			Status:  http.StatusOK,
			Message: "the response broke off: " + err.Error(),
			Again:   !errors.As(err, &long),
			Cause:   err,
		}
	}
	e.RequestID = cmp.Or(e.RequestID, requestID(r.Header))
	for _, text := range []*string{&e.Type, &e.Code, &e.Message} {
		*text = string(hide(r.request, []byte(*text)))
	}
	return e
}

// requestID returns the provider's id of a request, if it has one.
func requestID(h http.Header) string {
	return cmp.Or(h.Get("request-id"), h.Get("x-request-id"))
}

// refused returns the error of a response whose status is not 2xx.
func (c *Client) refused(resp *http.Response, body []byte) error {
	e := &APIError{Status: resp.StatusCode, RequestID: requestID(resp.Header), After: retryAfter(resp.Header, time.Now())}
	e.Again = slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, e.Status) || e.Status >= 500
	if c.Refuse != nil {
		c.Refuse(e, body)
	} else {
		ReadError(e, body)
	}
	if e.Message == "" {
		e.Message = clip(strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " "), 200)
	}
	switch resp.Header.Get("x-should-retry") { // of OpenAI and Anthropic
	case "true":
		e.Again = true
	case "false":
		e.Again = false
	}
	return e
}

// ReadError fills in an error from a body in one of the common shapes:
// {"error":{"message","type","code","status"}}, {"error":"…"}, {"message"}, or an array of
// one of them.
func ReadError(e *APIError, body []byte) {
	for first := range wire.Elements(body) {
		body = first
		break
	}
	if wire.Valid(body) != nil {
		return
	}
	inner := wire.Lookup(body, "error")
	if text, ok := wire.Text(inner); ok {
		e.Message = text
		return
	}
	if inner == nil || len(inner) > 0 && inner[0] != '{' {
		inner = body
	}
	word := func(key string) string {
		raw := wire.Lookup(inner, key)
		if text, ok := wire.Text(raw); ok {
			return text
		}
		if _, err := strconv.Atoi(string(raw)); err == nil {
			return string(raw)
		}
		return ""
	}
	e.Message = cmp.Or(word("message"), e.Message)
	e.Type = cmp.Or(word("type"), word("status"), e.Type)
	if code := word("code"); code != strconv.Itoa(e.Status) {
		e.Code = cmp.Or(code, e.Code)
	}
}

// hide redacts the credentials of a request, in its headers and its query, in a body: some servers repeat them.
func hide(req *http.Request, body []byte) []byte {
	for _, from := range []map[string][]string{req.Header, req.URL.Query()} {
		for name, values := range from {
			name = strings.ToLower(name)
			if !strings.Contains(name, "auth") && !strings.Contains(name, "key") && !strings.Contains(name, "token") && !strings.Contains(name, "cookie") {
				continue
			}
			for _, value := range values {
				if secret := value[strings.LastIndexByte(value, ' ')+1:]; len(secret) >= 8 {
					body = bytes.ReplaceAll(body, []byte(secret), []byte("[hidden]"))
					body = bytes.ReplaceAll(body, []byte(url.QueryEscape(secret)), []byte("[hidden]"))
				}
			}
		}
	}
	return body
}

// retryAfter returns how long a response asks its client to wait; 0 if it does not.
// retry-after-ms is OpenAI's, retry-after RFC 9110, section 10.2.3.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 && ms < 1e10 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("retry-after")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// after returns the wait before the next attempt, after so many retries.
func (r Retries) after(err error, tries int) (wait time.Duration, again bool) {
	most := cmp.Or(r.Max, 2)
	var e *APIError
	if tries >= most || !errors.As(err, &e) || !e.Again || e.After > cmp.Or(r.Hint, time.Minute) {
		return 0, false
	}
	if e.After > 0 {
		return e.After, true
	}
	longest := max(0, cmp.Or(r.Most, 8*time.Second))
	wait = min(max(0, cmp.Or(r.First, 500*time.Millisecond)), longest)
	for range tries {
		wait += min(wait, longest-wait)
	}
	return wait - time.Duration(rand.Int64N(int64(wait)/4+1)), true
}

// withWait adds the wait that a provider asks for to an error that is not retried.
func withWait(err error) error {
	var e *APIError
	if errors.As(err, &e) && e.Again && e.After > 0 {
		e.Message = fmt.Sprintf("%s: try again in %s", strings.TrimRight(cmp.Or(e.Message, "the provider is busy"), ".: "), e.After.Round(time.Second))
	}
	return err
}
