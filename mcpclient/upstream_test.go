package mcpclient_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
)

// upstream is a server of one era whose test answers what it is asked about changes.
type upstream struct {
	*peer.Server
	url     string
	network *peer.Network
	asks    chan *asked  // subscriptions/listen of a resource, resources/subscribe and unsubscribe
	listen  func(*asked) // answers a subscriptions/listen of list changes
}

// asked is a request that a test answers, or has a test answer it.
type asked struct {
	*peer.Call
	over chan struct{} // closed when it has been answered or canceled
	end  func()        // closes over
}

const everything = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

func newUpstream(t *testing.T, legacy bool) *upstream {
	era := peer.Modern
	if legacy {
		era = peer.Legacy
	}
	u := &upstream{Server: peer.NewServer(era), network: peer.NewNetwork(), asks: make(chan *asked, 100), listen: func(a *asked) { a.grant(everything) }}
	u.Tools = `{"name":"ok","inputSchema":{}}`
	u.Take = u.take
	u.url = u.Serve(t, u.network)
	return u
}

// open opens a session on a new client.
func (u *upstream) open(t *testing.T, cfg mcpclient.Config) *caller { return openOn(t, u.network, cfg) }

// upstreams runs a test in a bubble, at a server over a stream for each request, and at one
// over one stream for all.
func upstreams(t *testing.T, legacy bool, test func(t *testing.T, u *upstream, cfg mcpclient.Config)) {
	for _, carrier := range []string{"http", "ws"} {
		t.Run(carrier, func(t *testing.T) {
			sourcetest.NoLeaks(t)
			synctest.Test(t, func(t *testing.T) {
				u := newUpstream(t, legacy)
				cfg := mcpclient.Config{URL: u.url + "/mcp", Sharing: mcpclient.Shared}
				if carrier == "ws" {
					cfg.URL = "ws" + strings.TrimPrefix(u.url, "http") + "/ws"
				}
				test(t, u, cfg)
			})
		})
	}
}

func (u *upstream) take(c *peer.Call) {
	a := &asked{Call: c, over: make(chan struct{})}
	a.end = sync.OnceFunc(func() { close(a.over) })
	defer a.end()
	switch {
	case c.Method == wire.MethodToolsCall:
		c.Say(`{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":{"content":[],"tool":"` + c.Name() + `"}}`)
		return
	case c.Method == wire.MethodListen && a.uri() == "":
		u.listen(a)
	case c.Method == wire.MethodListen, c.URI() != "":
		u.asks <- a
	default:
		a.refuse(wire.MethodNotFound)
	}
	select {
	case <-a.over:
	case <-c.Ctx.Done():
	}
}

// add adds a tool and tells no client.
func (u *upstream) add(tool string) {
	u.Update(func() { u.Tools += `,{"name":"` + tool + `","inputSchema":{}}` })
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
	if uri := a.URI(); uri != "" {
		return uri
	}
	for raw := range wire.Elements(wire.Lookup(a.Params.Raw, "notifications", "resourceSubscriptions")) {
		uri, _ := wire.Text(raw)
		return uri
	}
	return ""
}

func (a *asked) result(members string) {
	a.Reply(members)
	a.end()
}

func (a *asked) refuse(code int) {
	a.Fail(code, "not this one", "")
	a.end()
}

// grant acknowledges a listen.
func (a *asked) grant(filter string) {
	a.note("notifications/subscriptions/acknowledged", `"notifications":`+filter)
}

// note says something on the stream of a listen.
func (a *asked) note(method, members string) {
	a.Say(`{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(a.ID) + `},` + members + `}}`)
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
