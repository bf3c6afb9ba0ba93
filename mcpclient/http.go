package mcpclient

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// idleConnTime is how long an idle connection is kept: shorter than the 5 s after which servers
// on Node and uvicorn close theirs, since a call that meets the closing of its connection cannot
// be repeated.
const idleConnTime = 4 * time.Second

// newTransport makes the connections to one server, but for those of an h1.Pool. Its buffers have
// the size of a TLS record.
func newTransport(roots *x509.CertPool) *http.Transport {
	t := outbound.Transport(roots)
	t.MaxIdleConnsPerHost = 256
	t.IdleConnTimeout = idleConnTime
	t.DisableCompression = true
	t.WriteBufferSize, t.ReadBufferSize = 16<<10, 16<<10
	return t
}

// maxRedirects bounds the redirects that a request follows.
const maxRedirects = 5

// newHTTPClient makes a client that follows a redirect only where the configured headers, which
// may be secret, can go: to the same origin, or from http to https on the default ports of a host. It does
// not follow one that would make a POST a GET, which is no message: that is the response.
func newHTTPClient(t *http.Transport) *http.Client {
	return &http.Client{Transport: outbound.NoSwitch(t), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		from, to := outbound.Origin(via[len(via)-1].URL), outbound.Origin(r.URL)
		host, plain := strings.CutPrefix(from, "http://")
		upgrade := plain && to == "https://"+strings.TrimSuffix(host, ":80")+":443"
		switch {
		case strings.HasPrefix(from, "https:") && !strings.HasPrefix(to, "https:"):
			return fmt.Errorf("refused a redirect from https to %s: it would send the headers in its config unencrypted", bare(r.URL))
		case from != to && !upgrade:
			return fmt.Errorf("refused a redirect to another origin: if %s is right, put it in the config", bare(r.URL))
		case len(via) > maxRedirects:
			return errors.New("too many redirects")
		case r.Method != via[0].Method:
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// redirected returns the URL that answered a request, with a warning if it is not the URL asked.
func (cfg *Config) redirected(resp *http.Response, asked *url.URL) *url.URL {
	if now := resp.Request.URL; *now != *asked {
		cfg.throttle.Log(slog.LevelWarn, "the server redirects: put the new URL in the config", "url", bare(now))
		return now
	}
	return asked
}

// bare returns a URL without its parts that may be secret.
func bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

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

// newRequest makes a request. If msg is not nil it is the body, and owned by the request.
func newRequest(ctx context.Context, method string, u *url.URL, header http.Header, msg *wire.Buffer) *http.Request {
	req, _ := http.NewRequestWithContext(ctx, method, "", nil) // cannot fail: there is no URL to parse
	req.URL, req.Host, req.Header = u, u.Host, header
	if msg != nil {
		setBody(req, msg)
	}
	return req
}

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
	kind := resp.Header.Get("Content-Type")
	if kind == "application/json" { // which needs no parsing
		return kind
	}
	kind, _, _ = mime.ParseMediaType(kind)
	return kind
}

// notStream closes a response that is not an event stream and returns its status as an error; nil
// means that it is one.
func notStream(resp *http.Response) error {
	if resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream" {
		return nil
	}
	resp.Body.Close()
	return newStatusError(resp, "")
}

// statusError is an HTTP status that is not a success.
type statusError struct {
	code  int
	text  string // the request that was refused, or the start of the body
	oauth bool   // the server names an authorization server (RFC 9728)
}

// passes reports whether the same request may be answered later: a server may have to notice first that
// the stream is lost which it is to go on with (409).
func (e *statusError) passes() bool {
	return e.code >= 500 || e.code == http.StatusConflict || e.code == http.StatusTooManyRequests || e.code == http.StatusRequestTimeout
}

func newStatusError(resp *http.Response, text string) *statusError {
	if to, err := resp.Location(); err == nil && to.Host != "" && resp.StatusCode/100 == 3 {
		if resp.Request != nil && resp.Request.Header.Get("Upgrade") != "" { // of a WebSocket
			to.Scheme = strings.Replace(to.Scheme, "http", "ws", 1)
		}
		text = fmt.Sprintf("it redirects to %s: if that is right, put it in the config", bare(to))
	}
	challenge := strings.Join(resp.Header.Values("Www-Authenticate"), ",")
	return &statusError{resp.StatusCode, text, strings.Contains(challenge, "resource_metadata")}
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
	if e.text != "" {
		s += ": " + e.text
	}
	switch {
	case e.oauth && e.code == http.StatusUnauthorized:
		s += " (it wants OAuth, for which its config needs an https url, and neither an Authorization header nor \"oauth\": false)"
	case e.code == http.StatusUnauthorized, e.code == http.StatusForbidden:
		s += " (check the headers in its config)"
	}
	return s
}

// unreachable wraps the error of a connection attempt, without the secrets of the URL.
func unreachable(rawURL string, err error) error {
	if refusal := (*authError)(nil); errors.As(err, &refusal) {
		return refusal
	}
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	where := rawURL
	if u, perr := url.Parse(rawURL); perr == nil {
		where = bare(u)
	}
	return fmt.Errorf("cannot reach %s: %w", where, err)
}

// sse is the carrier for the HTTP+SSE transport of revision 2024-11-05: the server's messages come
// on one stream, whose first event names the URL to which the client's messages are posted.
type sse struct {
	cfg    *Config
	to     receiver
	client *http.Client
	header http.Header
	post   *url.URL    // where to post
	up     atomic.Bool // the handshake is done
	end    context.CancelFunc
	work   sync.WaitGroup
}

func dialSSE(ctx context.Context, cfg *Config, r receiver) (carrier, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	s := &sse{cfg: cfg, to: r, client: newHTTPClient(cfg.http), header: cfg.header()}
	var life context.Context
	life, s.end = context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, s.end) // ctx bounds dialing, not the stream
	defer stop()
	resp, events, err := s.open(life, u)
	if err != nil {
		s.end()
		return nil, err
	}
	s.work.Go(func() {
		defer resp.Body.Close()
		r.lose(s.receive(events, r))
	})
	return s, nil
}

// open opens the stream and reads its first event.
func (s *sse) open(ctx context.Context, u *url.URL) (*http.Response, *wire.EventReader, error) {
	resp, err := s.request(ctx, http.MethodGet, u, "Accept", "text/event-stream", nil)
	if err != nil {
		return nil, nil, unreachable(s.cfg.URL, err)
	}
	if notStream(resp) != nil {
		return nil, nil, newStatusError(resp, "a GET for the legacy SSE transport")
	}
	events := wire.NewEventReader(resp.Body, s.cfg.MessageBytes)
	e, err := events.Next()
	if err == nil && (e.Type != "endpoint" || e.Data == nil) {
		err = fmt.Errorf("the first event of the SSE stream is %q, not its endpoint", e.Type)
	}
	if err == nil {
		s.post, err = endpoint(s.cfg.redirected(resp, u), string(e.Data.B))
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	e.Data.Free()
	return resp, events, nil
}

// request sends a request with a header beside those of all requests.
func (s *sse) request(ctx context.Context, method string, u *url.URL, key, value string, msg *wire.Buffer) (*http.Response, error) {
	send := func(authorization string, msg *wire.Buffer) (*http.Response, error) {
		req := newRequest(ctx, method, u, s.header.Clone(), msg)
		req.Header.Set(key, value)
		if s.cfg.Auth != nil {
			setAuthorization(req.Header, authorization)
		}
		return s.client.Do(req)
	}
	if s.cfg.Auth == nil {
		return send("", msg)
	}
	return s.cfg.authorized(ctx, msg, true, send)
}

// endpoint resolves the URL to post to. It must be of the same origin, or the configured headers
// would go elsewhere.
func endpoint(base *url.URL, ref string) (*url.URL, error) {
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fmt.Errorf("the endpoint of the SSE stream is not a URL: %w", err)
	}
	if outbound.Origin(u) != outbound.Origin(base) {
		return nil, fmt.Errorf("the endpoint of the SSE stream is of another origin: %s", bare(u))
	}
	return u, nil
}

// receive passes on the messages of the stream. The error says why it ended.
func (s *sse) receive(events *wire.EventReader, r receiver) error {
	for {
		e, err := events.Next()
		long, isLong := err.(*wire.TooLongError)
		switch {
		case isLong:
			r.tooLong(long, nil)
			continue
		case errors.Is(err, io.EOF):
			return errors.New("the server closed the SSE stream")
		case err != nil:
			return fmt.Errorf("the SSE stream ended: %w", err)
		}
		if e.Data == nil || len(e.Data.B) == 0 || e.Type != "" && e.Type != "message" {
			e.Data.Free()
			continue
		}
		r.receive(e.Data, nil)
	}
}

func (s *sse) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	resp, err := s.request(ctx, http.MethodPost, s.post, "Content-Type", "application/json", msg)
	if refusal := (*authError)(nil); errors.As(err, &refusal) && k != nil {
		return s.cfg.errorf(refusal.code, "%v", refusal).Because(refusal)
	}
	if !outbound.NotSent(err) {
		k.setSent()
	}
	if err != nil {
		return unreachable(s.post.String(), err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, refusedBytes))
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	refused := newStatusError(resp, s.cfg.snippet(bytes.TrimSpace(text)))
	switch {
	case k == nil || !s.up.Load():
		return refused
	case mayEndSession(refused.code, text) && s.forgotten(ctx):
		err := fmt.Errorf("%w (HTTP %d)", errSessionGone, refused.code)
		s.to.lose(err)
		return err
	}
	return s.cfg.refusal(refused, text, k)
}

// forgotten reports whether the server answers a ping as one that does not know the session, whose stream may live all
// the same. A response to it is not waited for.
func (s *sse) forgotten(ctx context.Context) bool {
	msg := &wire.Buffer{B: wire.AppendCall(nil, []byte("-1"), wire.MethodPing, nil)}
	return forgets(s.request(ctx, http.MethodPost, s.post, "Content-Type", "application/json", msg))
}

func (s *sse) established(string) { s.up.Store(true) }

func (s *sse) close() {
	s.end()
	s.work.Wait()
}
