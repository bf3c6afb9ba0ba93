package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// idleConnTime is how long an idle connection is kept: shorter than the 5 s after which servers
// on Node and uvicorn close theirs, since a call that meets the closing of its connection cannot
// be repeated.
const idleConnTime = 4 * time.Second

// newTransport makes the connections to one server.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       idleConnTime,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
		ExpectContinueTimeout: time.Second,
	}
}

// newHTTPClient makes a client that follows redirects only within the host: the configured
// headers may be secret.
func newHTTPClient(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host {
			return fmt.Errorf("refused a redirect to another host (%s): put that URL in the config if it is right", r.URL.Host)
		}
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
}

// header returns the headers of the config, with the credentials in its URL.
func (cfg *Config) header() http.Header {
	h := make(http.Header, len(cfg.Headers)+4)
	if u, err := url.Parse(cfg.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(u.User.Username(), password)
	}
	for k, v := range cfg.Headers {
		h.Set(k, v)
	}
	return h
}

// smallBody is the size up to which net/http sends a body together with the headers if it knows
// that the body is in memory. A larger body is sent from its buffer.
const smallBody = 16 << 10

// setBody makes msg, which it then owns, the body of a request.
func setBody(req *http.Request, msg *wire.Buffer) {
	req.ContentLength = int64(len(msg.B))
	if len(msg.B) > smallBody {
		b := &body{buf: msg}
		b.Reset(msg.B)
		req.Body = b
		return
	}
	own := bytes.Clone(msg.B)
	msg.Free()
	// GetBody lets net/http resend a request of which nothing was written.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(own)), nil }
	req.Body, _ = req.GetBody()
}

// body is a large body. The transport closes it when it no longer reads it, which may be after
// the response has come: only then its buffer can be freed.
type body struct {
	bytes.Reader
	buf  *wire.Buffer
	once sync.Once
}

func (b *body) Close() error {
	b.once.Do(b.buf.Free)
	return nil
}

// mediaType returns the type of a response's body, without parameters.
func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// notStream closes a response that is not an event stream and returns its status as an error; nil
// means that it is one.
func notStream(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream" {
		return nil
	}
	resp.Body.Close()
	return &statusError{code: resp.StatusCode}
}

// statusError is an HTTP status that is not a success.
type statusError struct {
	code int
	text string // the request that was refused, or the start of the body
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
	if e.text != "" {
		s += ": " + e.text
	}
	switch e.code {
	case http.StatusUnauthorized, http.StatusForbidden:
		s += " (check the headers in its config)"
	}
	return s
}

// unreachable wraps the error of a connection attempt, without the secrets of the URL.
func unreachable(rawURL string, err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	where := rawURL
	if u, perr := url.Parse(rawURL); perr == nil {
		where = u.Scheme + "://" + u.Host + u.Path
	}
	return fmt.Errorf("cannot reach %s: %w", where, err)
}
