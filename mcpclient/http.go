package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// proxy is the environment's, as for any Go program.
var proxy = http.ProxyFromEnvironment

// keepIdle is how long an idle connection is kept: shorter than the 5 s after which
// servers on Node and uvicorn close theirs, since a call that meets the closing of its
// connection cannot be repeated.
const keepIdle = 4 * time.Second

// newTransport is one server's connections.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       keepIdle,
		DisableCompression:    true,
		WriteBufferSize:       64 << 10,
		ReadBufferSize:        64 << 10,
		ExpectContinueTimeout: time.Second,
	}
}

// newHTTPClient makes a client that follows redirects only within the host: the
// configured headers may hold secrets.
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

// header is what the configuration sends with every request.
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

// smallBody is what net/http sends together with the headers when it knows that the
// body is in memory; a larger one is sent from its buffer.
const smallBody = 16 << 10

// setBody makes msg, which it takes over, the body of a request.
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
	// With GetBody a request of which nothing was written is sent again by net/http.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(own)), nil }
	req.Body, _ = req.GetBody()
}

// body is a large body. The transport closes it when it no longer reads it, which may
// be after the answer has come: only then its buffer is free.
type body struct {
	bytes.Reader
	buf  *wire.Buffer
	once sync.Once
}

func (b *body) Close() error {
	b.once.Do(b.buf.Free)
	return nil
}

// statusError is an HTTP answer that is no success.
type statusError struct {
	code int
	text string // what was refused, or the start of the body
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

// unreachable says why there is no connection, without the URL's secrets.
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
