package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// elicitor is an MCP server of the legacy era over HTTP, whose tool t asks its caller something.
type elicitor struct {
	mu        sync.Mutex // guards calls
	calls     map[string]chan string
	cancelled chan string // ids of the calls that were cancelled
}

func (e *elicitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, _ := wire.Split(body)
	id := string(m.ID)
	answer := func(result string) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
	}
	switch {
	case m.Method == wire.MethodInitialize:
		answer(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}`)
	case m.Method == wire.MethodToolsList:
		answer(`{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case m.Method == wire.MethodToolsCall:
		got := make(chan string, 1)
		e.mu.Lock()
		e.calls["q"+id] = got
		e.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%s\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"x\"}}\n\n", id)
		w.(http.Flusher).Flush()
		select {
		case result := <-got:
			answer(`{"content":[],"answer":` + result + `}`)
		case <-r.Context().Done():
		}
	case m.Method == wire.NotificationCancelled:
		e.cancelled <- string(m.Params.Get(wire.RequestID))
		w.WriteHeader(http.StatusAccepted)
	case m.Kind() == wire.Response:
		question, _ := wire.Text(m.ID)
		if m.Result != nil { // the question of a canceled call is refused
			e.mu.Lock()
			e.calls[question] <- string(m.Result)
			e.mu.Unlock()
		}
		w.WriteHeader(http.StatusAccepted)
	case m.Kind() == wire.Request:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, id)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// A call whose client does not retry is canceled at its server, and a late retry is told to call
// again. Other calls go on.
func TestParkedExpiresAtItsServer(t *testing.T) {
	sourcetest.NoLeaks(t)
	e := &elicitor{calls: map[string]chan string{}, cancelled: make(chan string, 10)}
	web := httptest.NewServer(e)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	up := mcpclient.New(mcpclient.Config{Name: "up", URL: web.URL, Transport: mcpclient.HTTP, Sharing: mcpclient.Session})
	t.Cleanup(func() { up.Close() })
	source := bridge.New(bridge.Options{}, bridge.Member{Name: "other", Source: sourcetest.NewFake()}, bridge.Member{Name: "up", Source: up})
	p := &parked{T: t, Server: New(source, Options{Access: Access{Tokens: map[string]string{"ann": "a", "bob": "b"}}})}
	t.Cleanup(func() { p.Close() })

	states := map[string]string{}
	for _, token := range []string{"a", "b"} { // b's call is parked for long
		if token == "b" {
			p.parking.life = parkTime
		} else {
			p.parking.life = 50 * time.Millisecond
		}
		_, body := p.post(t.Context(), token, "up__t", `"arguments":{"x":1},`)
		if states[token] = string(wire.Lookup(body, "result", "requestState")); states[token] == "" {
			t.Fatalf("%s", body)
		}
	}
	p.came(e.cancelled)
	for range 2 {
		status, body := p.post(t.Context(), "a", "up__t", retry(states["a"]))
		text, _ := wire.Text(wire.Lookup(body, "error", "message"))
		if status != http.StatusBadRequest || string(wire.Lookup(body, "error", "code")) != "-32602" || !strings.Contains(text, "too old") || !strings.Contains(text, "call again") {
			t.Errorf("a late retry: %d %s", status, body)
		}
	}
	if _, body := p.post(t.Context(), "b", "up__t", retry(states["b"])); string(wire.Lookup(body, "result", "answer")) != `{"action":"accept"}` {
		t.Errorf("the other call: %s", body)
	}
	if len(e.cancelled) > 0 {
		t.Errorf("it was cancelled too: %s", <-e.cancelled)
	}
}

// A parked call ends with the connection of its client.
func TestParkedConnectionEnds(t *testing.T) {
	p := newParked(t)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- p.ServeStdio(t.Context(), in, out) }()
	io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`+"\n")
	if line, err := bufio.NewReader(answers).ReadString('\n'); err != nil || !strings.Contains(line, "input_required") {
		t.Errorf("%s, %v", line, err)
	}
	client.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	p.came(p.source.ended)
	if n := p.Pending(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
}

// A parked call ends with the token of its client, and those of others go on.
func TestParkedRevoked(t *testing.T) {
	p := newParked(t)
	_, body := p.post(t.Context(), "b", "t", `"arguments":{"x":1},`)
	p.came(p.source.begun)
	p.park()
	p.Update(Options{Access: Access{Tokens: map[string]string{"bob": "b"}}})
	p.came(p.source.ended)
	if _, body := p.post(t.Context(), "b", "t", retry(string(wire.Lookup(body, "result", "requestState")))); wire.Lookup(body, "result", "answer") == nil {
		t.Errorf("bob's: %s", body)
	}
}

// A state is refused with any character altered, left out or added, and stays valid.
func TestParkedStateAltered(t *testing.T) {
	p := newParked(t)
	state := p.park()
	text := strings.Trim(state, `"`)
	mark := p.parking.mark
	if random := strings.TrimPrefix(text, mark); len(random) < 26 || strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Errorf("%s is not 130 random bits in base32", text)
	}
	var altered []string
	for i := range len(text) {
		other := "A"
		if text[i] == 'A' {
			other = "B"
		}
		altered = append(altered, text[:i]+other+text[i+1:], text[:i]+text[i+1:], text[:i]+other+text[i:])
	}
	altered = append(altered, strings.ToLower(text), text+"=", " "+text, strings.Replace(text, ".", "", 1))
	for _, text := range altered {
		status, body := p.post(t.Context(), "a", "t", retry(`"`+text+`"`))
		if !strings.HasPrefix(text, mark) { // another server's state: a new call, which asks again
			if got := string(wire.Lookup(body, "result", "requestState")); got == "" || got == state {
				t.Errorf("%s: %d %s", text, status, body)
			}
			p.came(p.source.begun)
			continue
		}
		if status != http.StatusBadRequest || string(wire.Lookup(body, "error", "code")) != "-32602" {
			t.Errorf("%s: %d %s", text, status, body)
		}
	}
	if _, body := p.post(t.Context(), "a", "t", retry(state)); wire.Lookup(body, "result", "answer") == nil {
		t.Errorf("the state as it is: %s", body)
	}
}

// At the bound of a client's views a call is refused at once. Other clients and retries are not
// affected, and a call that ends makes room.
func TestLeasedViewsBound(t *testing.T) {
	p := newParked(t)
	p.source.begun, p.source.ended = make(chan string, 2*maxViews), make(chan string, 2*maxViews)
	came := make(chan string, maxViews)
	for range maxViews {
		go func() {
			_, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`)
			came <- string(wire.Lookup(body, "result", "requestState"))
		}()
	}
	var states []string
	for range maxViews {
		state := <-came
		if state == "" || slices.Contains(states, state) {
			t.Fatalf("the state is %q", state)
		}
		states = append(states, state)
	}
	for range 2 {
		_, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`)
		code, _ := wire.Text(wire.Lookup(body, "error", "data", "code"))
		text, _ := wire.Text(wire.Lookup(body, "error", "message"))
		if code != toolformat.Unavailable.String() || !strings.Contains(text, fmt.Sprint(maxViews)) {
			t.Errorf("%s", body)
		}
	}
	if _, body := p.post(t.Context(), "b", "t", `"arguments":{"x":1},`); wire.Lookup(body, "result", "requestState") == nil {
		t.Errorf("another principal: %s", body)
	}
	if _, body := p.post(t.Context(), "a", "t", retry(states[50])); wire.Lookup(body, "result", "answer") == nil {
		t.Errorf("a retry: %s", body)
	}
	if _, body := p.post(t.Context(), "a", "t", `"arguments":{"x":1},`); wire.Lookup(body, "result", "requestState") == nil {
		t.Errorf("there is room again: %s", body)
	}
}

// A client cannot open sessions of the source without end by varying its capabilities.
func TestViewsBound(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := New(sourcetest.NewFake(), Options{Sessions: 3})
	t.Cleanup(func() { s.Close() })
	ask := func(capabilities string) bridge.Reply {
		raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}}`)
		m, err := wire.Split(raw)
		if err != nil {
			t.Fatal(err)
		}
		return s.views.respond(context.Background(), &modernCall{msg: &m})
	}
	for i := range 5 {
		reply := ask(fmt.Sprintf(`{"extensions":{"x":%d}}`, i))
		if refused := reply.Err != nil; refused != (i >= 3) || refused && reply.Err.Code != toolformat.Unavailable {
			t.Errorf("client %d: %v", i, reply.Err)
		}
	}
	if reply := ask(`{"extensions":{"x":1}}`); reply.Err != nil {
		t.Errorf("a client that is there already: %v", reply.Err)
	}
	s.views.mu.Lock()
	for _, views := range s.views.views {
		views[0].left = views[0].left.Add(-idleEnough)
	}
	s.views.mu.Unlock()
	s.opts().accounts.of(bridge.Principal{}).vain[openViews].Store(0) // and some time has passed
	for i := range 5 {                                                // views unused for long make room
		if reply := ask(fmt.Sprintf(`{"extensions":{"y":%d}}`, i)); (reply.Err != nil) != (i >= 3) {
			t.Errorf("later client %d: %v", i, reply.Err)
		}
	}
}
