package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
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

// streamable is streamable HTTP: each message is a POST, whose answer is JSON or a
// stream of its own.
type streamable struct {
	cfg    *Config
	client *http.Client            // for the handshake, which follows redirects
	url    atomic.Pointer[url.URL] // where the handshake was answered
	to     receiver
	header atomic.Pointer[http.Header] // of every request: configured, then session and revision
	up     atomic.Bool                 // the handshake is done
	modern atomic.Bool                 // in the modern era, without a session
	life   context.Context             // of the GET stream
	end    context.CancelFunc
	work   sync.WaitGroup
}

func dialHTTP(_ context.Context, cfg *Config, r receiver) (carrier, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	s := &streamable{cfg: cfg, to: r, client: newHTTPClient(cfg.http)}
	s.url.Store(u)
	h := cfg.header()
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	s.header.Store(&h)
	s.life, s.end = context.WithCancel(context.Background())
	return s, nil
}

// with adds a header to all further requests.
func (s *streamable) with(key, value string) {
	h := s.header.Load().Clone()
	h.Set(key, value)
	s.header.Store(&h)
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

func (s *streamable) request(ctx context.Context, method string, msg *wire.Buffer) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, "", nil)
	if err != nil {
		return nil, err
	}
	req.URL = s.url.Load()
	req.Host = req.URL.Host
	req.Header = *s.header.Load()
	if msg != nil {
		setBody(req, msg)
	}
	return req, nil
}

// roundTrip sends a request. After the handshake it leaves out what http.Client adds,
// which is a tenth of a small call.
func (s *streamable) roundTrip(req *http.Request) (*http.Response, error) {
	if s.up.Load() {
		return s.cfg.http.RoundTrip(req)
	}
	resp, err := s.client.Do(req)
	if err == nil {
		s.url.Store(resp.Request.URL)
	}
	return resp, err
}

// setModern repeats in headers what the body of a request says, as the modern era wants
// it.
func (s *streamable) setModern(req *http.Request, k *call) {
	req.Header = req.Header.Clone()
	req.Header.Set(mcp.HeaderProtocolVersion, wire.ModernRevision)
	req.Header.Set(mcp.HeaderMethod, k.method)
	if k.target != "" {
		name, _ := mcp.EncodeHeaderValue(k.target) // a string always can be
		req.Header.Set(mcp.HeaderName, name)
	}
	for key, value := range k.headers {
		req.Header.Set(key, value)
	}
}

func (s *streamable) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	if k == nil && s.modern.Load() { // its clients send nothing but requests; closing the stream cancels one
		msg.Free()
		return nil
	}
	req, err := s.request(ctx, http.MethodPost, msg)
	if err != nil {
		msg.Free()
		return err
	}
	if k != nil && k.modern {
		s.setModern(req, k)
	}
	resp, err := s.roundTrip(req)
	if err != nil {
		var dial *net.OpError
		if k != nil && !(errors.As(err, &dial) && dial.Op == "dial") {
			k.sent.Store(true) // it may have left
		}
		err = unreachable(s.cfg.URL, err)
		if ctx.Err() == nil && !(k != nil && k.sent.Load()) {
			s.to.lose(err)
		}
		return err
	}
	defer resp.Body.Close()
	if k != nil {
		k.sent.Store(true)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return s.refused(resp, k)
	}
	if id := resp.Header.Get(mcp.HeaderSessionID); id != "" && s.header.Load().Get(mcp.HeaderSessionID) == "" {
		s.with(mcp.HeaderSessionID, id)
	}
	if k == nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
		return nil
	}
	return s.answer(ctx, resp, k)
}

// answer takes what the server answered a request with.
func (s *streamable) answer(ctx context.Context, resp *http.Response, k *call) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		buf, err := wire.ReadBody(resp.Body, resp.ContentLength, s.cfg.MessageBytes)
		if err != nil {
			buf.Free()
			if long := (*wire.TooLongError)(nil); errors.As(err, &long) {
				return tooLong(s.cfg)
			}
			return err
		}
		s.to.receive(buf, k)
	case "text/event-stream":
		if err := s.stream(ctx, resp, k); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the server answered with %q, neither JSON nor an event stream", kind)
	}
	if len(k.reply) == 0 {
		return errors.New("the server ended its answer without a response")
	}
	return nil
}

// stream takes the events of one answer until the response of its call has come. A
// stream that ends before is resumed where it ended, if its events had ids.
func (s *streamable) stream(ctx context.Context, resp *http.Response, k *call) error {
	last, retry := "", time.Second
	for tries := 0; ; tries++ {
		err := s.events(resp.Body, k, &last, &retry)
		resp.Body.Close()
		if len(k.reply) > 0 {
			return nil
		}
		if last == "" || tries >= 5 {
			return fmt.Errorf("the stream ended before the response: %w", err)
		}
		if !sleep(ctx, retry) {
			return ctx.Err()
		}
		if resp, err = s.get(ctx, last); err != nil {
			return err
		}
	}
}

// soonest is when a stream that ended is opened again at the earliest, whatever the server
// wishes: one that ends it at once would be asked in a circle.
const soonest = 100 * time.Millisecond

// events hands the messages of a stream over. It notes the last event id and the
// server's wish when to come back.
func (s *streamable) events(r io.Reader, k *call, last *string, retry *time.Duration) error {
	events := wire.NewEventReader(r, s.cfg.MessageBytes)
	for {
		e, err := events.Next()
		if err != nil {
			return err
		}
		if e.HasID {
			*last = e.ID
		}
		if e.Retry >= 0 {
			*retry = min(max(e.Retry, soonest), time.Minute)
		}
		if e.Data == nil || len(e.Data.B) == 0 {
			e.Data.Free()
			continue
		}
		s.to.receive(e.Data, k)
		if k != nil && len(k.reply) > 0 {
			return nil
		}
	}
}

// get opens a stream for what the server sends by itself, or the rest of one that
// ended after the event last.
func (s *streamable) get(ctx context.Context, last string) (*http.Response, error) {
	req, err := s.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	req.Header = req.Header.Clone()
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set(mcp.HeaderLastEventID, last)
	}
	resp, err := s.roundTrip(req)
	if err != nil {
		return nil, unreachable(s.cfg.URL, err)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		resp.Body.Close()
		return nil, &statusError{code: resp.StatusCode}
	}
	return resp, nil
}

// refused turns an HTTP error into what the caller learns: the server's own JSON-RPC
// error, the end of the session, or the status.
func (s *streamable) refused(resp *http.Response, k *call) error {
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	if s.up.Load() && s.header.Load().Get(mcp.HeaderSessionID) != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest && bytes.Contains(bytes.ToLower(text), []byte("session"))) {
		err := fmt.Errorf("%w (HTTP %d)", errSessionGone, resp.StatusCode)
		s.to.lose(err)
		return err
	}
	err := &statusError{code: resp.StatusCode, text: snippet(bytes.TrimSpace(text))}
	if k == nil || !s.up.Load() && !k.modern {
		return err
	}
	if wire.Valid(text) == nil {
		if object := wire.Lookup(text, "error"); object != nil {
			return remoteError(object)
		}
	}
	return toolformat.Errorf(toolformat.Unavailable, "%s: %v", s.cfg.Name, err)
}

// established opens the stream for what the server sends by itself.
func (s *streamable) established(revision string) {
	if revision >= wire.ModernRevision {
		s.modern.Store(true)
		s.up.Store(true)
		return
	}
	if revision >= "2025-06-18" { // the first revision with this header
		s.with(mcp.HeaderProtocolVersion, revision)
	}
	s.up.Store(true)
	s.work.Go(s.listen)
}

// listen keeps the GET stream open while the server offers one.
func (s *streamable) listen() {
	last, retry := "", time.Second
	for {
		resp, err := s.get(s.life, last)
		var refused *statusError
		switch {
		case errors.As(err, &refused) && refused.code == http.StatusNotFound && s.header.Load().Get(mcp.HeaderSessionID) != "":
			s.to.lose(fmt.Errorf("%w (HTTP 404)", errSessionGone))
			return
		case errors.As(err, &refused) && refused.code < 500:
			return // the server has no such stream
		case err == nil:
			retry = time.Second
			s.events(resp.Body, nil, &last, &retry)
			resp.Body.Close()
		default:
			retry = min(2*retry, 30*time.Second)
		}
		if !sleep(s.life, retry) {
			return
		}
	}
}

// sleep waits; it reports false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// close ends the session at the server, as the specification asks, without waiting
// long for it.
func (s *streamable) close() {
	s.end()
	if s.header.Load().Get(mcp.HeaderSessionID) != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if req, err := s.request(ctx, http.MethodDelete, nil); err == nil {
			if resp, err := s.roundTrip(req); err == nil {
				resp.Body.Close()
			}
		}
		cancel()
	}
	s.work.Wait()
}
