package httpapi

import (
	"bytes"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Client sends the requests for one API over connections of its own. It may be used from many
// goroutines; the values that its fields refer to must not change.
type Client struct {
	Name     string        // of the API, for errors
	URL      *url.URL      // of the API
	Header   http.Header   // of every request; clone it to add more
	Timeout  time.Duration // bounds a call; 0 means the default of a tool
	MaxBytes int           // bounds the part of a body that is read, decompressed
	HTTP     *http.Client  // follows a few redirects, to the same origin only

	secrets     bridge.Secrets // credentials of the config, which an API may repeat
	credentials credentials    // of each request; nil means that Header and URL have all
}

// maxRedirects bounds the redirects that a request follows.
const maxRedirects = 5

// newHTTP returns the client for at most so many connections at a time.
func newHTTP(roots *x509.CertPool, connections int, seeOther bool) *http.Client {
	t := outbound.Transport(roots)
	t.MaxConnsPerHost, t.MaxIdleConns, t.MaxIdleConnsPerHost = connections, connections, connections
	t.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{
		CheckRedirect: func(req *http.Request, via []*http.Request) error { return checkRedirect(req, via, seeOther) },
		Transport:     outbound.NoSwitch(t),
	}
}

// checkRedirect follows a redirect only to the same origin, so that no other server sees auth,
// headers and arguments, and only with the same method, so that a DELETE does not end as a GET;
// 303 asks for a GET. A redirect that is not followed is the answer.
func checkRedirect(req *http.Request, via []*http.Request, seeOther bool) error {
	changed := req.Method != via[len(via)-1].Method
	if len(via) > maxRedirects || outbound.Origin(req.URL) != outbound.Origin(via[0].URL) || req.URL.User != nil ||
		changed && !(seeOther && req.Response.StatusCode == http.StatusSeeOther) {
		return http.ErrUseLastResponse
	}
	return nil
}

// A Call describes the call of a tool, whose request goes with it to Client.Do.
type Call struct {
	Tool    string // name, for errors
	Effect  string // what the API may have carried out, such as "request"; "" means that trying again does no harm
	Retries int    // bounds the attempts after the first one

	// Convert returns the result of an answer with a status of 2xx, whose body is UTF-8 if it is text in a
	// known charset. cut reports whether the body is longer than MaxBytes; that of a HEAD is empty. The
	// result must not refer to the body.
	Convert func(res *http.Response, body []byte, cut bool) *toolformat.Result

	// Explain returns the result of an answer with a status of 4xx or 5xx whose body has a form that
	// the kind knows, nil for any other. Without one the result repeats the beginning of the body.
	Explain func(res *http.Response, body []byte) *toolformat.Result
}

// Do carries out a call. An error means that the API gave no readable answer, and does not show the
// URL, whose query may hold a key. If the request's context has ended, it is the context's error.
func (c *Client) Do(req *http.Request, call Call) (*toolformat.Result, error) {
	res, err := c.send(req, call.Retries)
	if err == nil {
		defer res.Body.Close()
		var r *toolformat.Result
		if r, err = c.result(res, req.Method, call); err == nil {
			return r, nil
		}
	}
	return nil, c.unavailable(req.Context(), call, err)
}

// result returns the result of an answer. An error is one of the connection.
func (c *Client) result(res *http.Response, method string, call Call) (*toolformat.Result, error) {
	if r := c.rejected(res, call); r != nil {
		return r, nil
	}
	if method == http.MethodHead {
		return call.Convert(res, nil, false), nil
	}
	b, cut, err := read(res, c.MaxBytes)
	defer b.Free()
	if err != nil {
		return nil, err
	}
	body, cut, note := toUTF8(res, b.B, cut, c.MaxBytes)
	r := call.Convert(res, c.withoutSent(res, body), cut)
	if note != "" && !r.IsError() {
		r = withNote(r, note)
	}
	return r, nil
}

// withNote returns a result with one more text.
func withNote(r *toolformat.Result, note string) *toolformat.Result {
	content := bytes.TrimSuffix(wire.Lookup(r.JSON, "content"), []byte("]"))
	content = append(bytes.Clone(content), `,{"type":"text","text":`...)
	content = append(wire.AppendString(content, note), "}]"...)
	return &toolformat.Result{JSON: wire.SetMember(r.JSON, "content", content)}
}

// How a request is sent again.
const (
	firstWait  = 100 * time.Millisecond // doubled each time
	maxWait    = 10 * time.Second       // an API that asks for more is not called again
	maxDrained = 4 << 10                // bytes read of an unwanted answer, to keep its connection
)

// send sends a request, and sends it again where that may help.
func (c *Client) send(req *http.Request, retries int) (*http.Response, error) {
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		res, err := c.exchange(req)
		if refused := (*credentialsError)(nil); errors.As(err, &refused) {
			return nil, err
		}
		pause, again := retry(res, err, wait)
		if retries--; !again || retries < 0 || req.Context().Err() != nil {
			return res, err
		}
		if res != nil {
			discard(res)
		}
		select {
		case <-time.After(pause):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // from memory: it never fails
		}
	}
}

// retry reports whether another attempt may succeed, and after which pause: the server's own, or
// else a random one of wait/2 to wait, so that many callers do not come at once.
func retry(res *http.Response, err error, wait time.Duration) (pause time.Duration, again bool) {
	pause = wait/2 + rand.N(wait/2)
	if err != nil {
		return pause, true
	}
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if after, ok := retryAfter(res.Header.Get("Retry-After")); ok {
			return after, after <= maxWait
		}
		return pause, true
	}
	return 0, false
}

// retryAfter parses a Retry-After header: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(value string) (time.Duration, bool) {
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1<<30)) * time.Second, true
	}
	at, err := http.ParseTime(value)
	return max(0, time.Until(at)), err == nil
}

// read reads the body of an answer, at most limit bytes of it; cut reports whether there is more.
// The caller frees the Buffer, also on an error.
func read(res *http.Response, limit int) (b *wire.Buffer, cut bool, err error) {
	if coding := coding(res); coding != "" {
		return wire.NewBuffer(0), false, &codingError{coding}
	}
	b, err = wire.ReadBody(res.Body, min(res.ContentLength, int64(limit)), limit, nil)
	if len(b.B) > limit {
		b.B = b.B[:limit]
		return b, true, nil
	}
	return b, false, err
}

// Close closes the connections that no call uses.
func (c *Client) Close() error {
	c.HTTP.CloseIdleConnections()
	return nil
}
