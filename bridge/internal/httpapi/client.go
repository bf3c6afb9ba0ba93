package httpapi

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A Client sends the requests for one API over connections of its own. It may be used from many
// goroutines; the values that its fields refer to must not change.
type Client struct {
	Name     string        // of the API, for errors
	URL      *url.URL      // of the API
	Header   http.Header   // of every request; clone it to add more
	Timeout  time.Duration // bounds a call; 0 means the default of a tool
	MaxBytes int           // bounds the part of a body that Read reads, decompressed
	HTTP     *http.Client  // follows a few redirects, to the same origin only

	secrets bridge.Secrets // credentials of the config, which an API may repeat
}

// maxRedirects bounds the redirects that a request follows.
const maxRedirects = 5

func newHTTP(connections int, seeOther bool) *http.Client {
	return &http.Client{
		CheckRedirect: func(req *http.Request, via []*http.Request) error { return checkRedirect(req, via, seeOther) },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment, // never for loopback
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			IdleConnTimeout:        90 * time.Second,
			ExpectContinueTimeout:  time.Second,
			MaxConnsPerHost:        connections,
			MaxIdleConns:           connections,
			MaxIdleConnsPerHost:    connections,
			MaxResponseHeaderBytes: 256 << 10,
		},
	}
}

// checkRedirect follows a redirect only to the same origin, so that no other server sees auth,
// headers and arguments, and only with the same method, so that a DELETE does not end as a GET;
// 303 asks for a GET. A redirect that is not followed is the answer.
func checkRedirect(req *http.Request, via []*http.Request, seeOther bool) error {
	changed := req.Method != via[len(via)-1].Method
	if len(via) > maxRedirects || originOf(req.URL) != originOf(via[0].URL) || req.URL.User != nil ||
		changed && !(seeOther && req.Response.StatusCode == http.StatusSeeOther) {
		return http.ErrUseLastResponse
	}
	return nil
}

// originOf returns the origin of a URL, which a redirect must not leave (RFC 6454, section 4).
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Read reads the body of an answer, at most MaxBytes of it; cut reports whether there is more. The
// caller frees the Buffer, also on an error, which is one for Away.
func (c *Client) Read(res *http.Response) (b *wire.Buffer, cut bool, err error) {
	if coding := coding(res); coding != "" {
		return wire.NewBuffer(0), false, &codingError{coding}
	}
	return read(res, c.MaxBytes)
}

func read(res *http.Response, limit int) (b *wire.Buffer, cut bool, err error) {
	b, err = wire.ReadBody(res.Body, min(res.ContentLength, int64(limit)), limit)
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
