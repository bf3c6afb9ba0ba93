package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// patience bounds what a test waits for; it is reached only when something is wrong.
const patience = time.Minute

// host is a server of a Fake with its HTTP carriers.
type host struct {
	*testing.T
	fake   *sourcetest.Fake
	server *mcpserver.Server
	web    *httptest.Server
}

func newHost(t *testing.T, opts mcpserver.Options) *host {
	fake := sourcetest.NewFake()
	h := newHostOf(t, fake, opts)
	h.fake = fake
	return h
}

// newHostOf is newHost for another source.
func newHostOf(t *testing.T, source bridge.Source, opts mcpserver.Options) *host {
	h := &host{T: t}
	t.Cleanup(func() { h.server.CheckLeftover(t) }) // after all goroutines have ended
	sourcetest.NoLeaks(t)
	h.server = mcpserver.New(source, opts)
	h.web = httptest.NewUnstartedServer(h.server.Handler())
	h.web.Config.ReadHeaderTimeout, h.web.Config.IdleTimeout = patience, patience
	plain := h.server.Listen(h.web.Listener, h.web.Config)
	h.web.Listener = plain
	h.web.Start()
	t.Cleanup(func() {
		h.server.Close()
		plain.Shutdown(context.Background())
		h.web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

// caller is a client that sends any bytes.
type caller struct {
	*host
	send func(msg string) (status int, body string) // the results are those of a POST
	in   <-chan peer.Received
	why  error // why no more messages come; set by next
}

// carriers are the ways to connect a caller.
var carriers = []struct {
	name string
	dial func(*host) *caller
}{
	{"stdio", (*host).stdio}, {"http", (*host).http}, {"sse", (*host).sse}, {"ws", func(h *host) *caller { return h.ws(nil) }},
}

// connected is a caller on a connection.
func (h *host) connected(c *peer.Client, err error) *caller {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { c.Close() })
	return &caller{host: h, in: c.In, send: func(msg string) (int, string) {
		var refused *peer.StatusError
		if errors.As(c.Send([]byte(msg), nil), &refused) {
			return refused.Status, refused.Body
		}
		return http.StatusAccepted, ""
	}}
}

func (h *host) stdio() *caller {
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		h.server.ServeStdio(context.Background(), toServer, fromServer)
		fromServer.Close()
	}()
	return h.connected(peer.Lines(out, in, func() error {
		in.Close()
		<-served
		return nil
	}), nil)
}

// http is a caller over streamable HTTP, which sends one request at a time.
func (h *host) http() *caller {
	in := make(chan peer.Received, 10000)
	p := &caller{host: h, in: in}
	session := ""
	p.send = func(msg string) (int, string) {
		resp := h.request("POST", "/mcp", msg, "Mcp-Session-Id", session)
		defer resp.Body.Close()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			for next := peer.EventData(resp.Body); ; {
				raw, err := next()
				if err != nil {
					return resp.StatusCode, ""
				}
				in <- peer.Received{Raw: bytes.Clone(raw)}
			}
		}
		b, _ := io.ReadAll(resp.Body)
		if len(b) > 0 {
			in <- peer.Received{Raw: b}
		}
		return resp.StatusCode, string(b)
	}
	return p
}

func (h *host) sse() *caller {
	return h.connected(peer.DialSSE(context.Background(), h.web.URL+"/sse", nil))
}

func (h *host) ws(header http.Header) *caller { return h.dial("/ws", header) }

func (h *host) dial(path string, header http.Header) *caller {
	return h.connected(peer.DialWS(context.Background(), h.web.URL+path, header))
}

// request makes an HTTP request with pairs of headers. Empty headers are left out.
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

// status returns the status of a request.
func (h *host) status(method, path, body string, headers ...string) int {
	h.Helper()
	resp := h.request(method, path, body, headers...)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode
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

// next returns the next message of the server, "" when the connection has ended.
func (p *caller) next() string {
	p.Helper()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case m := <-p.in:
		if m.Err != nil {
			p.why = m.Err
		}
		return string(m.Raw)
	case <-t.C:
		p.Fatal("the server says nothing")
		return ""
	}
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// greeted initializes the session.
func (p *caller) greeted(revision string) *caller {
	p.Helper()
	p.send(fmt.Sprintf(initialize, revision))
	if got := p.next(); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		p.Fatalf("initialize: %s", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// call returns a tools/call with a raw id.
func call(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// works checks that the caller's session still works.
func (p *caller) works() {
	p.Helper()
	p.send(call(`"works"`, "echo", `{"n":12345678901234567890}`))
	if got, want := p.next(), `{"jsonrpc":"2.0","id":"works","result":{"content":[],"structuredContent":{"n":12345678901234567890}}}`; got != want {
		p.Fatalf("a good call is answered with %s", got)
	}
}

// fails checks that a message is an error response with that code and raw id.
func (p *caller) fails(got string, code int, id string) {
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
