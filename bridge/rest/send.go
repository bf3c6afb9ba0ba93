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

// How a request is sent again.
const (
	firstWait  = 100 * time.Millisecond // doubled each time
	maxWait    = 10 * time.Second       // an API that asks for more is not called again
	maxDrained = 4 << 10                // bytes read of an unwanted answer, to keep its connection
)

// call implements bridge.Tool.Call.
func (t *tool) call(ctx context.Context, raw json.RawMessage) (*toolformat.Result, error) {
	req, err := t.request(ctx, readArguments(raw))
	if err != nil {
		return nil, err
	}
	res, err := t.send(req)
	if err == nil {
		defer res.Body.Close()
		var r *toolformat.Result
		if r, err = t.result(res); err == nil {
			return r, nil
		}
	}
	effect := ""
	if !isIdempotent(t.method) {
		effect = "request"
	}
	return nil, t.backend.Away(ctx, t.name, effect, err)
}

// isIdempotent reports whether a second request changes nothing more (RFC 9110, section 9.2.2).
func isIdempotent(method string) bool {
	return method != http.MethodPost && method != http.MethodPatch
}

// send sends a request, and sends it again where that does no harm and may help.
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
		select {
		case <-time.After(pause):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// retry reports whether another attempt may succeed, and after which pause: the server's own, or
// else a random one, so that many callers do not come at once.
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

// jitter returns a random duration between d/2 and d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// retryAfter parses a Retry-After header: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}
