package e2etest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// asksAll are the capabilities of a client that can be asked everything.
const asksAll = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}`

// caller is an MCP client of either era.
type caller struct {
	testing.TB
	*peer.Client
	modern       bool
	capabilities string
	held         []received // what came before the test wanted it
	last         int        // of its ids
}

// received is a message of the server.
type received struct {
	stream string // the id of the request on whose HTTP stream it came; "" on a connection
	wire.Message
}

// front is a server in front of a source, with its HTTP carriers.
type front struct {
	*mcpserver.Server
	web *httptest.Server
}

func newFront(t testing.TB, source bridge.Source) *front {
	return newFrontWith(t, source, mcpserver.Options{})
}

func newFrontWith(t testing.TB, source bridge.Source, opts mcpserver.Options) *front {
	f := &front{Server: mcpserver.New(source, opts)}
	f.web = httptest.NewServer(f.Handler())
	t.Cleanup(func() {
		f.Close()
		f.web.Close()
	})
	return f
}

// dialer connects a client to a front.
type dialer func(testing.TB, *front) *peer.Client

// callerCarriers are the carriers from a client to a front.
var callerCarriers = []struct {
	name string
	dial dialer
}{
	{"stdio", overPipes}, {"http", overHTTP}, {"sse", overSSE}, {"ws", overWS},
}

func overPipes(_ testing.TB, f *front) *peer.Client { return overPipesOf(f, &mcpserver.Stream{}) }

// overPipesOf connects a client whose streams it makes.
func overPipesOf(f *front, client *mcpserver.Stream) *peer.Client {
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	served := make(chan struct{})
	go func() {
		client.In, client.Out = toServer, fromServer
		f.ServeStream(context.Background(), client)
		fromServer.Close()
		close(served)
	}()
	return peer.Lines(out, in, func() error {
		in.Close()
		<-served
		return nil
	})
}

func overSSE(t testing.TB, f *front) *peer.Client {
	return must(t)(peer.DialSSE(context.Background(), f.web.URL+"/sse", nil))
}

func overWS(t testing.TB, f *front) *peer.Client { return connectWS(nil)(t, f) }

// connectWS connects with headers.
func connectWS(headers http.Header) dialer {
	return func(t testing.TB, f *front) *peer.Client {
		return must(t)(peer.DialWS(context.Background(), f.web.URL+"/ws", headers))
	}
}

func must(t testing.TB) func(*peer.Client, error) *peer.Client {
	return func(c *peer.Client, err error) *peer.Client {
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func overHTTP(_ testing.TB, f *front) *peer.Client {
	return peer.HTTP(context.Background(), f.web.URL+"/mcp", nil)
}

// newCaller connects a client and, in the legacy era, initializes it.
func newCaller(t testing.TB, f *front, dial dialer, modern bool, capabilities string) *caller {
	c := &caller{TB: t, Client: dial(t, f), modern: modern, capabilities: capabilities}
	t.Cleanup(func() { c.Close() })
	if !modern {
		c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"test","version":"1"}}}`, nil)
		if m := c.response("0"); m.Error != nil {
			t.Fatalf("initialize: %s", m.Raw)
		}
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	}
	return c
}

func (c *caller) send(msg string, headers http.Header) {
	if err := c.Send([]byte(msg), headers); err != nil {
		c.Errorf("send %.200s: %v", msg, err)
	}
}

// request sends a request and returns its raw id. members are those of its params, meta those
// of their _meta.
func (c *caller) request(method, members, meta string) string {
	c.last++
	id := fmt.Sprint(c.last)
	headers := http.Header{}
	if c.modern {
		meta = peer.Members(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+c.capabilities)
		headers.Set("Mcp-Method", method)
		headers.Set("Mcp-Protocol-Version", "2026-07-28")
		for _, key := range []string{"name", "uri"} {
			if v, ok := wire.Text(wire.Lookup([]byte(`{`+members+`}`), key)); ok {
				headers.Set("Mcp-Name", v)
			}
		}
	}
	if meta != "" {
		members = peer.Members(members, `"_meta":{`+meta+`}`)
	}
	c.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{`+members+`}}`, headers)
	return id
}

// cancel cancels a request in the way of its era and carrier.
func (c *caller) cancel(id string) {
	if c.modern {
		c.Leave(id)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, nil)
}

// next returns the first message that is wanted, and holds others for later.
func (c *caller) next(what string, wanted func(*received) bool) received {
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
		case raw := <-c.In:
			m, err := wire.Split(raw.Raw)
			if err != nil || raw.Err != nil {
				c.Fatalf("the server sent %s: %v %v", raw.Raw, err, raw.Err)
			}
			r := received{raw.Stream, m}
			if wanted(&r) {
				return r
			}
			c.held = append(c.held, r)
		case <-t.C:
			for _, m := range c.held {
				c.Logf("held: %s", m.Raw)
			}
			c.Fatalf("%s did not come", what)
		}
	}
}

// response returns the response to a request.
func (c *caller) response(id string) received {
	c.Helper()
	return c.next("the response to "+id, func(m *received) bool { return m.Kind() == wire.Response && string(m.ID) == id })
}

// result returns the result of a request and fails the test on an error.
func (c *caller) result(id string) string {
	c.Helper()
	m := c.response(id)
	if m.Error != nil {
		c.Fatalf("got the error %s", m.Raw)
	}
	return string(m.Result)
}

// note returns the next notification of a method.
func (c *caller) note(method string) received {
	c.Helper()
	return c.next(method, func(m *received) bool { return m.Kind() == wire.Notification && m.Method == method })
}

// tool calls a tool that asks nothing and returns its result.
func (c *caller) tool(name, args string) string {
	c.Helper()
	return c.result(c.request("tools/call", `"name":"`+name+`","arguments":`+args, ""))
}

// respond answers a request of the server.
func (c *caller) respond(id, result string) {
	c.send(`{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`, nil)
}
