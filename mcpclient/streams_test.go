package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server may end the stream of a call again and again, for its client to come back for the rest (SEP-1699), and may
// be away for a moment then. -1 is a status in place of which the connection ends.
func TestStreamPolled(t *testing.T) {
	for _, status := range []int{0, http.StatusServiceUnavailable, -1} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			var id atomic.Value
			var gets atomic.Int64
			o := newOddOn(t, network, func(x *exchange) bool {
				if x.Method != wire.MethodToolsCall {
					return false
				}
				id.Store(string(x.ID))
				stream(x.w, "id: 0\nretry: 100\ndata:\n\n")
				return true
			})
			o.get = func(w http.ResponseWriter, r *http.Request) {
				last := r.Header.Get(mcp.HeaderLastEventID)
				if last == "" {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				if n := gets.Add(1); status != 0 && n%2 == 1 {
					if status < 0 {
						panic(http.ErrAbortHandler)
					}
					w.WriteHeader(status)
					return
				}
				n, _ := strconv.Atoi(last)
				if n < 10 {
					stream(w, "id: "+strconv.Itoa(n+1)+"\ndata:\n\n")
					return
				}
				stream(w, "data: "+`{"jsonrpc":"2.0","id":`+id.Load().(string)+`,"result":{"content":[],"tool":"ok"}}`+"\n\n")
			}
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			c.works("ok")
		})
	}
}

// A stream that the server has offered is asked for again where it is refused: the server may not know yet that the last
// one is lost, or not have the events after the last any more.
func TestStreamRefusedAfterAnother(t *testing.T) {
	for _, status := range []int{http.StatusConflict, http.StatusBadRequest, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			o := newOddOn(t, network, nil)
			var n atomic.Int64
			again := make(chan struct{})
			o.get = func(w http.ResponseWriter, r *http.Request) {
				switch n.Add(1) {
				case 1:
					stream(w, "id: 1\ndata:\n\n")
				case 2:
					w.WriteHeader(status)
				case 3:
					stream(w, "")
					close(again)
					<-r.Context().Done()
				}
			}
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			c.works("ok")
			select {
			case <-again:
			case <-time.After(patience):
				t.Errorf("after HTTP %d it is not asked for again", status)
			}
		})
	}
}

// An id of an event that is too long to be sent back is not kept, and one of a session is an error.
func TestLongIDs(t *testing.T) {
	long := strings.Repeat("x", 8<<10+1)
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		asked := make(chan string, 10)
		o.get = func(w http.ResponseWriter, r *http.Request) {
			select {
			case asked <- r.Header.Get(mcp.HeaderLastEventID):
				stream(w, "id: "+[]string{"1", long}[len(asked)%2]+"\ndata:\n\n")
			default:
				<-r.Context().Done()
			}
		}
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		time.Sleep(time.Minute)
		for i, want := range []string{"", "", "1", ""} {
			if got := <-asked; got != want {
				t.Errorf("after %d streams it is asked for what follows %.10s, want %s", i, got, want)
			}
		}
	})
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodInitialize {
			x.w.Header().Set(mcp.HeaderSessionID, long)
			x.result(`"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{}`)
		}
		return x.Method == wire.MethodInitialize
	})
	c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Era: mcpclient.Legacy})
	c.fails(c.call("ok"), toolformat.Unavailable, "the id of its session has 8193 bytes")
}

// A server that has no stream may say so with 404, as a router does: the session goes on.
func TestNoStreamAt404(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Method == wire.MethodPing {
				x.result("")
			}
			return x.Method == wire.MethodPing
		})
		o.get = func(w http.ResponseWriter, r *http.Request) { http.Error(w, "Cannot GET /mcp", http.StatusNotFound) }
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		time.Sleep(time.Minute)
		c.works("ok")
		if n := len(o.greeted); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// A notification needs no answer: the end of a stream with which a server answers one is not awaited.
func TestNotificationAnsweredWithStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, func(x *exchange) bool {
			if x.Kind() == wire.Notification {
				stream(x.w, ": \n\n")
				<-x.ctx.Done()
			}
			return x.Kind() == wire.Notification
		})
		begun := time.Now()
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %s to connect", took)
		}
	})
}

// newSSE is a server of the legacy SSE transport, whose test may answer a POST.
func newSSE(t *testing.T, network *peer.Network, take func(*exchange) bool) *odd {
	var mu sync.Mutex
	var last chan string // of the latest stream
	o := newOddOn(t, network, func(x *exchange) bool {
		if take(x) {
			return true
		}
		x.w.WriteHeader(http.StatusAccepted)
		result := map[string]string{
			wire.MethodInitialize: `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`,
			wire.MethodToolsList:  `{"tools":[{"name":"ok","inputSchema":{"type":"object"}}]}`,
			wire.MethodToolsCall:  `{"content":[],"tool":"ok"}`,
			wire.MethodPing:       `{}`,
		}[x.Method]
		if result != "" {
			mu.Lock()
			defer mu.Unlock()
			last <- `data: {"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":` + result + "}\n\n"
		}
		return true
	})
	o.get = func(w http.ResponseWriter, r *http.Request) {
		out := make(chan string, 10)
		mu.Lock()
		last = out
		mu.Unlock()
		stream(w, "event: endpoint\ndata: /\n\n")
		for {
			select {
			case event := <-out:
				stream(w, event)
			case <-r.Context().Done():
				return
			}
		}
	}
	return o
}

// A status with which a server of the legacy SSE transport refuses a call is what its caller reads.
func TestPostRefused(t *testing.T) {
	for status, text := range map[int]string{
		http.StatusRequestEntityTooLarge: "this is too large", http.StatusBadRequest: "no session", http.StatusTooManyRequests: "not now",
		http.StatusServiceUnavailable: "not now", http.StatusInternalServerError: "oops", http.StatusConflict: "not like this", http.StatusRequestTimeout: "too slow",
	} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			var calls atomic.Int32
			o := newSSE(t, network, func(x *exchange) bool {
				if x.Method == wire.MethodToolsCall {
					calls.Add(1)
					http.Error(x.w, text, status)
				}
				return x.Method == wire.MethodToolsCall
			})
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.SSE})
			c.fails(c.call("ok"), toolformat.Unavailable, fmt.Sprintf("up: HTTP %d %s: %s", status, http.StatusText(status), text))
			if n := calls.Swap(0); n != 1 {
				t.Errorf("HTTP %d: it is sent %d times", status, n)
			}
		})
	}
}

// A server of the legacy SSE transport that no longer knows the session, and does not end its stream, is connected anew.
func TestPostOfForgottenSession(t *testing.T) {
	for status, text := range map[int]string{http.StatusNotFound: "", http.StatusBadRequest: "unknown session"} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			var forgotten atomic.Bool
			o := newSSE(t, network, func(x *exchange) bool {
				if x.Method == wire.MethodInitialize {
					forgotten.Store(false)
				}
				if forgotten.Load() {
					http.Error(x.w, text, status)
				}
				return forgotten.Load()
			})
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.SSE})
			c.works("ok")
			forgotten.Store(true)
			c.works("ok")
		})
	}
}

// openFailing opens a session on a client that can make no connection as often as down says.
func openFailing(t *testing.T, network *peer.Network, cfg mcpclient.Config) (c *caller, down *atomic.Int32) {
	cfg.Name, down = "up", new(atomic.Int32)
	c = &caller{T: t, client: mcpclient.New(cfg)}
	t.Cleanup(func() { c.client.Close() })
	c.client.DialThrough(func(ctx context.Context, _, addr string) (net.Conn, error) {
		if down.Add(-1) >= 0 {
			return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
		}
		return network.Dial(ctx, "tcp", addr)
	})
	var err error
	if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name()}); err != nil {
		t.Fatal(err)
	}
	return c, down
}

// A call for which no connection can be made while the stream of the legacy SSE transport lives is sent a moment later.
func TestPostNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newSSE(t, network, func(*exchange) bool { return false })
		c, down := openFailing(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.SSE})
		c.works("ok")
		time.Sleep(time.Minute) // idle connections end
		down.Store(3)
		c.works("ok")
	})
}

// A server that refuses a subscription for a moment is asked for it again, and one that does not have it is not.
func TestListenRefusedForNow(t *testing.T) {
	for refusal, want := range map[string]int32{
		"503 later": 2, `429 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"later"}}`: 2,
		"400 never": 1, `500 {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"method not found"}}`: 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			network := peer.NewNetwork()
			var listens atomic.Int32
			o := newOddOn(t, network, func(x *exchange) bool {
				if x.Method != wire.MethodListen {
					return false
				}
				if listens.Add(1) == 1 {
					code, text, _ := strings.Cut(refusal, " ")
					status, _ := strconv.Atoi(code)
					http.Error(x.w, text, status)
					return true
				}
				x.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
					string(x.ID) + `},"notifications":` + everything + `}}`)
				<-x.ctx.Done()
				return true
			})
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Era: mcpclient.Modern})
			c.works("ok")
			time.Sleep(time.Hour)
			if n := listens.Load(); n != want {
				t.Errorf("%s: it is asked %d times, want %d", refusal, n, want)
			}
		})
	}
}

// So is one that does so for a resource, on a new connection.
func TestListenRefusedForNowOnNextConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		var listens atomic.Int32
		again := make(chan struct{})
		o := newOddOn(t, network, func(x *exchange) bool {
			filter := wire.Lookup(x.Params.Raw, "notifications", "resourceSubscriptions")
			if x.Method != wire.MethodListen || filter == nil {
				return false
			}
			switch listens.Add(1) {
			case 2:
				x.w.WriteHeader(http.StatusServiceUnavailable)
				return true
			case 3:
				close(again)
			}
			x.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` +
				string(x.ID) + `},"notifications":{"resourceSubscriptions":` + string(filter) + `}}}`)
			<-x.ctx.Done()
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Era: mcpclient.Modern})
		c.agreed(c.ask(t.Context(), wire.MethodSubscribe, res))
		c.client.Restart()
		select {
		case <-again:
		case <-time.After(patience):
			t.Error("it is not asked again")
		}
	})
}

// The error of a call or a subscription that is refused says so once.
func TestRefusedOnce(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		refused := x.Method == wire.MethodToolsCall || wire.Lookup(x.Params.Raw, "notifications", "resourceSubscriptions") != nil
		if refused {
			http.Error(x.w, "later", http.StatusServiceUnavailable)
		}
		return refused
	})
	c := open(t, mcpclient.Config{URL: o.URL, Era: mcpclient.Modern})
	for name, r := range map[string]bridge.Reply{"a call": c.call("ok"), "a subscription": c.reply(c.ask(t.Context(), wire.MethodSubscribe, res))} {
		c.fails(r, toolformat.Unavailable, "HTTP 503 Service Unavailable: later")
		if r.Err != nil && r.Err.Cause != nil {
			t.Errorf("%s: and because of %v", name, r.Err.Cause)
		}
	}
	c.client.Close()
}

// An error in the body of a status is the server's own only if it is an object: web servers write a text.
func TestRefusedWithText(t *testing.T) {
	for body, want := range map[string]string{`{"error":"oops"}`: `HTTP 500 Internal Server Error: {"error":"oops"}`, `{"error":null}`: "HTTP 500", `{"error":["a"]}`: "HTTP 500", `{"error":{}}`: "does not say why"} {
		o := newOdd(t, func(x *exchange) bool {
			if x.Method == wire.MethodToolsCall {
				x.w.WriteHeader(http.StatusInternalServerError)
				io.WriteString(x.w, body)
			}
			return x.Method == wire.MethodToolsCall
		})
		c := open(t, mcpclient.Config{URL: o.URL})
		r := c.call("ok")
		if r.Err == nil || !strings.Contains(r.Err.Message, want) {
			t.Errorf("%s: %v", body, r.Err)
		} else if raw := r.Err.Raw; raw != nil && wire.Valid(raw) != nil {
			t.Errorf("%s: the error is %s", body, raw)
		}
		c.client.Close()
	}
}
