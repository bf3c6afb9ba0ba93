package e2etest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// asksAll are the capabilities of a client that can be asked everything.
const asksAll = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`

// peer is an MCP client of the test's own, of either era.
type peer struct {
	testing.TB
	modern       bool
	capabilities string
	in           chan said
	held         []said // what came and nobody wanted yet
	last         int    // of its ids
	send         func(id string, msg []byte, headers http.Header)
	leave        func(id string) // closes the stream of a request; nil where there is none
	end          func()
}

// said is one message of the server.
type said struct {
	stream string // the id of the request on whose HTTP stream it came; "" on a connection
	status int    // of HTTP
	wire.Message
}

// front is a server of a source with its HTTP carriers.
type front struct {
	*mcpserver.Server
	web *httptest.Server
}

func newFront(t testing.TB, source bridge.Source) *front {
	f := &front{Server: mcpserver.New(source, mcpserver.Options{})}
	f.web = httptest.NewServer(f.Handler())
	t.Cleanup(func() {
		f.Close()
		f.web.Close()
	})
	return f
}

// peerCarriers are the ways from a client to a server.
var peerCarriers = []struct {
	name string
	dial func(testing.TB, *front, *peer)
}{
	{"stdio", overPipes}, {"http", overHTTP}, {"sse", overSSE}, {"ws", overWS},
}

// newPeer is a client that has shaken hands.
func newPeer(t testing.TB, f *front, dial func(testing.TB, *front, *peer), modern bool, capabilities string) *peer {
	c := &peer{TB: t, modern: modern, capabilities: capabilities, in: make(chan said, 100_000), leave: func(string) {}}
	dial(t, f, c)
	t.Cleanup(c.end)
	if !modern {
		c.sendRaw("0", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"test","version":"1"}}}`, nil)
		if m := c.response("0"); m.Error != nil {
			t.Fatalf("initialize: %s", m.Raw)
		}
		c.sendRaw("", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	}
	return c
}

func (c *peer) sendRaw(id, msg string, headers http.Header) { c.send(id, []byte(msg), headers) }

// hear takes a message of the server.
func (c *peer) hear(stream string, status int, raw []byte) {
	m, err := wire.Split(bytes.Clone(raw))
	if err != nil {
		c.Errorf("the server sent %s: %v", raw, err)
		return
	}
	c.in <- said{stream, status, m}
}

// request sends a request and returns its raw id. members stand in its params, meta in
// their _meta.
func (c *peer) request(method, members, meta string) string {
	c.last++
	id := fmt.Sprint(c.last)
	headers := http.Header{}
	if c.modern {
		meta = join(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+c.capabilities)
		headers.Set("Mcp-Method", method)
		headers.Set("Mcp-Protocol-Version", "2026-07-28")
		for _, key := range []string{"name", "uri"} {
			if v, ok := wire.Text(wire.Lookup([]byte(`{`+members+`}`), key)); ok {
				headers.Set("Mcp-Name", v)
			}
		}
	}
	if meta != "" {
		members = join(members, `"_meta":{`+meta+`}`)
	}
	c.sendRaw(id, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{`+members+`}}`, headers)
	return id
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// cancel gives a request up as its era and carrier do it.
func (c *peer) cancel(id string) {
	c.leave(id)
	c.sendRaw("", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, nil)
}

// next is the first message that is wanted; others are held for later.
func (c *peer) next(what string, wanted func(*said) bool) said {
	c.Helper()
	for i, m := range c.held {
		if wanted(&m) {
			c.held = append(c.held[:i:i], c.held[i+1:]...)
			return m
		}
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		select {
		case m := <-c.in:
			if wanted(&m) {
				return m
			}
			c.held = append(c.held, m)
		case <-t.C:
			for _, m := range c.held {
				c.Logf("held: %s", m.Raw)
			}
			c.Fatalf("%s did not come", what)
		}
	}
}

// response is the response to a request.
func (c *peer) response(id string) said {
	c.Helper()
	return c.next("the response to "+id, func(m *said) bool { return m.Kind() == wire.Response && string(m.ID) == id })
}

// result is the response to a request, which must be a result.
func (c *peer) result(id string) string {
	c.Helper()
	m := c.response(id)
	if m.Error != nil {
		c.Fatalf("got the error %s", m.Raw)
	}
	return string(m.Result)
}

// note is the next notification of a method.
func (c *peer) note(method string) said {
	c.Helper()
	return c.next(method, func(m *said) bool { return m.Kind() == wire.Notification && m.Method == method })
}

// tool calls a tool that asks nothing and returns its result.
func (c *peer) tool(name, args string) string {
	c.Helper()
	return c.result(c.request("tools/call", `"name":"`+name+`","arguments":`+args, ""))
}

// respond answers a request of the server.
func (c *peer) respond(id, result string) {
	c.sendRaw("", `{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`, nil)
}

func overPipes(t testing.TB, f *front, c *peer) {
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	served, read := make(chan struct{}), make(chan struct{})
	go func() {
		f.ServeStdio(context.Background(), toServer, fromServer)
		fromServer.Close()
		close(served)
	}()
	go func() {
		defer close(read)
		lines := wire.NewLineReader(out, 64<<20)
		for {
			b, err := lines.Read()
			if err != nil {
				return
			}
			c.hear("", 0, b.B)
		}
	}()
	c.send = func(_ string, msg []byte, _ http.Header) { in.Write(append(msg, '\n')) }
	c.end = sync.OnceFunc(func() {
		in.Close()
		<-served
		<-read
	})
}

func overSSE(t testing.TB, f *front, c *peer) {
	web := newWeb(t)
	resp := web.do("GET", f.web.URL+"/sse", nil, nil)
	events := wire.NewEventReader(resp.Body, 64<<20)
	first, err := events.Next()
	if err != nil {
		t.Fatal(err)
	}
	to := f.web.URL + string(first.Data.B)
	web.work.Go(func() { web.read(resp, "", events, c) })
	c.send = func(_ string, msg []byte, _ http.Header) {
		resp := web.do("POST", to, msg, nil)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	c.end = web.close
}

func overWS(t testing.TB, f *front, c *peer) { connectWS(t, f, c, nil) }

// connectWS is a client over WebSocket that sends a header along.
func connectWS(t testing.TB, f *front, c *peer, header http.Header) {
	d := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(f.web.URL, "http")+"/ws", header)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			_, b, err := conn.ReadMessage()
			if err != nil {
				return
			}
			c.hear("", 0, b)
		}
	}()
	c.send = func(_ string, msg []byte, _ http.Header) { conn.WriteMessage(websocket.TextMessage, msg) }
	c.end = sync.OnceFunc(func() {
		conn.Close()
		<-read
	})
}

// overHTTP is streamable HTTP: each POST has an answer, and in the legacy era a GET
// takes what belongs to none.
func overHTTP(t testing.TB, f *front, c *peer) {
	web, url := newWeb(t), f.web.URL+"/mcp"
	var mu sync.Mutex // guards session and leave
	session, leave := "", map[string]func(){}
	c.send = func(id string, msg []byte, headers http.Header) {
		if headers == nil {
			headers = http.Header{}
		}
		mu.Lock()
		if session != "" {
			headers.Set("Mcp-Session-Id", session)
		}
		mu.Unlock()
		if id == "" {
			if !c.modern {
				web.do("POST", url, msg, headers).Body.Close()
			}
			return
		}
		ctx, cancel := context.WithCancel(web.ctx)
		mu.Lock()
		leave[id] = cancel
		mu.Unlock()
		web.work.Go(func() {
			resp, err := web.try(ctx, "POST", url, msg, headers)
			if err != nil {
				if ctx.Err() == nil {
					c.Errorf("request %s: %v", id, err)
				}
				return
			}
			if s := resp.Header.Get("Mcp-Session-Id"); s != "" {
				mu.Lock()
				session = s
				mu.Unlock()
				get := web.do("GET", url, nil, http.Header{"Mcp-Session-Id": {s}, "Accept": {"text/event-stream"}})
				web.work.Go(func() { web.read(get, "", wire.NewEventReader(get.Body, 64<<20), c) })
			}
			web.read(resp, id, wire.NewEventReader(resp.Body, 64<<20), c)
		})
	}
	c.leave = func(id string) {
		if c.modern {
			mu.Lock()
			defer mu.Unlock()
			leave[id]()
		}
	}
	c.end = web.close
}

// web makes HTTP requests until it is closed.
type web struct {
	testing.TB
	http.Client
	ctx  context.Context
	end  context.CancelFunc
	work sync.WaitGroup
}

func newWeb(t testing.TB) *web {
	w := &web{TB: t, Client: http.Client{Transport: &http.Transport{}}}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

func (w *web) close() {
	w.end()
	w.work.Wait()
	w.CloseIdleConnections()
}

func (w *web) do(method, url string, msg []byte, headers http.Header) *http.Response {
	resp, err := w.try(w.ctx, method, url, msg, headers)
	if err != nil {
		w.Errorf("%s %s: %v", method, url, err)
		return &http.Response{Body: http.NoBody, Header: http.Header{}}
	}
	return resp
}

func (w *web) try(ctx context.Context, method, url string, msg []byte, headers http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(msg))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		req.Header[k] = v
	}
	return w.Do(req)
}

// read hands what a response says to a client.
func (w *web) read(resp *http.Response, stream string, events *wire.EventReader, c *peer) {
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		if b, err := io.ReadAll(resp.Body); err == nil && len(b) > 0 {
			c.hear(stream, resp.StatusCode, b)
		}
		return
	}
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		if e.Data != nil && len(e.Data.B) > 0 {
			c.hear(stream, resp.StatusCode, e.Data.B)
		}
	}
}
