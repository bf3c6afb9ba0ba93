package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = 20 * time.Second

// host is a server of a Fake with its HTTP carriers.
type host struct {
	*testing.T
	fake   *sourcetest.Fake
	server *mcpserver.Server
	web    *httptest.Server
}

func newHost(t *testing.T, opts mcpserver.Options) *host {
	sourcetest.NoLeaks(t)
	h := &host{T: t, fake: sourcetest.NewFake()}
	h.server = mcpserver.New(h.fake, opts)
	h.web = httptest.NewServer(h.server.Handler())
	t.Cleanup(func() {
		h.server.Close()
		h.web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

// peer is a client of the test's own, which sends any bytes.
type peer struct {
	*host
	send func(msg string) (status int, body string) // body and status only where it is a POST
	in   chan string                                // messages of the server; closed with the connection
	why  error                                      // why it was closed; set before in is closed
	end  func()
}

// carriers are the ways to connect a peer.
var carriers = []struct {
	name string
	dial func(*host) *peer
}{
	{"stdio", (*host).stdio}, {"http", (*host).http}, {"sse", (*host).sse}, {"ws", func(h *host) *peer { return h.ws(nil) }},
}

func (h *host) stdio() *peer {
	toServer, fromUs := io.Pipe()
	toUs, fromServer := io.Pipe()
	p := &peer{host: h, in: make(chan string, 10000)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		h.server.ServeStdio(context.Background(), toServer, fromServer)
		fromServer.Close()
	}()
	go func() {
		defer close(p.in)
		lines := wire.NewLineReader(toUs, 64<<20)
		for {
			b, err := lines.Read()
			if err != nil {
				return
			}
			p.in <- string(b.B)
		}
	}()
	p.send = func(msg string) (int, string) {
		io.WriteString(fromUs, msg+"\n")
		return 0, ""
	}
	p.end = func() {
		fromUs.Close()
		<-served
	}
	h.Cleanup(p.end)
	return p
}

// http is a peer on streamable HTTP: what a POST is answered with is its answer, as
// messages in too.
func (h *host) http() *peer {
	p := &peer{host: h, in: make(chan string, 10000), end: func() {}}
	session := ""
	p.send = func(msg string) (int, string) {
		resp := h.request("POST", "/mcp", msg, "Mcp-Session-Id", session)
		defer resp.Body.Close()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			events := wire.NewEventReader(resp.Body, 64<<20)
			for {
				e, err := events.Next()
				if err != nil {
					return resp.StatusCode, ""
				}
				if e.Data != nil && len(e.Data.B) > 0 {
					p.in <- string(e.Data.B)
				}
			}
		}
		b, _ := io.ReadAll(resp.Body)
		if len(b) > 0 {
			p.in <- string(b)
		}
		return resp.StatusCode, string(b)
	}
	return p
}

// request makes an HTTP request with pairs of headers, of which empty ones are left
// out.
func (h *host) request(method, path, body string, headers ...string) *http.Response {
	h.Helper()
	req, err := http.NewRequest(method, h.web.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] != "":
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	return resp
}

// status is the status of a request, whose body is thrown away.
func (h *host) status(method, path, body string, headers ...string) int {
	h.Helper()
	resp := h.request(method, path, body, headers...)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
}

func (h *host) sse() *peer {
	p := &peer{host: h, in: make(chan string, 10000)}
	resp := h.request("GET", "/sse", "")
	events := wire.NewEventReader(resp.Body, 64<<20)
	first, err := events.Next()
	if err != nil {
		h.Fatal(err)
	}
	path := string(first.Data.B)
	p.end = func() { resp.Body.Close() }
	go func() {
		defer close(p.in)
		for {
			e, err := events.Next()
			if err != nil {
				return
			}
			p.in <- string(e.Data.B)
		}
	}()
	p.send = func(msg string) (int, string) {
		r := h.request("POST", path, msg)
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(b)
	}
	h.Cleanup(p.end)
	return p
}

func (h *host) ws(header http.Header) *peer { return h.dial("/ws", header) }

func (h *host) dial(path string, header http.Header) *peer {
	conn := h.upgrade(path, header)
	p := &peer{host: h, in: make(chan string, 10000)}
	p.end = func() { conn.Close() }
	go func() {
		defer close(p.in)
		for {
			_, b, err := conn.ReadMessage()
			if err != nil {
				p.why = err
				return
			}
			p.in <- string(b)
		}
	}()
	p.send = func(msg string) (int, string) {
		conn.WriteMessage(websocket.TextMessage, []byte(msg))
		return 0, ""
	}
	h.Cleanup(p.end)
	return p
}

func (h *host) upgrade(path string, header http.Header) *websocket.Conn {
	h.Helper()
	d := websocket.Dialer{Subprotocols: []string{"mcp"}}
	conn, _, err := d.Dial("ws"+strings.TrimPrefix(h.web.URL, "http")+path, header)
	if err != nil {
		h.Fatal(err)
	}
	return conn
}

// next is the next message of the server; "" when the connection has ended.
func (p *peer) next() string {
	p.Helper()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case m := <-p.in:
		return m
	case <-t.C:
		p.Fatal("the server says nothing")
		return ""
	}
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// greeted is a peer that has shaken hands.
func (p *peer) greeted(revision string) *peer {
	p.Helper()
	p.send(fmt.Sprintf(initialize, revision))
	if got := p.next(); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		p.Fatalf("initialize: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// call is a tools/call with a raw id.
func call(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// works checks that the peer's session still does what it should.
func (p *peer) works() {
	p.Helper()
	p.send(call(`"works"`, "echo", `{"n":12345678901234567890}`))
	if got, want := p.next(), `{"jsonrpc":"2.0","id":"works","result":{"content":[],"structuredContent":{"n":12345678901234567890}}}`; got != want {
		p.Fatalf("a good call is answered with %s", got)
	}
}

// fails checks that a message is an error response with that code and raw id.
func (p *peer) fails(got string, code int, id string) {
	p.Helper()
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil || m.Version != "2.0" || m.Error.Code != code || m.Error.Message == "" || string(m.ID) != id && !(id == "null" && m.ID == nil) {
		p.Errorf("got %.300s, want the error %d for id %s", got, code, id)
	}
}
