package mcpclient_test

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
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// upstream is a server of one era over streamable HTTP (/mcp) and WebSocket (/ws) whose
// test answers what it is asked about changes.
type upstream struct {
	*httptest.Server
	network *peer.Network
	legacy  bool
	asks    chan *asked  // subscriptions/listen of a resource, resources/subscribe and unsubscribe
	listen  func(*asked) // answers a subscriptions/listen of list changes

	mu    sync.Mutex // guards what follows
	tools []string
	read  chan struct{} // closed when the tools have been read
}

// asked is a request that a test answers, or has a test answer it.
type asked struct {
	wire.Message
	say  func(string)  // sends a message, until the request is over
	over chan struct{} // closed when it has been answered or given up
	end  func()        // closes over
	hang func()        // ends what it came on: the stream over HTTP, else the connection
}

const everything = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

func newUpstream(t *testing.T, legacy bool) *upstream {
	u := &upstream{network: peer.NewNetwork(), legacy: legacy, asks: make(chan *asked, 100), tools: []string{"ok"}, read: make(chan struct{}), listen: func(a *asked) { a.grant(everything) }}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", u.overHTTP)
	mux.HandleFunc("/ws", u.overWS)
	u.Server = httptest.NewUnstartedServer(mux)
	u.Listener.Close()
	u.Listener = u.network
	u.Start()
	t.Cleanup(func() {
		u.CloseClientConnections()
		u.Close()
	})
	return u
}

// open opens a session on a new client.
func (u *upstream) open(t *testing.T, cfg mcpclient.Config) *caller { return openOn(t, u.network, cfg) }

// upstreams runs a test in a bubble, at a server over a stream for each request, and at one
// over one stream for all.
func upstreams(t *testing.T, legacy bool, test func(t *testing.T, u *upstream, cfg mcpclient.Config)) {
	for _, carrier := range []string{"http", "ws"} {
		t.Run(carrier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sourcetest.NoLeaks(t)
				u := newUpstream(t, legacy)
				cfg := mcpclient.Config{URL: u.URL + "/mcp", Sharing: mcpclient.Shared}
				if carrier == "ws" {
					cfg.URL = "ws" + strings.TrimPrefix(u.URL, "http") + "/ws"
				}
				test(t, u, cfg)
			})
		})
	}
}

func (u *upstream) take(a *asked) {
	modern := a.Params.Get(wire.MetaProtocolVersion) != nil
	uri, _ := a.Params.Text(wire.URI)
	switch {
	case modern == u.legacy && a.Method != wire.MethodInitialize && a.Method != wire.MethodDiscover:
		panic("a request of the wrong era: " + string(a.Raw))
	case a.Method == wire.MethodInitialize && u.legacy:
		a.result(`"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{}`)
	case a.Method == wire.MethodDiscover && !u.legacy:
		a.result(`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}`)
	case a.Method == wire.MethodToolsList:
		a.result(`"tools":[{"name":"` + u.names() + `","inputSchema":{}}]`)
	case a.Method == wire.MethodToolsCall:
		a.result(`"content":[],"tool":"` + toolOf(&a.Message) + `"`)
	case a.Method == wire.MethodListen && a.uri() == "":
		u.listen(a)
	case a.Method == wire.MethodListen, uri != "":
		u.asks <- a
	default:
		a.refuse(wire.MethodNotFound)
	}
}

// names are the tools as they are read now.
func (u *upstream) names() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	select {
	case <-u.read:
	default:
		close(u.read)
	}
	return strings.Join(u.tools, `","inputSchema":{}},{"name":"`)
}

// add adds a tool and tells nobody.
func (u *upstream) add(tool string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tools = append(u.tools, tool)
}

// next is the next request that the test has to answer, which must be of a resource.
func (u *upstream) next(t *testing.T, method, uri string) *asked {
	t.Helper()
	select {
	case a := <-u.asks:
		if a.Method != method || a.uri() != uri {
			t.Fatalf("asked %s, want %s of %s", a.Raw, method, uri)
		}
		return a
	case <-time.After(patience):
		t.Fatalf("not asked: %s of %s", method, uri)
		return nil
	}
}

// quiet checks that there is nothing to answer.
func (u *upstream) quiet(t *testing.T) {
	t.Helper()
	select {
	case a := <-u.asks:
		t.Errorf("asked %s", a.Raw)
	default:
	}
}

// uri is the resource that a request is about, "" when it is about none.
func (a *asked) uri() string {
	if uri, ok := a.Params.Text(wire.URI); ok {
		return uri
	}
	for raw := range wire.Elements(wire.Lookup(a.Params.Raw, "notifications", "resourceSubscriptions")) {
		uri, _ := wire.Text(raw)
		return uri
	}
	return ""
}

func (a *asked) result(members string) {
	a.say(`{"jsonrpc":"2.0","id":` + string(a.ID) + `,"result":{` + members + `}}`)
	a.end()
}

func (a *asked) refuse(code int) {
	a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"not this one"}}`, a.ID, code))
	a.end()
}

// grant acknowledges a listen.
func (a *asked) grant(filter string) {
	a.note("notifications/subscriptions/acknowledged", `"notifications":`+filter)
}

// note says something on the stream of a listen.
func (a *asked) note(method, members string) {
	a.say(`{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(a.ID) + `},` + members + `}}`)
}

// agree is yes to a request for a resource, of either era.
func (a *asked) agree() {
	if a.Method == wire.MethodListen {
		a.grant(string(wire.Lookup(a.Params.Raw, "notifications")))
		return
	}
	a.result("")
}

// ended waits until the request is over.
func (a *asked) ended(t *testing.T) {
	t.Helper()
	select {
	case <-a.over:
	case <-time.After(patience):
		t.Fatalf("it is still open: %s", a.Raw)
	}
}

// newAsked is a request that write answers; nothing is written any more when it is over.
func newAsked(raw []byte, write func(string)) *asked {
	m, err := wire.Split(bytes.Clone(raw))
	if err != nil {
		panic(err)
	}
	a := &asked{Message: m, over: make(chan struct{})}
	var mu sync.Mutex
	a.end = func() {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-a.over:
		default:
			close(a.over)
		}
	}
	a.say = func(msg string) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-a.over:
		default:
			write(msg)
		}
	}
	a.hang = a.end
	return a
}

func (u *upstream) overHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost {
		rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	a := newAsked(body, func(msg string) {
		fmt.Fprintf(rw, "data: %s\n\n", msg)
		rw.(http.Flusher).Flush()
	})
	defer a.end()
	if a.Kind() != wire.Request {
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	u.take(a)
	select {
	case <-a.over:
	case <-r.Context().Done():
	}
}

func (u *upstream) overWS(rw http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"mcp"}}
	conn, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	var mu sync.Mutex
	open := map[string]*asked{}
	defer func() {
		for _, a := range open {
			a.end()
		}
	}()
	for {
		_, raw, err := conn.ReadMessage()
		if err != nil {
			return
		}
		a := newAsked(raw, func(msg string) {
			mu.Lock()
			defer mu.Unlock()
			conn.WriteMessage(websocket.TextMessage, []byte(msg))
		})
		a.hang = func() { conn.Close() }
		if a.Kind() == wire.Request {
			open[string(a.ID)] = a
			u.take(a)
		} else if of := open[string(a.Params.Get(wire.RequestID))]; a.Method == wire.NotificationCancelled && of != nil {
			of.end()
		}
	}
}

// also opens another session on the client of a caller.
func (c *caller) also(who bridge.Caller) *caller {
	c.Helper()
	one := &caller{T: c.T, client: c.client, changes: make(chan struct{}, 100)}
	session, err := c.client.Open(c.Context(), &who)
	if err != nil {
		c.Fatal(err)
	}
	one.session = session
	return one
}

// ask sends a request about a resource in the background.
func (c *caller) ask(ctx context.Context, method, uri string) <-chan bridge.Reply {
	reply := make(chan bridge.Reply, 1)
	params, err := wire.SplitParams([]byte(`{"uri":"` + uri + `"}`))
	if err != nil {
		c.Fatal(err)
	}
	go func() {
		reply <- c.session.Do(ctx, &bridge.Request{Method: method, Params: &params, Target: uri})
	}()
	return reply
}

// reply waits for one.
func (c *caller) reply(from <-chan bridge.Reply) bridge.Reply {
	c.Helper()
	select {
	case r := <-from:
		return r
	case <-time.After(patience):
		c.Fatal("there is no reply")
		return bridge.Reply{}
	}
}

// agreed checks that a request about a resource is done.
func (c *caller) agreed(from <-chan bridge.Reply) {
	c.Helper()
	if r := c.reply(from); r.Err != nil || string(r.Result) != "{}" {
		c.Fatalf("got %s %v", r.Result, r.Err)
	}
}

// waits checks that there is no reply yet, whatever else goes to the server and back.
func (c *caller) waits(replies ...<-chan bridge.Reply) {
	c.Helper()
	c.works("ok")
	for _, one := range replies {
		select {
		case r := <-one:
			c.Fatalf("it did not wait: %s %v", r.Result, r.Err)
		default:
		}
	}
}
