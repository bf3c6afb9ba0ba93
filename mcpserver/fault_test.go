package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

const newest = "2025-11-25"

// everywhere runs a test on every carrier, beside a bystander whose session must not be affected.
func everywhere(t *testing.T, opts mcpserver.Options, test func(t *testing.T, carrier string, p *caller)) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, opts)
			bystander := h.ws(nil).greeted(newest)
			bystander.works()
			p := c.dial(h)
			test(t, c.name, p)
			bystander.works()
		})
	}
}

// Requests that are pending when the server closes are answered on every carrier.
func TestCloseAnswers(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			p := c.dial(newHost(t, mcpserver.Options{})).greeted(newest)
			for id := range 2 {
				msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`, id)
				if c.name == "http" {
					go p.send(msg) // until it is answered
				} else {
					p.send(msg)
				}
				if got := p.next(); !strings.Contains(got, wire.NotificationProgress) {
					t.Fatalf("got %s", got)
				}
			}
			p.server.Close()
			for range 2 {
				got := p.next()
				p.fails(got, -32000, string(wire.Lookup([]byte(got), "id")))
				if !strings.Contains(got, "the bridge is shutting down: it is unknown whether the call ran") {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

// Requests that are pending when their sender is shut out, or ends the session, are answered, too.
func TestShutOutAnswers(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`
	const revoked = "the credentials are not accepted any more: it is unknown whether the call ran"
	shutOut := func(h *host) {
		h.server.Update(mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}}})
	}
	for _, c := range carriers[1:] { // on stdio nobody needs credentials
		t.Run(c.name, func(t *testing.T) {
			p := c.dial(newHost(t, mcpserver.Options{})).greeted(newest)
			go p.send(call) // until it is answered
			if got := p.next(); !strings.Contains(got, wire.NotificationProgress) {
				t.Fatalf("got %s", got)
			}
			shutOut(p.host)
			got := p.next()
			if p.fails(got, -32000, "7"); !strings.Contains(got, revoked) {
				t.Errorf("got %s", got)
			}
		})
	}
	// An answer of HTTP that has not begun.
	for _, c := range []struct {
		name, body string
		end        func(h *host, session string)
		want       string
	}{
		{"shut out", call, func(h *host, _ string) { shutOut(h) }, revoked},
		{"modern", modernRequest("tools/call", `"name":"wait"`), func(h *host, _ string) { shutOut(h) }, revoked},
		{"DELETE", call, func(h *host, session string) { h.status("DELETE", "/mcp", "", "Mcp-Session-Id", session) }, "the session has ended: it is unknown whether the call ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, mcpserver.Options{})
			headers := []string{"Accept", "application/json", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "wait"}
			session := ""
			if c.name != "modern" {
				resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest))
				resp.Body.Close()
				session = resp.Header.Get("Mcp-Session-Id")
				headers = []string{"Accept", "application/json", "Mcp-Session-Id", session}
			}
			answered := make(chan answer, 1)
			go func() { answered <- h.post(c.body, headers...) }()
			for h.fake.Calls("wait") == 0 {
				runtime.Gosched()
			}
			c.end(h, session)
			if got := <-answered; got.status != 200 || got.code != -32000 || !strings.Contains(got.body, c.want) {
				t.Errorf("HTTP %d: %s", got.status, got.body)
			}
		})
	}
}

// Bytes that are not a message, and requests for what does not exist, get the specified error, and
// the session goes on.
func TestBadMessages(t *testing.T) {
	everywhere(t, mcpserver.Options{}, func(t *testing.T, carrier string, p *caller) {
		p.greeted(newest)
		for _, c := range []struct {
			name, msg string
			code      int
			id        string
			status    int // over HTTP
		}{
			{"half an object", `{"jsonrpc":"2.0",`, wire.ParseError, "null", 400},
			{"no JSON", `hello`, wire.ParseError, "null", 400},
			{"two values", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, wire.ParseError, "null", 400},
			{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", wire.ParseError, "null", 400},
			{"too deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, wire.ParseError, "null", 400},
			{"a number", `7`, wire.InvalidRequest, "null", 400},
			{"no version", `{"id":1,"method":"ping"}`, wire.InvalidRequest, "1", 400},
			{"no message", `{"jsonrpc":"2.0","a":1}`, wire.InvalidRequest, "null", 400},
			{"an id twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, wire.InvalidRequest, "null", 400},
			{"an id in other letters", `{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}`, wire.InvalidRequest, "null", 400},
			{"params in an array", `{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}`, wire.InvalidRequest, "4", 400},
			{"an empty batch", `[]`, wire.InvalidRequest, "null", 400},
			{"a batch of a revision without", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, wire.InvalidRequest, "null", 400},
			{"a batch behind a space", ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, wire.InvalidRequest, "null", 400},
			{"unknown method", `{"jsonrpc":"2.0","id":5,"method":"no/such"}`, wire.MethodNotFound, "5", 200},
			{"no tool named", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{}}`, wire.InvalidParams, "6", 200},
			{"a tool that is a number", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":1}}`, wire.InvalidParams, "6", 200},
			{"unknown tool", call("7", "no-such", "{}"), wire.InvalidParams, "7", 200},
			{"a cursor that was not given out", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"x"}}`, wire.InvalidParams, "8", 200},
			{"a cursor that is a number", `{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":1}}`, wire.InvalidParams, "8", 200},
		} {
			status, _ := p.send(c.msg)
			p.fails(p.next(), c.code, c.id)
			if carrier == "http" && status != c.status {
				t.Errorf("%s: HTTP %d, want %d", c.name, status, c.status)
			}
		}
		p.works()
	})
}

func TestBeforeInitialize(t *testing.T) {
	everywhere(t, mcpserver.Options{}, func(t *testing.T, carrier string, p *caller) {
		if carrier == "http" {
			if status, _ := p.send(call("1", "echo", "{}")); status != 400 {
				t.Errorf("HTTP %d, want 400", status)
			}
			p.fails(p.next(), -32000, "null")
		} else {
			p.send(call("1", "echo", "{}"))
			p.fails(p.next(), wire.InvalidParams, "1")
			p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			p.fails(p.next(), wire.InvalidParams, "2")
			p.send(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
			if got := p.next(); got != `{"jsonrpc":"2.0","id":3,"result":{}}` {
				t.Errorf("ping: %s", got)
			}
		}
		p.send(`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}`)
		p.fails(p.next(), wire.InvalidParams, "4")
		p.greeted(newest).works()
		status, _ := p.send(fmt.Sprintf(initialize, newest))
		if carrier == "http" {
			if status != 400 {
				t.Errorf("initialize within a session: HTTP %d, want 400", status)
			}
			p.fails(p.next(), -32000, "null")
		} else {
			p.fails(p.next(), wire.InvalidParams, `"init"`)
		}
		p.works()
	})
}

func TestTooLarge(t *testing.T) {
	everywhere(t, mcpserver.Options{MessageBytes: 10_000}, func(t *testing.T, carrier string, p *caller) {
		p.greeted(newest).works()
		status, body := p.send(call("1", "echo", `{"a":"`+strings.Repeat("x", 100_000)+`"}`))
		switch carrier {
		case "stdio":
			p.fails(p.next(), wire.InvalidRequest, "1")
		case "ws":
			if got := p.next(); got != "" {
				t.Fatalf("answered with %s", got)
			}
			if !websocket.IsCloseError(p.why, websocket.CloseMessageTooBig) {
				t.Errorf("closed with %v, want 1009", p.why)
			}
			return
		default:
			if status != http.StatusRequestEntityTooLarge {
				t.Errorf("HTTP %d: %s", status, body)
			}
			if carrier == "http" {
				p.next()
			}
		}
		p.works()
	})
}

func TestDuplicateID(t *testing.T) {
	everywhere(t, mcpserver.Options{}, func(t *testing.T, carrier string, p *caller) {
		p.greeted(newest)
		if carrier == "http" {
			go p.send(call("9", "wait", "{}"))
		} else {
			p.send(call("9", "wait", "{}"))
		}
		if got := p.next(); !strings.Contains(got, wire.NotificationProgress) {
			t.Fatal(got)
		}
		p.send(call("9", "echo", "{}"))
		p.fails(p.next(), wire.InvalidParams, "9")
		p.works()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
		p.send(call("10", "cancelled", `{"n":1}`)) // and no response to 9
		if got := p.next(); got != `{"jsonrpc":"2.0","id":10,"result":{"content":[{"type":"text","text":"done"}]}}` {
			t.Error(got)
		}
	})
}

// A cancellation that follows its request at once finds it.
func TestCancelAtOnce(t *testing.T) {
	for _, c := range carriers {
		if c.name == "http" {
			continue // HTTP requests have no order
		}
		t.Run(c.name, func(t *testing.T) {
			p := c.dial(newHost(t, mcpserver.Options{})).greeted(newest)
			for i := range 200 {
				p.send(call(fmt.Sprint(i), "cancelled", `{"n":1}`)) // waits forever
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
			}
			p.works()
		})
	}
}

func TestBatches(t *testing.T) {
	everywhere(t, mcpserver.Options{}, func(t *testing.T, carrier string, p *caller) {
		p.greeted("2025-03-26")
		ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
		p.send("\n " + `[` + ping("1") + `, {"jsonrpc":"2.0","method":"notifications/x"}, 7, ` + ping("2") + `]`)
		got := p.next()
		for carrier == "stdio" && got == "" { // a message ends with its line
			got = p.next()
		}
		for _, want := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, `"code":-32600`} {
			if !strings.Contains(got, want) || !strings.HasPrefix(got, "[") {
				t.Errorf("the answer to a batch is %s, without %s", got, want)
			}
		}
		for _, bad := range []string{`[]`, `[` + strings.Repeat(ping("1")+",", 9_999) + ping("1") + `]`} {
			status, _ := p.send(bad)
			p.fails(p.next(), wire.InvalidRequest, "null")
			if carrier == "http" && status != 400 {
				t.Errorf("HTTP %d", status)
			}
		}
		if status, body := p.send(`[{"jsonrpc":"2.0","method":"notifications/x"}]`); carrier == "http" && (status != 202 || body != "") {
			t.Errorf("a batch of a notification: HTTP %d %s", status, body)
		}
		p.send(`[` + fmt.Sprintf(initialize, newest) + `]`)
		if got := p.next(); !strings.Contains(got, `"code":-32600`) {
			t.Errorf("initialize in a batch: %s", got)
		}
		p.works()
	})
}

// A message that its header announces as too long is refused before it comes.
func TestTooLongAnnounced(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	for _, header := range []string{"", "Pragma: no-cache\r\n", "Expect: 100-continue\r\n"} { // the last two are net/http's
		conn, err := net.Dial("tcp", h.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: application/json\r\nContent-Length: 99999999999999\r\n\r\n", header)
		conn.SetReadDeadline(time.Now().Add(patience))
		if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%q: %v %v, want 413", header, resp, err)
		}
	}
}

// A request that is too long is answered, wherever it has its id.
func TestTooLongRequest(t *testing.T) {
	p := newHost(t, mcpserver.Options{MessageBytes: 1000}).stdio()
	for id, msg := range map[string]string{
		"7": `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"%s"}}`,
		"8": `{"method":"tools/call","params":{"name":"%s"},"jsonrpc":"2.0","id":8}`,
	} {
		p.send(fmt.Sprintf(msg, strings.Repeat("x", 2000)))
		if got := p.next(); !strings.Contains(got, `"id":`+id+`,"error"`) || !strings.Contains(got, "over the limit of 1000 bytes") {
			t.Errorf("%s: %s", id, got)
		}
	}
}

// Half a message and then silence affects no other session, and ends over HTTP.
func TestHalfAMessage(t *testing.T) {
	h := newHost(t, mcpserver.Options{ReadTimeout: 2 * time.Second})
	bystander := h.http().greeted(newest)
	for _, request := range []string{
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"jso",
	} {
		conn, err := net.Dial("tcp", h.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, request)
		conn.SetReadDeadline(time.Now().Add(patience))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != 400 {
			t.Fatalf("%v %v, want 400", resp, err)
		}
		if rest, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the connection stays open: %s %v", rest, err)
		}
		conn.Close()
	}
	bystander.works()

	toServer, ours := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.server.ServeStdio(ctx, toServer, io.Discard) }()
	io.WriteString(ours, `{"jsonrpc":"2.0",`)
	bystander.works()
	cancel()
	<-served
	ours.Close()
}

// A malformed or binary WebSocket frame ends its own connection only.
func TestBadFrames(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	bystander := h.ws(nil).greeted(newest)
	for _, c := range []struct {
		name, frame string
		code        int
	}{
		{"not masked", "\x81\x02{}", websocket.CloseProtocolError},
		{"reserved bits", "\xf1\x80\x00\x00\x00\x00", websocket.CloseProtocolError},
		{"reserved opcode", "\x83\x80\x00\x00\x00\x00", websocket.CloseProtocolError},
		{"continuation of nothing", "\x80\x80\x00\x00\x00\x00", websocket.CloseProtocolError},
		{"long control frame", "\x89\xfe\x00\xff\x00\x00\x00\x00", websocket.CloseProtocolError},
		{"binary", "\x82\x82\x00\x00\x00\x00{}", websocket.CloseUnsupportedData},
		{"length of 2^62", "\x81\xff\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", websocket.CloseMessageTooBig},
		{"length of 2^63", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 0},
		{"no WebSocket", "GET / HTTP/1.1\r\n\r\n", websocket.CloseProtocolError},
	} {
		conn := h.upgrade("/ws", nil)
		conn.NetConn().Write([]byte(c.frame))
		conn.SetReadDeadline(time.Now().Add(patience))
		_, _, err := conn.ReadMessage()
		if c.code != 0 && !websocket.IsCloseError(err, c.code) {
			t.Errorf("%s: ended with %v, want %d", c.name, err, c.code)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection stays open", c.name)
		}
		conn.Close()
		bystander.works()
	}
}
