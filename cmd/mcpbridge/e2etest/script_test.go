package e2etest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// script is an MCP server written by hand, of one era or of both, so that every byte it
// says is the test's. Its tools are in scriptcall_test.go.
type script struct {
	legacy, modern bool

	mu       sync.Mutex                    // guards what follows
	seen     []wire.Message                // what it was sent, in order
	news     chan struct{}                 // closed when something changes
	last     int                           // of its questions and tasks
	asked    map[string]chan string        // its questions by raw id
	calls    map[string]context.CancelFunc // by connection and raw id
	states   map[string]map[string]string  // answers so far by the requestState given out
	watched  map[string]bool               // resources subscribed to
	listens  map[*scriptCall]struct{}      // streams of subscriptions/listen
	level    string                        // of the log
	added    []string                      // tools
	standing map[string]func(string)       // ways to say what belongs to no request, by session
	ends     []func()                      // each ends connections
}

// newScript makes a script of an era: legacy, modern or dual.
func newScript(era string) *script {
	return &script{
		legacy: era != "modern", modern: era != "legacy", news: make(chan struct{}), asked: map[string]chan string{},
		calls: map[string]context.CancelFunc{}, states: map[string]map[string]string{}, watched: map[string]bool{},
		listens: map[*scriptCall]struct{}{}, standing: map[string]func(string){},
	}
}

// changed wakes who waits for something; s.mu is held.
func (s *script) changed() {
	close(s.news)
	s.news = make(chan struct{})
}

// until waits until ok, which is called with s.mu held, or ctx ends.
func (s *script) until(ctx context.Context, ok func() bool) bool {
	for {
		s.mu.Lock()
		if ok() {
			s.mu.Unlock()
			return true
		}
		news := s.news
		s.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return false
		}
	}
}

// count is how many messages with that method it was sent; s.mu is held.
func (s *script) count(method string) (n int) {
	for i := range s.seen {
		if s.seen[i].Method == method {
			n++
		}
	}
	return n
}

// note notes what it was sent.
func (s *script) note(raw []byte) wire.Message {
	m, err := wire.Split(bytes.Clone(raw))
	if err != nil {
		panic(fmt.Sprintf("the bridge sent %s: %v", raw, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, m)
	s.changed()
	return m
}

// announce says something that belongs to no request of the legacy era.
func (s *script) announce(msg string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, say := range s.standing {
		say(msg)
	}
}

// take takes one message and has answered it when it returns, unless it never does.
func (s *script) take(ctx context.Context, from string, raw []byte, say func(string)) {
	m := s.note(raw)
	switch m.Kind() {
	case wire.Response:
		s.mu.Lock()
		answer := s.asked[string(m.ID)]
		delete(s.asked, string(m.ID))
		s.mu.Unlock()
		if answer == nil {
			panic("nobody asked for " + string(raw))
		}
		if m.Error != nil {
			answer <- string(m.Error)
		} else {
			answer <- string(m.Result)
		}
		return
	case wire.Notification:
		if m.Method == wire.NotificationCancelled {
			s.mu.Lock()
			if cancel := s.calls[from+string(m.Params.Get(wire.RequestID))]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.calls[from+string(m.ID)] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, from+string(m.ID))
		s.changed()
		s.mu.Unlock()
	}()
	c := &scriptCall{script: s, ctx: ctx, m: &m, say: say, modern: m.Params.Get(wire.MetaProtocolVersion) != nil}
	c.dispatch()
}

// relaySocket is the variable that names the socket of a child that is a relay.
const relaySocket = "MCPBRIDGE_TEST_SOCKET"

// relay is a server on stdio whose other half is a script in the test.
func relay(path string) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		io.Copy(conn, os.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	io.Copy(os.Stdout, conn)
}

// relayed is the configuration of a child that a script answers through until the test
// ends.
func relayed(t testing.TB, s *script) mcpclient.Config {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { s.overLines(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.kill()
		work.Wait()
	})
	cfg := childConfig("relay")
	cfg.Env[relaySocket] = path
	return cfg
}

// overLines serves a script on a connection of lines.
func (s *script) overLines(conn net.Conn) {
	lines := wire.NewLineReader(conn, 64<<20)
	s.converse(func() ([]byte, error) {
		b, err := lines.Read()
		if err != nil {
			return nil, err
		}
		return b.B, nil
	}, func(m string) { io.WriteString(conn, m+"\n") }, func() { conn.Close() })
}

// converse serves a script on a connection that carries both ways, until read fails. It
// writes one message at a time, or several as lines.
func (s *script) converse(read func() ([]byte, error), write func(string), end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	defer end()
	var mu sync.Mutex
	say := func(m string) {
		mu.Lock()
		defer mu.Unlock()
		write(m)
	}
	s.mu.Lock()
	s.last++
	id := fmt.Sprint(s.last)
	s.standing[id] = say
	s.ends = append(s.ends, end)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.standing, id)
		s.mu.Unlock()
	}()
	for {
		msg, err := read()
		if err != nil {
			return
		}
		if wire.Lookup(msg, "method") == nil || wire.Lookup(msg, "id") == nil {
			s.take(ctx, id+" ", msg, say) // in order
			continue
		}
		work.Go(func() { s.take(ctx, id+" ", msg, say) })
	}
}

// serveWeb serves a way to a script over HTTP until the test ends.
func serveWeb(t testing.TB, s *script, h http.HandlerFunc) string {
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		s.kill()
		web.Close()
	})
	return web.URL
}

// overWS serves a script on a WebSocket.
func (s *script) overWS(rw http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
	conn, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return // it has been answered
	}
	s.converse(func() ([]byte, error) {
		_, b, err := conn.ReadMessage()
		return b, err
	}, func(m string) {
		for line := range strings.SplitSeq(m, "\n") {
			conn.WriteMessage(websocket.TextMessage, []byte(line))
		}
	}, func() { conn.Close() })
}

// overSSE is the handler of a script on the legacy HTTP+SSE transport.
func (s *script) overSSE() http.HandlerFunc {
	var posted sync.Map // a chan []byte by the query of its client's endpoint
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			rw.WriteHeader(202)
			if in, ok := posted.Load(r.URL.RawQuery); ok {
				in.(chan []byte) <- body
			}
			return
		}
		ctx, end := context.WithCancel(r.Context())
		in := make(chan []byte, 10_000)
		id := fmt.Sprintf("client=%p", in)
		posted.Store(id, in)
		say := events(rw)
		io.WriteString(rw, "event: endpoint\n")
		say("/?" + id)
		s.converse(func() ([]byte, error) {
			select {
			case msg := <-in:
				return msg, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, say, end)
	}
}

// kill ends every connection.
func (s *script) kill() {
	s.mu.Lock()
	ends := s.ends
	s.ends = nil
	clear(s.watched)
	clear(s.listens)
	s.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

// scriptWeb serves a script over streamable HTTP.
type scriptWeb struct {
	*script
	mu     sync.Mutex             // guards queues
	queues map[string]chan string // of the GET streams, by session
}

// serveScript serves a script over HTTP until the test ends.
func serveScript(t testing.TB, s *script) string {
	w := &scriptWeb{script: s, queues: map[string]chan string{}}
	web := httptest.NewServer(w)
	s.ends = append(s.ends, func() {
		w.mu.Lock()
		clear(w.queues)
		w.mu.Unlock()
		s.mu.Lock()
		clear(s.standing)
		s.mu.Unlock()
		go web.CloseClientConnections() // it waits for the handlers, and one of them may have called this
	})
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL
}

func (w *scriptWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, _ := wire.Split(bytes.Clone(body))
	modern := m.Params.Get(wire.MetaProtocolVersion) != nil || r.Header.Get(mcp.HeaderProtocolVersion) == wire.ModernRevision
	if modern && w.modern {
		w.postModern(rw, r, &m, body)
		return
	}
	if !w.legacy {
		refuse(rw, 400, &m, -32022, `"data":{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		return
	}
	session := r.Header.Get(mcp.HeaderSessionID)
	if r.Method == http.MethodPost && m.Method == wire.MethodInitialize {
		session = w.open()
		rw.Header().Set(mcp.HeaderSessionID, session)
	}
	w.mu.Lock()
	queue := w.queues[session]
	w.mu.Unlock()
	switch {
	case session == "":
		refuse(rw, 400, &m, -32000, `"data":"Mcp-Session-Id is missing"`)
	case queue == nil:
		refuse(rw, 404, &m, -32001, `"data":"no such session"`)
	case r.Method == http.MethodDelete:
		rw.WriteHeader(200)
	case r.Method == http.MethodGet:
		w.get(rw, r, queue)
	case m.Kind() != wire.Request:
		w.take(r.Context(), session+" ", body, nil)
		rw.WriteHeader(202)
	default:
		w.take(r.Context(), session+" ", body, events(rw))
	}
}

// open begins a session.
func (w *scriptWeb) open() string {
	queue := make(chan string, 10_000)
	w.mu.Lock()
	id := fmt.Sprint("session-", len(w.queues)+1)
	w.queues[id] = queue
	w.mu.Unlock()
	w.script.mu.Lock()
	w.standing[id] = func(m string) { queue <- m }
	w.script.mu.Unlock()
	return id
}

func (w *scriptWeb) get(rw http.ResponseWriter, r *http.Request, queue chan string) {
	say := events(rw)
	rw.(http.Flusher).Flush()
	for {
		select {
		case m := <-queue:
			say(m)
		case <-r.Context().Done():
			return
		}
	}
}

// postModern wants the headers of the modern era and refuses what has others.
func (w *scriptWeb) postModern(rw http.ResponseWriter, r *http.Request, m *wire.Message, body []byte) {
	name, _ := m.Params.Text(wire.Name)
	if uri, ok := m.Params.Text(wire.URI); ok {
		name = uri
	}
	for header, want := range map[string]string{mcp.HeaderProtocolVersion: wire.ModernRevision, "Mcp-Method": m.Method, "Mcp-Name": name, mcp.HeaderSessionID: ""} {
		if got := r.Header.Get(header); got != want {
			refuse(rw, 400, m, -32020, fmt.Sprintf(`"data":%q`, header+" is "+got))
			return
		}
	}
	if r.Method != http.MethodPost || m.Kind() != wire.Request {
		rw.WriteHeader(405)
		return
	}
	answered := false
	say := events(rw)
	w.take(r.Context(), r.RemoteAddr+" ", body, func(msg string) {
		answered = answered || strings.Contains(msg, `"result":`) || strings.Contains(msg, `"error":`)
		say(msg)
	})
	if !answered && r.Context().Err() != nil { // closing the stream is the cancellation
		w.note([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(m.ID) + `}}`))
	}
}

// refuse answers with an HTTP status and an error.
func refuse(rw http.ResponseWriter, status int, m *wire.Message, code int, more string) {
	id := "null"
	if m.ID != nil {
		id = string(m.ID)
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused",%s}}`, id, code, more)
}

// events makes the answer a stream; lines of one message are events that leave
// together.
func events(rw http.ResponseWriter) func(string) {
	rw.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex
	return func(msg string) {
		mu.Lock()
		defer mu.Unlock()
		io.WriteString(rw, "data: "+strings.ReplaceAll(msg, "\n", "\n\ndata: ")+"\n\n")
		rw.(http.Flusher).Flush()
	}
}

// scriptCarriers are the ways from a client to a script.
var scriptCarriers = []struct {
	name   string
	config func(testing.TB, *script) mcpclient.Config
}{
	{"stdio", func(t testing.TB, s *script) mcpclient.Config {
		cfg := relayed(t, s)
		cfg.Sharing = mcpclient.Session
		return cfg
	}},
	{"http", func(t testing.TB, s *script) mcpclient.Config {
		return mcpclient.Config{URL: serveScript(t, s), Sharing: mcpclient.Session}
	}},
	{"sse", func(t testing.TB, s *script) mcpclient.Config {
		return mcpclient.Config{URL: serveWeb(t, s, s.overSSE()), Transport: mcpclient.SSE, Sharing: mcpclient.Session}
	}},
	{"ws", func(t testing.TB, s *script) mcpclient.Config {
		return mcpclient.Config{URL: "ws" + strings.TrimPrefix(serveWeb(t, s, s.overWS), "http"), Sharing: mcpclient.Session}
	}},
}

// eras are what a script can speak.
var eras = []string{"legacy", "modern", "dual"}
