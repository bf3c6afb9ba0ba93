package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/outbound"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient/internal/h1"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// streamable is the carrier for streamable HTTP: each message is a POST, whose response is JSON or
// an event stream.
type streamable struct {
	cfg    *Config
	client *http.Client            // for the handshake, which follows redirects
	url    atomic.Pointer[url.URL] // where the handshake was answered
	to     receiver
	way    atomic.Pointer[way]
	mu     sync.Mutex   // held while way is changed
	up     atomic.Bool  // the handshake is done
	modern atomic.Bool  // the handshake was one of the modern era, which has no sessions
	pings  atomic.Int64 // the id of the latest ping: below those of calls
	life   scope.Scope  // of the GET stream
	work   sync.WaitGroup
}

// A way is how requests are sent. It is not changed, but replaced.
type way struct {
	header http.Header // of every request: the config's, then session, revision and credentials
	route  *h1.Route   // of all requests after the handshake; nil means that http.Transport sends them
}

func dialHTTP(_ context.Context, cfg *Config, r receiver) (carrier, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.takeDetour()
	s := &streamable{cfg: cfg, to: r, client: newHTTPClient(cfg.http)}
	s.url.Store(u)
	h := cfg.header()
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	s.way.Store(&way{header: h})
	s.life.Context = context.Background()
	if cfg.Via != nil {
		s.work.Go(func() { cfg.detour.watch(&s.life, r) })
	}
	return s, nil
}

// setHeader sets a header of all further requests, and returns how they are sent; "" removes it.
func (s *streamable) setHeader(key, value string) *way {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.header().Clone()
	if h.Set(key, value); value == "" {
		h.Del(key)
	}
	return s.setWay(h)
}

// setWay sets the headers of all further requests, which http.Transport sends before the end of the handshake
// and where h1 cannot. s.mu is held.
func (s *streamable) setWay(header http.Header) *way {
	w := &way{header: header}
	defer s.way.Store(w)
	u := s.url.Load()
	if !s.up.Load() || !h1.Supported || s.cfg.Via != nil || u.Scheme != "http" || strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }) {
		return w
	}
	if proxy, err := s.cfg.http.Proxy(&http.Request{URL: u}); proxy == nil && err == nil {
		w.route = s.cfg.plain.Route(u, header)
	}
	return w
}

// header returns the headers of every request, which must not be changed.
func (s *streamable) header() http.Header { return s.way.Load().header }

// lends reports whether a request may lie in the memory of its caller: send does not return before it
// has been read.
func (s *streamable) lends() bool {
	w := s.way.Load()
	return w.route != nil && (s.cfg.Auth == nil || w.header.Get("Authorization") == "")
}

// sessionID returns the id of the server's session, "" if it has none.
func (s *streamable) sessionID() string { return s.header().Get(mcp.HeaderSessionID) }

// request sends a request to the server. msg is its body, which request then owns, nil for none;
// header its headers, nil for those of every request; parts are for a connection that lends. Only the
// handshake follows redirects.
func (s *streamable) request(ctx context.Context, method string, header http.Header, msg *wire.Buffer, parts ...[]byte) (*http.Response, error) {
	if s.cfg.Auth == nil {
		return s.exchange(ctx, s.way.Load(), method, header, msg, parts...)
	}
	return s.cfg.authorized(ctx, msg, parts == nil, func(value string, msg *wire.Buffer) (*http.Response, error) {
		w := s.way.Load()
		if w.header.Get("Authorization") != value {
			w = s.setHeader("Authorization", value)
		}
		own := header
		if own != nil {
			own = own.Clone()
			setAuthorization(own, value)
		}
		return s.exchange(ctx, w, method, own, msg, parts...)
	})
}

// exchange is request with the headers as they are.
func (s *streamable) exchange(ctx context.Context, w *way, method string, header http.Header, msg *wire.Buffer, parts ...[]byte) (*http.Response, error) {
	if w.route != nil {
		return w.route.Send(ctx, method, header, msg, parts...)
	}
	if header == nil {
		header = w.header
	}
	req := newRequest(ctx, method, s.url.Load(), header, msg)
	if s.up.Load() {
		return s.cfg.roundTrip(req)
	}
	// A handshake may be repeated if the server closes the idle connection on which it was sent: it has the mark
	// by which http.Transport knows such requests, which is not sent if it is empty.
	req.Header = header.Clone()
	req.Header["Idempotency-Key"] = nil
	resp, err := s.client.Do(req)
	if err == nil {
		s.url.Store(s.cfg.redirected(resp, req.URL))
	}
	return resp, err
}

// modernHeader returns the headers of a request of the modern era, which repeat parts of its body
// (SEP-2243).
func (s *streamable) modernHeader(k *call) http.Header {
	h := s.header().Clone()
	h.Set(mcp.HeaderProtocolVersion, wire.ModernRevision)
	h.Set(mcp.HeaderMethod, k.method)
	if k.target != "" {
		name, _ := mcp.EncodeHeaderValue(k.target) // cannot fail: a string
		h.Set(mcp.HeaderName, name)
	}
	for key, value := range k.headers {
		h.Set(key, value)
	}
	return h
}

// maxID bounds the ids of sessions and events, in bytes: they are kept, and sent as headers, of which many servers take no
// more.
const maxID = 8 << 10

func (s *streamable) send(ctx context.Context, msg *wire.Buffer, k *call) error {
	if k == nil && s.modern.Load() { // the modern era has requests only, canceled by closing the stream
		msg.Free()
		return nil
	}
	var header http.Header
	var parts [][]byte
	if k != nil {
		parts = k.parts
		if k.modern {
			header = s.modernHeader(k)
		}
	}
	resp, err := s.request(ctx, http.MethodPost, header, msg, parts...)
	if refusal := (*authError)(nil); errors.As(err, &refusal) {
		if k != nil && s.up.Load() {
			return s.cfg.errorf(refusal.code, "%v", refusal).Because(refusal)
		}
		return refusal
	}
	if full := (*toolformat.Error)(nil); s.up.Load() && outbound.NotSent(err) && errors.As(err, &full) && full.NotRun {
		return full // of Config.Via
	}
	if err != nil {
		if !outbound.NotSent(err) {
			k.setSent()
		}
		err = unreachable(s.cfg.URL, err)
		if ctx.Err() == nil && !(k != nil && k.sent.Load()) {
			s.to.lose(err)
		}
		return err
	}
	defer resp.Body.Close()
	k.setSent()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return s.refused(ctx, resp, k)
	}
	if id := resp.Header.Get(mcp.HeaderSessionID); id != "" && s.sessionID() == "" {
		if len(id) > maxID {
			return fmt.Errorf("the id of its session has %d bytes, more than %d", len(id), maxID)
		}
		s.setHeader(mcp.HeaderSessionID, id)
	}
	if k == nil {
		if mediaType(resp) != "text/event-stream" { // which may not end
			io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be reused
		}
		return nil
	}
	return s.receive(ctx, resp, k)
}

// receive takes the response of a request.
func (s *streamable) receive(ctx context.Context, resp *http.Response, k *call) error {
	switch mediaType(resp) {
	case "application/json":
		buf, err := wire.ReadBody(resp.Body, resp.ContentLength, s.cfg.MessageBytes, k.passes(resp.ContentLength))
		if err != nil {
			buf.Free()
			if long := (*wire.TooLongError)(nil); errors.As(err, &long) {
				return s.cfg.tooLarge(long)
			}
			return err
		}
		s.to.receive(buf, k)
	case "text/event-stream":
		if err := s.receiveStream(ctx, resp, k); err != nil {
			return err
		}
	default:
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		return fmt.Errorf("the server answered with %q, neither JSON nor an event stream", s.cfg.hideAll(kind))
	}
	if len(k.reply) == 0 {
		return errors.New("the server ended its answer without a response")
	}
	return nil
}

// refusedBytes bounds the body of an HTTP status that is not a success.
const refusedBytes = 64 << 10

// refused returns the error for an HTTP status: the server's own JSON-RPC error, the end of the
// session, or the status.
func (s *streamable) refused(ctx context.Context, resp *http.Response, k *call) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, refusedBytes))
	if s.up.Load() && s.sessionID() != "" && s.sessionGone(ctx, resp.StatusCode, text, k) {
		err := fmt.Errorf("%w (HTTP %d)", errSessionGone, resp.StatusCode)
		s.to.lose(err)
		return err
	}
	err := newStatusError(resp, s.cfg.snippet(bytes.TrimSpace(text)))
	if k == nil || !s.up.Load() && !k.modern {
		return err
	}
	return s.cfg.refusal(err, text, k)
}

// refusal returns the error of a call that an HTTP status with a body refuses: the server's own JSON-RPC error, or the
// status. Bodies of other servers than those of MCP have an "error", too, that is a text.
func (cfg *Config) refusal(err *statusError, text []byte, k *call) *toolformat.Error {
	k.forNow = err.passes()
	if wire.Valid(text) == nil {
		if object := wire.Lookup(text, "error"); len(object) > 0 && object[0] == '{' {
			return cfg.remoteError(object)
		}
	}
	return cfg.errorf(toolformat.Unavailable, "%v", err)
}

// sessionGone reports whether the answer to a request means that the server has ended the session,
// so that the request has not run: HTTP 404 (2025-11-25, transports, session management). Servers
// made like the first examples of the SDKs answer 400, as others do to a call that has failed, with
// an error that may repeat any word of the call. There, and where the body is the response of the
// request, a ping decides.
func (s *streamable) sessionGone(ctx context.Context, status int, text []byte, k *call) bool {
	if !mayEndSession(status, text) {
		return false
	}
	if status == http.StatusNotFound && !answers(text, k) {
		return true
	}
	return s.forgotten(ctx)
}

// forgotten reports whether the server answers a ping as one that does not know the session.
func (s *streamable) forgotten(ctx context.Context) bool {
	msg := &wire.Buffer{B: wire.AppendCall(nil, strconv.AppendInt(nil, s.pings.Add(-1), 10), wire.MethodPing, nil)}
	return forgets(s.request(ctx, http.MethodPost, nil, msg))
}

// forgets reports whether the answer to a ping is that of a server which does not know the session.
func forgets(resp *http.Response, err error) bool {
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode < 300 {
		return false
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, refusedBytes))
	return mayEndSession(resp.StatusCode, text)
}

// answers reports whether a body is the response of a call.
func answers(text []byte, k *call) bool {
	return k != nil && wire.Valid(text) == nil && callID(wire.Lookup(text, "id")) == k.id
}

// mayEndSession reports whether servers answer so in a session that they do not know.
func mayEndSession(status int, text []byte) bool {
	return status == http.StatusNotFound ||
		status == http.StatusBadRequest && bytes.Contains(bytes.ToLower(text), []byte("session"))
}

// established opens the GET stream, unless the modern era has replaced it.
func (s *streamable) established(revision string) {
	modern := revision >= wire.ModernRevision
	if !modern && revision >= "2025-06-18" { // the first revision with this header
		s.setHeader(mcp.HeaderProtocolVersion, revision)
	}
	s.modern.Store(modern)
	s.up.Store(true)
	s.mu.Lock()
	s.setWay(s.header())
	s.mu.Unlock()
	if !modern {
		s.work.Go(s.listen)
	}
}

// close ends the session at the server, as the specification asks, without waiting long for it.
func (s *streamable) close() {
	s.life.Cancel(nil)
	if s.sessionID() != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		if resp, err := s.request(ctx, http.MethodDelete, s.header(), nil); err == nil {
			resp.Body.Close()
		}
		cancel()
	}
	s.work.Wait()
	if s.cfg.Via != nil {
		s.cfg.http.CloseIdleConnections()
	}
}

// maxResumes bounds how often the rest of a stream is asked for in vain.
const maxResumes = 5

// receiveStream takes the events of a response until its call has a reply. A stream that ends
// before that is resumed if its events had ids: as often as the server ends it, since some do so
// rather than keep it open (SEP-1699).
func (s *streamable) receiveStream(ctx context.Context, resp *http.Response, k *call) error {
	last, retry := "", time.Second
	for {
		err := s.events(resp.Body, k, &last, &retry)
		resp.Body.Close()
		if len(k.reply) > 0 {
			return nil
		}
		if last == "" {
			return fmt.Errorf("the stream ended before the response: %w", err)
		}
		if resp, err = s.resume(ctx, last, retry); err != nil {
			return err
		}
	}
}

// resume opens the rest of a stream that ended after the event last.
func (s *streamable) resume(ctx context.Context, last string, retry time.Duration) (*http.Response, error) {
	for tries := 1; ; tries++ {
		if !sleep(ctx, retry) {
			return nil, ctx.Err()
		}
		resp, err := s.get(ctx, last)
		refused, login := (*statusError)(nil), (*authError)(nil)
		switch {
		case err == nil, tries == maxResumes, errors.As(err, &login), errors.As(err, &refused) && !refused.passes():
			return resp, err
		}
	}
}

// minRetry bounds how soon a stream that ended is opened again, whatever the server wishes.
const minRetry = 100 * time.Millisecond

// events passes on the messages of a stream. It sets last to the id of the latest event, and
// retry to the delay that the server wishes before the stream is opened again.
func (s *streamable) events(r io.Reader, k *call, last *string, retry *time.Duration) error {
	events := wire.NewEventReader(r, s.cfg.MessageBytes)
	for {
		e, err := events.Next()
		if long, ok := err.(*wire.TooLongError); ok {
			s.to.tooLong(long, k)
			if k != nil && len(k.reply) > 0 {
				return nil
			}
			continue
		} else if err != nil {
			return err
		}
		if e.HasID {
			if *last = e.ID; len(e.ID) > maxID {
				*last = ""
			}
		}
		if e.Retry >= 0 {
			*retry = min(max(e.Retry, minRetry), time.Minute)
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

// get opens a stream for messages that belong to no request, or the rest of a stream that ended
// after the event last.
func (s *streamable) get(ctx context.Context, last string) (*http.Response, error) {
	header := s.header().Clone()
	header.Del("Content-Type")
	header.Set("Accept", "text/event-stream")
	if last != "" {
		header.Set(mcp.HeaderLastEventID, last)
	}
	resp, err := s.request(ctx, http.MethodGet, header, nil)
	if err != nil {
		return nil, unreachable(s.cfg.URL, err)
	}
	return resp, notStream(resp)
}

// listen keeps the GET stream open while the server offers one. One that does not may answer 404, as
// routers do, like one that has ended the session.
func (s *streamable) listen() {
	last, retry := "", time.Second
	for {
		resp, err := s.get(&s.life, last)
		var refused *statusError
		switch {
		case errors.As(err, &refused) && refused.code == http.StatusNotFound && s.sessionID() != "" && s.forgotten(&s.life):
			s.to.lose(fmt.Errorf("%w (HTTP 404)", errSessionGone))
			return
		case refused != nil && !refused.passes() && last == "":
			return // the server has no such stream
		case refused != nil && !refused.passes():
			last = "" // the server may not have what follows that event any more
		case err == nil:
			retry = time.Second
			s.events(resp.Body, nil, &last, &retry)
			resp.Body.Close()
		default:
			retry = min(2*retry, 30*time.Second)
		}
		if !sleep(&s.life, retry) {
			return
		}
	}
}

// sleep waits for d; false means that ctx ended before that.
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
