package rest

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// How a request is repeated.
const (
	firstWait  = 100 * time.Millisecond // doubled each time
	maxWait    = 10 * time.Second       // who is told to wait longer gets the answer that says so
	maxDrained = 4 << 10                // of an answer that is not wanted, to keep its connection
)

// call carries out a call. It implements bridge.Tool.Call.
func (t *tool) call(ctx context.Context, raw json.RawMessage) (*toolformat.Result, error) {
	req, err := t.request(ctx, readArguments(raw))
	if err != nil {
		return nil, err
	}
	res, err := t.send(req)
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

// away is the error of an API that did not answer.
func (t *tool) away(ctx context.Context, err error) error {
	next := "try again later"
	if !isIdempotent(t.method) {
		next = "the request may have been carried out all the same: look before you try again"
	}
	return t.backend.Away(ctx, t.name, next, err)
}

// isIdempotent: a second request does nothing more than the first (RFC 9110, 9.2.2).
func isIdempotent(method string) bool {
	return method != http.MethodPost && method != http.MethodPatch
}

// send sends a request, again where that does no harm and may help.
func (t *tool) send(req *http.Request) (*http.Response, error) {
	tries := 1
	if isIdempotent(req.Method) {
		tries += t.backend.retries
	}
	for wait := firstWait; ; wait *= 2 {
		res, err := t.backend.HTTP.Do(req)
		pause, again := retry(res, err, wait)
		if tries--; !again || tries == 0 || req.Context().Err() != nil {
			return res, err
		}
		if res != nil {
			_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
			res.Body.Close()
		}
		if err := sleep(req.Context(), pause); err != nil {
			return nil, err
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retry reports whether a request may succeed when it is sent once more, and after what
// time. Without a word of the server that is left to chance, so that many callers do not
// come at once.
func retry(res *http.Response, err error, wait time.Duration) (time.Duration, bool) {
	wait = min(wait, maxWait)
	if err != nil {
		return jitter(wait), true
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if after, ok := retryAfter(res.Header.Get("Retry-After")); ok {
			return after, after <= maxWait
		}
		return jitter(wait), true
	}
	return 0, false
}

// jitter is a time between half of d and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// retryAfter reads Retry-After (RFC 9110, 10.2.3): seconds or a date.
func retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
