package mcpclient_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// childMode is the variable that makes the test binary a scripted server on stdio.
const childMode = "MCPCLIENT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(childMode); mode {
	case "":
		os.Exit(m.Run())
	case "deaf":
		deaf()
	case "era":
		eraChild()
	case "sampling":
		samplingChild()
	case "crash":
		os.Exit(3)
	default:
		onStdio()
	}
}

// script is a server that does wrong things, by the tool that is called. It is one
// connection's.
type script struct {
	say   func(string) // sends a message; over HTTP as an event of the POST's stream
	hang  func()       // ends the connection
	heard chan string  // the client's responses
	pause func()       // lets a part of a call's timeout pass

	mu        sync.Mutex // guards what follows
	cancelled []string   // raw ids
	silent    []string   // raw ids of calls that were never answered
}

const tools = `{"tools":[{"name":"ok","inputSchema":{}},{"name":"close","inputSchema":{}},{"name":"close-once","inputSchema":{},"annotations":{"readOnlyHint":true}}]}`

var closedOnce atomic.Bool

// take answers a message, as far as it does.
func (s *script) take(raw []byte) {
	m, err := wire.Split(raw)
	if err != nil {
		panic(err)
	}
	switch m.Kind() {
	case wire.Response:
		s.heard <- string(raw)
		return
	case wire.Notification:
		if m.Method == wire.NotificationCancelled {
			s.mu.Lock()
			s.cancelled = append(s.cancelled, string(m.Params.Get(wire.RequestID)))
			s.mu.Unlock()
		}
		return
	}
	switch m.Method {
	case "initialize":
		s.result(&m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}`)
	case "tools/list":
		s.result(&m, tools)
	default:
		s.misanswer(&m)
	}
}

func (s *script) result(m *wire.Message, result string) {
	s.say(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

func (s *script) done(m *wire.Message) { s.result(m, `{"content":[],"tool":"`+toolOf(m)+`"}`) }

// misanswer answers a call wrongly, late, or with more than it should.
func (s *script) misanswer(m *wire.Message) {
	id := string(m.ID)
	result, done := func(r string) { s.result(m, r) }, func() { s.done(m) }
	switch toolOf(m) {
	case "twice":
		done()
		s.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{"second":true}}`)
	case "wrong id":
		s.say(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
		s.say(`{"jsonrpc":"2.0","id":"x","result":{}}`)
		s.silence(id)
	case "neither":
		s.say(`{"jsonrpc":"2.0","id":` + id + `}`)
	case "both":
		s.say(`{"jsonrpc":"2.0","id":` + id + `,"result":{},"error":{"code":1,"message":"x"}}`)
	case "garbage":
		for _, line := range []string{"hello", `{"half":`, "\xff\xfe", "[]", "[1]", `{"jsonrpc":"1.0"}`, "null"} {
			s.say(line)
		}
		done()
	case "long":
		s.say(`{"jsonrpc":"2.0","method":"x","params":{"a":"` + strings.Repeat("x", 70<<10) + `"}}`)
		done()
	case "flood":
		for i := range 100_000 {
			s.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`, i, i))
		}
		done()
	case "close":
		s.say(`{"jsonrpc":"2.0","method":"notifications/x"}`)
		s.hang()
	case "close-once":
		if os.Getenv(childMode) != "" { // what a process remembers beyond its end
			if _, err := os.Stat("once"); err != nil {
				os.WriteFile("once", nil, 0o600)
				s.hang()
				return
			}
		} else if closedOnce.CompareAndSwap(false, true) {
			s.hang()
			return
		}
		done()
	case "ask":
		s.say(`{"jsonrpc":"2.0","id":"their ping","method":"ping"}`)
		s.say(`{"jsonrpc":"2.0","id":12345678901234567890,"method":"sampling/createMessage","params":{}}`)
		a, b := <-s.heard, <-s.heard
		result(`{"heard":[` + a + `,` + b + `]}`)
	case "silent":
		s.silence(id)
	case "cancelled": // says which calls it was told to end
		s.mu.Lock()
		defer s.mu.Unlock()
		result(fmt.Sprintf(`{"silent":[%s],"cancelled":[%s]}`, strings.Join(s.silent, ","), strings.Join(s.cancelled, ",")))
	case "slow but alive":
		// less than the call's timeout of 1 s at a time, and more in all
		for i, begun := 0, time.Now(); time.Since(begun) < 1200*time.Millisecond; i++ {
			s.pause()
			s.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.Params.Get(wire.MetaProgressToken), i))
		}
		done()
	default:
		done()
	}
}

func (s *script) silence(id string) {
	s.mu.Lock()
	s.silent = append(s.silent, id)
	s.mu.Unlock()
}

func toolOf(m *wire.Message) string {
	name, _ := m.Params.Text(wire.Name)
	return name
}

// newScript makes a script that pauses until the client has answered a ping.
func newScript() *script {
	s := &script{heard: make(chan string, 10)}
	s.pause = func() {
		s.say(`{"jsonrpc":"2.0","id":"pause","method":"ping"}`)
		<-s.heard
	}
	return s
}

func onStdio() {
	s := newScript()
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex
	s.say = func(m string) {
		mu.Lock()
		defer mu.Unlock()
		out.WriteString(m + "\n")
		out.Flush()
	}
	s.hang = func() { os.Exit(1) }
	lines := wire.NewLineReader(os.Stdin, 64<<20)
	for {
		b, err := lines.Read()
		if err != nil {
			return
		}
		go s.take(b.B)
	}
}

// deaf is a server that reads no more once it has been asked for its tools.
func deaf() {
	s := newScript()
	s.say = func(m string) { fmt.Println(m) }
	r := bufio.NewReaderSize(os.Stdin, 1<<10)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		s.take(line)
		if strings.Contains(string(line), "tools/list") {
			select {}
		}
	}
}

// web serves a script over streamable HTTP (/mcp), SSE (/sse) and WebSocket (/ws).
type web struct {
	*httptest.Server
	streams  sync.Map       // of SSE: *script by its id
	takes    sync.WaitGroup // of messages that a script takes in the background
	sessions atomic.Int64
	gone     atomic.Bool // the HTTP session is not known any more
	http     *script
	script   func() *script
}

// bubble is what a server in a synctest bubble needs.
type bubble struct {
	*peer.Network
	pause func() // of the scripts
}

// newWeb serves on the system's network, or within a bubble.
func newWeb(t testing.TB, b *bubble) *web {
	w := &web{script: newScript}
	if b != nil {
		w.script = func() *script { return &script{heard: make(chan string, 10), pause: b.pause} }
	}
	w.http = w.script()
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", w.mcp)
	mux.HandleFunc("/sse", w.sse)
	mux.HandleFunc("/post", w.post)
	mux.HandleFunc("/ws", w.ws)
	w.Server = httptest.NewUnstartedServer(mux)
	if b != nil {
		w.Listener.Close()
		w.Listener = b
	}
	w.Start()
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
		w.takes.Wait()
	})
	return w
}

func (w *web) mcp(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, _ := wire.Split(body)
	id := fmt.Sprint("session ", w.sessions.Load())
	if m.Method == "initialize" {
		w.gone.Store(false)
		id = fmt.Sprint("session ", w.sessions.Add(1))
		rw.Header().Set("Mcp-Session-Id", id)
	} else if w.gone.Load() || r.Header.Get("Mcp-Session-Id") != id {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	if m.Kind() != wire.Request {
		w.http.take(body)
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex
	one := w.script()
	one.heard = w.http.heard
	one.say = func(m string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(rw, "data: %s\n\n", m)
		rw.(http.Flusher).Flush()
	}
	one.hang = func() { panic(http.ErrAbortHandler) }
	if t := toolOf(&m); t == "silent" {
		w.http.silence(string(m.ID))
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	} else if t == "cancelled" {
		w.http.say = one.say
		w.http.take(body)
		return
	}
	one.take(body)
}

func (w *web) sse(rw http.ResponseWriter, r *http.Request) {
	id := fmt.Sprint(w.sessions.Add(1))
	s := w.script()
	ended := make(chan struct{})
	s.hang = sync.OnceFunc(func() { close(ended) })
	var mu sync.Mutex
	s.say = func(m string) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-ended:
			return
		default:
		}
		fmt.Fprintf(rw, "event: message\ndata: %s\n\n", m)
		rw.(http.Flusher).Flush()
	}
	w.streams.Store(id, s)
	mu.Lock()
	rw.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(rw, "event: endpoint\ndata: /post?id=%s\n\n", id)
	rw.(http.Flusher).Flush()
	mu.Unlock()
	select {
	case <-ended:
	case <-r.Context().Done():
		s.hang()
	}
	mu.Lock() // nobody writes any more
	defer mu.Unlock()
}

func (w *web) post(rw http.ResponseWriter, r *http.Request) {
	s, ok := w.streams.Load(r.URL.Query().Get("id"))
	if !ok {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	body, _ := io.ReadAll(r.Body)
	rw.WriteHeader(http.StatusAccepted)
	w.takes.Go(func() { s.(*script).take(body) })
}

func (w *web) ws(rw http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"mcp"}}
	conn, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	s := w.script()
	var mu sync.Mutex
	s.say = func(m string) {
		mu.Lock()
		defer mu.Unlock()
		conn.WriteMessage(websocket.TextMessage, []byte(m))
	}
	s.hang = func() { conn.Close() }
	for {
		_, b, err := conn.ReadMessage()
		if err != nil {
			return
		}
		w.takes.Go(func() { s.take(b) })
	}
}

// carrier is a way to a script, on the system's network or within a bubble.
type carrier struct {
	name   string
	config func(*testing.T, *bubble) mcpclient.Config
}

var carriers = []carrier{
	{"stdio", func(t *testing.T, _ *bubble) mcpclient.Config { return child(t, "script") }},
	{"http", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: newWeb(t, b).URL + "/mcp"}
	}},
	{"sse", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: newWeb(t, b).URL + "/sse", Transport: mcpclient.SSE}
	}},
	{"ws", func(t *testing.T, b *bubble) mcpclient.Config {
		return mcpclient.Config{URL: "ws" + strings.TrimPrefix(newWeb(t, b).URL, "http") + "/ws"}
	}},
}

func child(t *testing.T, mode string) mcpclient.Config {
	return mcpclient.Config{Command: []string{os.Args[0]}, Dir: t.TempDir(), Env: map[string]string{childMode: mode, "GORACE": "atexit_sleep_ms=0"}}
}
