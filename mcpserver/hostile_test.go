package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// made is a source whose sessions call a function of the test.
type made func(ctx context.Context, req *bridge.Request) bridge.Reply

func (m made) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return m, nil }
func (m made) Close() error                                                 { return nil }
func (m made) Do(ctx context.Context, req *bridge.Request) bridge.Reply     { return m(ctx, req) }
func (m made) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(kind, nil), nil
}

// newMade returns a server of such a source.
func newMade(t *testing.T, opts Options, do made) *parked {
	sourcetest.NoLeaks(t)
	return newInBubble(t, opts, do)
}

// newInBubble is newMade in a synctest bubble, which ends after its goroutines in any case.
func newInBubble(t *testing.T, opts Options, do made) *parked {
	p := &parked{T: t, Server: New(do, opts)}
	t.Cleanup(func() { p.CheckLeftover(t) })
	t.Cleanup(func() { p.Close() })
	return p
}

// legacy posts a message in the legacy era.
func (p *parked) legacy(ctx context.Context, session, msg string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/mcp", strings.NewReader(msg))
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set(mcp.HeaderSessionID, session)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	return w
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{}}}`

func okay(context.Context, *bridge.Request) bridge.Reply { return bridge.Result([]byte("{}"), nil) }

// An initialize that fails just as its answer becomes a stream removes no header that is being
// written.
func TestInitializeFailsLate(t *testing.T) {
	fail := make(chan struct{})
	p := newMade(t, Options{}, func(context.Context, *bridge.Request) bridge.Reply {
		<-fail
		return bridge.Failed(unavailable("x"))
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")) })
	}
	for n := 0; n < 20; {
		runtime.Gosched()
		p.sessions.mu.Lock()
		n = len(p.sessions.sessions)
		p.sessions.mu.Unlock()
	}
	wg.Go(func() {
		for {
			var x *exchange
			p.upgrader.mu.Lock()
			for x = range p.upgrader.waiting {
				break
			}
			p.upgrader.mu.Unlock()
			if x == nil {
				return
			}
			p.upgrader.forget(x)
			x.openStream()
		}
	})
	close(fail)
	wg.Wait()
}

// What a client sends before its initialize is answered does not end the session, of which it knows once the answer has
// become a stream.
func TestPingBeforeInitialized(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	p := newMade(t, Options{}, func(context.Context, *bridge.Request) bridge.Reply {
		close(begun)
		<-end
		return bridge.Result([]byte("{}"), nil)
	})
	initialized := make(chan string, 1)
	go func() { initialized <- p.legacy(t.Context(), "", fmt.Sprintf(hello, "{}")).Body.String() }()
	<-begun
	id := ""
	p.sessions.mu.Lock()
	for id = range p.sessions.sessions {
	}
	p.sessions.mu.Unlock()
	for method, want := range map[string]string{"ping": `"result":{}`, "tools/list": "before initialize"} {
		if w := p.legacy(t.Context(), id, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", method, w.Code, w.Body)
		}
	}
	close(end)
	if got := <-initialized; !strings.Contains(got, `"protocolVersion"`) {
		t.Errorf("initialize: %s", got)
	}
}

// A client's capabilities are kept as long as its session, and are therefore bounded.
func TestCapabilitiesBound(t *testing.T) {
	p := newMade(t, Options{}, okay)
	long := `{"experimental":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	if w := p.legacy(t.Context(), "", fmt.Sprintf(hello, long)); !strings.Contains(w.Body.String(), "capabilities") || w.Header().Get(mcp.HeaderSessionID) != "" {
		t.Errorf("legacy: %v %.300s", w.Header(), w.Body)
	}
	msg := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + long + `}}}`
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(msg))
	for k, v := range map[string]string{"Content-Type": "application/json", "Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": "server/discover"} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || len(p.views.views) > 0 {
		t.Errorf("modern: HTTP %d, %d views: %.300s", w.Code, len(p.views.views), w.Body)
	}
}

// All journals together keep to their bound, whatever the size of a single message.
func TestJournalsBound(t *testing.T) {
	p := newMade(t, Options{}, okay)
	large := make([]byte, journalsBytes/4)
	var sessions []*session
	for range 10 {
		s := p.newHTTPSession(identity{})
		s.journal.addEvent(1, 1, large)
		sessions = append(sessions, s)
	}
	if kept := p.opts().accounts.whole.used[journaledBytes].Load(); kept > journalsBytes || kept == 0 {
		t.Errorf("%d bytes are kept, at most %d may be", kept, journalsBytes)
	}
	for _, s := range sessions {
		s.end(errEnded)
	}
	if kept := p.opts().accounts.whole.used[journaledBytes].Load(); kept != 0 {
		t.Errorf("%d bytes are left", kept)
	}
}

// A message that is posted as its SSE session ends starts no goroutine that outlives close.
func TestSSEMessageAsItEnds(t *testing.T) {
	p := newMade(t, Options{}, okay)
	for range 200 {
		d := p.newDuplex(identity{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				d.receive(message{Buffer: &wire.Buffer{B: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}})
				d.receive(message{Buffer: &wire.Buffer{B: []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)}})
			})
		}
		d.close(io.EOF)
		wg.Wait()
	}
}

// A session that is in use is not evicted.
func TestSessionInUseStays(t *testing.T) {
	p := newMade(t, Options{Sessions: 2}, okay)
	busy, idle := p.newHTTPSession(identity{}), p.newHTTPSession(identity{})
	for i, s := range []*session{busy, idle} {
		if err := p.sessions.add(s); err != nil {
			t.Fatal(err)
		}
		s.used.Store(time.Now().Add(-time.Hour + time.Duration(i)*time.Minute).UnixNano())
	}
	busy.readers.Add(1)
	if err := p.sessions.add(p.newHTTPSession(identity{})); err != nil {
		t.Fatal(err)
	}
	if busy.ctx.Err() != nil {
		t.Error("the session in use was ended")
	}
	if err := p.sessions.add(p.newHTTPSession(identity{})); err == nil {
		t.Error("a third session")
	}
}

// A question that its source has withdrawn does not reach the client.
func TestParkedQuestionWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParked(t)
		p.Server.source = made(func(ctx context.Context, req *bridge.Request) bridge.Reply {
			own, cancel := context.WithTimeout(ctx, gatherTime/4)
			defer cancel()
			req.Back.Ask(own, wire.MethodElicit, nil)
			time.Sleep(3 * gatherTime)
			return bridge.Result([]byte(`{"content":[]}`), nil)
		})
		if _, body := p.post(t.Context(), "a", "t", ""); !strings.Contains(string(body), `"content":[]`) {
			t.Errorf("got %s", body)
		}
	})
}

// Questions that come within the time for that reach the client together.
func TestParkedQuestionsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newParked(t)
		p.Server.source = made(func(ctx context.Context, req *bridge.Request) bridge.Reply {
			var asked sync.WaitGroup
			for i := range 3 {
				asked.Go(func() {
					time.Sleep(time.Duration(i) * gatherTime / 3)
					req.Back.Ask(ctx, wire.MethodElicit, fmt.Appendf(nil, `{"message":"%d"}`, i))
				})
			}
			asked.Wait()
			return bridge.Result([]byte(`{"content":[]}`), nil)
		})
		if _, body := p.post(t.Context(), "a", "t", ""); strings.Count(string(body), `"message":`) != 3 {
			t.Errorf("got %s", body)
		}
	})
}

// An announced length takes no memory before the bytes arrive.
func TestClaimedLength(t *testing.T) {
	p := newMade(t, Options{}, okay)
	begun := make(chan struct{})
	r := httptest.NewRequest("POST", "http://127.0.0.1/mcp", &stalled{begun: begun})
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = 64 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.Handler().ServeHTTP(httptest.NewRecorder(), r)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were taken for a body of one byte", n)
	}
}

// stalled is a body that fails after its first byte.
type stalled struct{ begun chan struct{} }

func (s *stalled) Read(b []byte) (int, error) {
	select {
	case <-s.begun:
		return 0, errors.New("cut")
	default:
		close(s.begun)
		b[0] = '{'
		return 1, nil
	}
}

// A result that is not an object becomes an error in the modern era, whose results have a
// resultType.
func TestResultIsNoObject(t *testing.T) {
	for _, result := range []string{`[]`, `"x"`, `5`, `null`} {
		p := newMade(t, Options{Access: Access{Tokens: map[string]string{"ann": "a"}}}, func(context.Context, *bridge.Request) bridge.Reply {
			return bridge.Result([]byte(result), nil)
		})
		_, body := p.post(t.Context(), "a", "t", "")
		if wire.Valid(body) != nil || wire.Lookup(body, "error") == nil {
			t.Errorf("%s becomes %s", result, body)
		}
	}
}

// A member of a server of the legacy era that only the modern era has is not repeated, however it is written:
// of two, clients would take the server's.
func TestModernMembersOfLegacyResult(t *testing.T) {
	for _, c := range []struct{ method, result, want string }{
		{"tools/call", `{"content":[],"resultType":"input_required"}`, `{"resultType":"complete","content":[]}`},
		{"tools/call", `{"resultType" : "task", "a":1, "resultType":2, "ttlMs":5}`, `{"resultType":"complete","a":1,"ttlMs":5}`},
		{"tools/call", `{"result\u0054ype":"task"}`, `{"resultType":"complete"}`},
		{"tools/call", `{ "content":[{"resultType":"a"}] }`, `{"resultType":"complete","content":[{"resultType":"a"}] }`},
		{"resources/read", `{"contents":[],"ttlMs":9,"cacheScope":"public"}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}`},
	} {
		p := newMade(t, Options{}, func(context.Context, *bridge.Request) bridge.Reply { return bridge.Result([]byte(c.result), nil) })
		if body := p.send(c.method, "x", `"name":"x","uri":"x",`, "").Body.Bytes(); string(wire.Lookup(body, "result")) != c.want {
			t.Errorf("%s: %s becomes %s", c.method, c.result, body)
		}
	}
}

// A source that does not name itself can be discovered.
func TestDiscoverWithoutServerInfo(t *testing.T) {
	p := newMade(t, Options{}, okay)
	if w := p.send(wire.MethodDiscover, "", "", ""); wire.Valid(w.Body.Bytes()) != nil || wire.Lookup(w.Body.Bytes(), "result", "supportedVersions") == nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A GET stream that is opened as its session ends is closed too.
func TestStreamOfEndedSession(t *testing.T) {
	p := newMade(t, Options{}, okay)
	s := p.newHTTPSession(identity{})
	s.journal.sessionStream()
	s.end(errEnded)
	select {
	case <-s.journal.sessionStream().box.done:
	default:
		t.Error("the stream is open")
	}
}

// A GET stream that follows one whose client was too slow uses none of its event ids, though the
// reader of the first may still be taking what was left.
func TestEventIDsOfStreamsInARow(t *testing.T) {
	p := newMade(t, Options{}, okay)
	s := p.newHTTPSession(identity{})
	defer s.end(errEnded)
	seen := map[int64]bool{}
	first := s.journal.sessionStream()
	first.box.end(errSlow)
	second := s.journal.sessionStream()
	for _, st := range []*stream{first, second, first, second} {
		batch := []*wire.Buffer{{B: []byte("{}")}, {B: []byte("{}")}}
		seq := st.record(batch)
		for i := range batch {
			if id := seq + int64(i); seen[id] {
				t.Errorf("event id %d occurs twice", id)
			} else {
				seen[id] = true
			}
		}
	}
}

// A large answer has a write deadline for each of its parts.
func TestLargeAnswerHasDeadlines(t *testing.T) {
	w := &timed{ResponseRecorder: httptest.NewRecorder(), allowed: 100}
	result := []byte(`{"x":"` + strings.Repeat("x", 10<<20) + `"}`)
	(&response{id: []byte("1"), reply: bridge.Result(result, nil)}).writeJSON(w, newAccounts(newSettings(Options{}, nil), nil).of(bridge.Principal{}))
	if w.late > 0 || w.deadlines < 10 || w.Body.Len() != len(result)+len(`{"jsonrpc":"2.0","id":1,"result":}`) {
		t.Errorf("%d deadlines, %d bytes, %d of them without", w.deadlines, w.Body.Len(), w.late)
	}
}

// So has a short answer, which the HTTP server flushes once it is complete: a client may send one
// request after the other and read nothing.
func TestShortAnswerHasDeadline(t *testing.T) {
	p := newMade(t, Options{}, okay)
	for url, want := range map[string]int{"127.0.0.1/mcp": 415, "127.0.0.1/": 415, "127.0.0.1/sse": 405, "127.0.0.1/other": 404, "evil.example/mcp": 403} {
		w := &timed{ResponseRecorder: httptest.NewRecorder(), allowed: 1000}
		p.Handler().ServeHTTP(w, httptest.NewRequest("POST", "http://"+url, strings.NewReader("{}")))
		if w.deadlines == 0 || w.Code != want {
			t.Errorf("%s: HTTP %d, %d deadlines", url, w.Code, w.deadlines)
		}
	}
}

// So has a large event.
func TestLargeEventHasDeadlines(t *testing.T) {
	w := &timed{ResponseRecorder: httptest.NewRecorder(), allowed: 100}
	data := strings.Repeat("x", 10<<20)
	e := newEventWriter(w)
	e.write("message", "1-1", []byte(data))
	if want := "event: message\nid: 1-1\ndata: " + data + "\n\n"; w.late > 0 || w.deadlines < 10 || w.Body.String() != want {
		t.Errorf("%d deadlines, %d bytes, %d of them without", w.deadlines, w.Body.Len(), w.late)
	}
}

// timed records what is written without a deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadlines, allowed, late int
}

func (t *timed) SetWriteDeadline(time.Time) error {
	t.deadlines++
	t.allowed = largePart + 100
	return nil
}

func (t *timed) Write(b []byte) (int, error) {
	if t.allowed -= len(b); t.allowed < 0 {
		t.late += len(b)
	}
	return t.ResponseRecorder.Write(b)
}

// WebSocket sessions count towards Options.Sessions.
func TestWebSocketsBound(t *testing.T) {
	p := newMade(t, Options{Sessions: 1}, okay)
	served := make(chan struct{}, 3)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Handler().ServeHTTP(w, r)
		served <- struct{}{}
	}))
	t.Cleanup(web.Close)
	t.Cleanup(func() { p.Close() })
	upgrade := func() (net.Conn, string) {
		conn, err := net.Dial("tcp", web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", web.Listener.Addr())
		b := make([]byte, 12)
		io.ReadFull(conn, b)
		return conn, string(b[9:])
	}
	first, status := upgrade()
	if status != "101" {
		t.Fatal(status)
	}
	if _, status := upgrade(); status != "503" {
		t.Errorf("a second connection: HTTP %s", status)
	}
	first.Close()
	<-served // the second
	<-served // the first
	if _, status := upgrade(); status != "101" {
		t.Errorf("after the first connection has ended: HTTP %s", status)
	}
}

// A question to a client to which nothing can be sent fails at once.
func TestAskNobody(t *testing.T) {
	p := newMade(t, Options{}, okay)
	s := p.newHTTPSession(identity{})
	defer s.end(errEnded)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	st := s.journal.newStream()
	st.box.end(errSlow)
	if _, err := s.ask(ctx, st.box, wire.MethodElicit, nil); err == nil || err.Code != toolformat.Unavailable {
		t.Errorf("got %v", err)
	}
}

// The bytes of a question count for its principal until the client has answered it.
func TestAskedBytes(t *testing.T) {
	p := newMade(t, Options{}, okay)
	s := p.newHTTPSession(identity{})
	defer s.end(errEnded)
	own := p.opts().accounts.of(bridge.Principal{})
	before := own.used[heldBytes].Load()
	st := s.journal.newStream()
	defer func() { // as the request does whose stream it is
		st.box.end(errEnded)
		st.box.discard()
	}()
	ctx, cancel := context.WithCancel(t.Context())
	params := []byte(`{"message":"` + strings.Repeat("x", 1<<20) + `"}`)
	asked := make(chan *toolformat.Error, 1)
	go func() {
		_, err := s.ask(ctx, st.box, wire.MethodElicit, params)
		asked <- err
	}()
	<-st.box.wake
	if got := own.used[heldBytes].Load() - before; got < 2<<20 { // the source's, and what waits for the client
		t.Errorf("%d bytes are counted", got)
	}
	cancel()
	<-asked
	own.most[heldBytes].Store(before + 1<<20)
	if _, err := s.ask(t.Context(), st.box, wire.MethodElicit, params); err == nil || !strings.Contains(err.Message, "bytes in flight") {
		t.Errorf("got %v", err)
	}
}

// A Canceled error of the source is a response like others, unless the client has canceled.
func TestCanceledByNobody(t *testing.T) {
	p := newMade(t, Options{Access: Access{Tokens: map[string]string{"ann": "a"}}}, func(_ context.Context, req *bridge.Request) bridge.Reply {
		if req.Method == wire.MethodDiscover {
			return bridge.Result([]byte("{}"), nil)
		}
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	})
	if _, body := p.post(t.Context(), "a", "t", ""); wire.Lookup(body, "error") == nil {
		t.Errorf("modern: %q", body)
	}
	d := p.newDuplex(identity{})
	defer d.close(io.EOF)
	m, err := wire.Split([]byte(fmt.Sprintf(hello, "{}")))
	if err != nil {
		t.Fatal(err)
	}
	d.respond(d.ctx, &m, d)
	if m, err = wire.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)); err != nil {
		t.Fatal(err)
	}
	if resp, ok := d.respond(d.ctx, &m, d); !ok || resp.reply.Err == nil {
		t.Errorf("legacy: %+v", resp)
	}
}

// Each answer states its length, whether net/http counts it or the bridge.
func TestAnswersStateTheirLength(t *testing.T) {
	p := newMade(t, Options{}, okay)
	size := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		resp := response{id: []byte("1"), reply: bridge.Result([]byte(`"`+strings.Repeat("x", size)+`"`), nil)}
		resp.writeJSON(w, p.opts().accounts.of(bridge.Principal{}))
	}))
	defer web.Close()
	for _, size = range []int{0, 2008, 2009, 2010, 2011, 2012, 2013, 2046, 2047, 5000} {
		resp, err := web.Client().Get(web.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.ContentLength != int64(len(body)) {
			t.Errorf("%d of %d bytes: %v", resp.ContentLength, len(body), err)
		}
	}
}
