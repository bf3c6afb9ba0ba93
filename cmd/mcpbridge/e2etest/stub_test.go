package e2etest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// stub is an MCP server of one era or both that does nothing but what a test gives it:
// its tools, its capabilities, and what it answers.
type stub struct {
	era          string
	tools        string // raw JSON, without the brackets
	capabilities string // beside tools, raw members
	answer       func(*stubCall)

	mu   sync.Mutex // guards what follows
	seen []stubCall // what it was sent, the handshake and the lists apart
	news chan struct{}
}

// stubCall is one message to a stub.
type stubCall struct {
	*stub
	wire.Message
	ctx    context.Context
	header http.Header // of HTTP
	modern bool
	say    func(string) // on the stream of the message
}

func newStub(era, tools string) *stub {
	return &stub{era: era, tools: tools, news: make(chan struct{}), answer: func(c *stubCall) { c.result(`"content":[]`) }}
}

// result answers a request; members are what stands in the result.
func (c *stubCall) result(members string) {
	if c.modern && !strings.Contains(members, `"resultType"`) {
		members = strings.TrimSuffix(`"resultType":"complete",`+members, ",")
	}
	c.say(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":{` + members + `}}`)
}

func (c *stubCall) fail(code int, message string) {
	c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, c.ID, code, message))
}

// take answers one message; a request has been answered when it returns.
func (s *stub) take(ctx context.Context, header http.Header, raw []byte, say func(string)) {
	m, err := wire.Split(bytes.Clone(raw))
	if err != nil {
		panic(fmt.Sprintf("the bridge sent %s: %v", raw, err))
	}
	c := &stubCall{stub: s, Message: m, ctx: ctx, header: header, modern: m.Params.Get(wire.MetaProtocolVersion) != nil, say: say}
	info := `"serverInfo":{"name":"stub","version":"1"}`
	capabilities := `"capabilities":{` + join(`"tools":{"listChanged":true}`, s.capabilities) + `}`
	switch {
	case m.Method == wire.MethodInitialize && s.era != "modern":
		c.result(`"protocolVersion":"2025-11-25",` + capabilities + `,` + info)
	case m.Method == wire.MethodDiscover && s.era != "legacy":
		c.result(`"ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],` + capabilities + `,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stub","version":"1"}}`)
	case m.Method == wire.MethodInitialize:
		c.say(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`)
	case c.modern && s.era == "legacy", m.Method == wire.MethodDiscover:
		c.fail(wire.MethodNotFound, "method not found")
	case m.Method == wire.MethodToolsList:
		s.mu.Lock()
		tools := s.tools
		s.mu.Unlock()
		c.result(`"ttlMs":0,"cacheScope":"private","tools":[` + tools + `]`)
	case m.Method == wire.NotificationInitialized:
	default:
		s.mu.Lock()
		s.seen = append(s.seen, *c)
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
		if m.Kind() == wire.Request {
			s.answer(c)
		}
	}
}

// all is what it was sent of a method, so far.
func (s *stub) all(method string) (some []stubCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.seen {
		if c.Method == method {
			some = append(some, c)
		}
	}
	return some
}

// await waits until it has been sent n messages of a method.
func (s *stub) await(t testing.TB, method string, n int) []stubCall {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		if some := s.all(method); len(some) >= n {
			return some
		}
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("the server was sent no %d. %s", n, method)
		}
	}
}

// ServeHTTP is streamable HTTP without sessions: what a stub says goes on the stream of
// the message that it says it to.
func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case !bytes.Contains(body, []byte(`"id"`)):
		s.take(r.Context(), r.Header, body, nil)
		w.WriteHeader(http.StatusAccepted)
	default:
		s.take(r.Context(), r.Header, body, events(w))
	}
}

// overHTTP is the configuration of a stub over HTTP until the test ends.
func (s *stub) overHTTP(t testing.TB) mcpclient.Config {
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return mcpclient.Config{URL: web.URL, Transport: mcpclient.HTTP}
}

// overStdio is the configuration of a child that a stub answers through until the test
// ends.
func (s *stub) overStdio(t testing.TB) mcpclient.Config {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			work.Go(func() {
				s.lines(ctx, conn, &work)
				stop()
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		cancel()
		work.Wait()
	})
	cfg := childConfig("relay")
	cfg.Env[relaySocket] = path
	return cfg
}

func (s *stub) lines(ctx context.Context, conn net.Conn, work *sync.WaitGroup) {
	var mu sync.Mutex
	say := func(m string) {
		mu.Lock()
		defer mu.Unlock()
		io.WriteString(conn, m+"\n")
	}
	lines := wire.NewLineReader(conn, 64<<20)
	for {
		b, err := lines.Read()
		if err != nil {
			return
		}
		if wire.Lookup(b.B, "id") == nil {
			s.take(ctx, nil, b.B, say) // in order
			continue
		}
		work.Go(func() { s.take(ctx, nil, b.B, say) })
	}
}

// stubCarriers are the ways to a stub.
var stubCarriers = []struct {
	name   string
	config func(*stub, testing.TB) mcpclient.Config
}{
	{"stdio", (*stub).overStdio}, {"http", (*stub).overHTTP},
}
