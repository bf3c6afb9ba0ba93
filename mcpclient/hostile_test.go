package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// odd is a server over streamable HTTP with a session, whose test answers some of what it
// is sent.
type odd struct {
	*httptest.Server
	take    func(x *exchange) bool // answers a message; false: in the ordinary way
	get     func(http.ResponseWriter, *http.Request)
	greeted chan struct{} // an initialize each
}

// exchange is a POST of one message.
type exchange struct {
	wire.Message
	w   http.ResponseWriter
	ctx context.Context
}

func newOdd(t *testing.T, take func(*exchange) bool) *odd { return newOddOn(t, nil, take) }

// newOddOn serves on a network in memory, in a synctest bubble, or on the system's.
func newOddOn(t *testing.T, network *peer.Network, take func(*exchange) bool) *odd {
	if network == nil { // a bubble ends after its goroutines in any case
		sourcetest.NoLeaks(t)
	}
	o := &odd{take: take, greeted: make(chan struct{}, 100_000)}
	o.Server = httptest.NewUnstartedServer(o)
	if network != nil {
		o.Listener.Close()
		o.Listener = network
	}
	o.Start()
	t.Cleanup(func() {
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

func (o *odd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if r.Method == http.MethodGet && o.get != nil {
			o.get(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := wire.Split(body)
	if err != nil {
		panic(err)
	}
	x := &exchange{m, w, r.Context()}
	if o.take != nil && o.take(x) {
		return
	}
	switch {
	case m.Kind() != wire.Request:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == wire.MethodInitialize:
		o.greeted <- struct{}{}
		w.Header().Set(mcp.HeaderSessionID, "s")
		x.result(`"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{}`)
	case m.Method == wire.MethodDiscover:
		x.result(`"supportedVersions":["2026-07-28"],"capabilities":{}`)
	case m.Method == wire.MethodToolsList:
		x.result(`"tools":[{"name":"ok","inputSchema":{}}]`)
	case m.Method == wire.MethodToolsCall:
		x.result(`"content":[],"tool":"` + toolOf(&m) + `"`)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// say sends a message as an event.
func (x *exchange) say(msg string) {
	x.w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(x.w, "data: %s\n\n", msg)
	x.w.(http.Flusher).Flush()
}

func (x *exchange) result(members string) {
	x.say(`{"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":{` + members + `}}`)
}

// asking is a session of a caller with those capabilities.
func asking(t *testing.T, cfg mcpclient.Config, capabilities string, ask func(context.Context, string, []byte) ([]byte, *toolformat.Error)) *caller {
	return askingOn(t, nil, cfg, capabilities, ask)
}

// askingOn is asking over a network in memory, or over the system's.
func askingOn(t *testing.T, network *peer.Network, cfg mcpclient.Config, capabilities string, ask func(context.Context, string, []byte) ([]byte, *toolformat.Error)) *caller {
	c := &caller{T: t}
	cfg.Name = "up"
	c.client = mcpclient.New(cfg)
	if network != nil {
		c.client.DialThrough(network.Dial)
	}
	t.Cleanup(func() { c.client.Close() })
	var err error
	if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name(), Capabilities: []byte(capabilities), Ask: ask}); err != nil {
		t.Fatal(err)
	}
	return c
}

// A call has its timeout also when the session it was sent in has ended meanwhile.
func TestTimeoutAfterLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		hanging := make(chan struct{})
		o := newOddOn(t, network, func(x *exchange) bool {
			switch toolOf(&x.Message) {
			case "hang":
				x.w.Header().Set("Content-Type", "text/event-stream")
				x.w.(http.Flusher).Flush()
				close(hanging)
				<-x.ctx.Done()
			case "gone":
				x.w.WriteHeader(http.StatusNotFound)
			default:
				return false
			}
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Timeout: 300 * time.Millisecond})
		c.works("ok")
		reply := make(chan bridge.Reply)
		go func() { reply <- c.call("hang") }()
		<-hanging
		c.call("gone")
		select {
		case r := <-reply:
			c.fails(r, toolformat.Timeout, "took longer")
		case <-time.After(patience):
			t.Fatal("the call has no end")
		}
	})
}

// A call that could not be sent ends no session in which another one is under way.
func TestSessionOutlivesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		hanging, end, deleted := make(chan struct{}), make(chan struct{}), make(chan struct{}, 10)
		o := newOddOn(t, network, func(x *exchange) bool {
			if toolOf(&x.Message) == "hang" {
				close(hanging)
				<-end
			}
			return false
		})
		o.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				deleted <- struct{}{}
			}
			o.ServeHTTP(w, r)
		})
		c, down := openFailing(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		time.Sleep(time.Minute) // idle connections end
		reply := make(chan bridge.Reply)
		go func() { reply <- c.call("hang") }()
		<-hanging
		down.Store(1)
		c.works("ok")
		if len(o.greeted) != 2 || len(deleted) > 0 {
			t.Errorf("%d sessions began, %d ended", len(o.greeted), len(deleted))
		}
		close(end)
		if r := <-reply; r.Err != nil {
			t.Error(r.Err)
		}
		<-deleted
	})
}

// A server that takes a call and then says that the session has ended gets it a few times, not as
// long as a call may take: it may have run each time.
func TestSessionGoneAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		var calls atomic.Int64
		o := newOddOn(t, network, func(x *exchange) bool {
			if toolOf(&x.Message) != "gone" {
				return false
			}
			calls.Add(1)
			time.Sleep(2 * time.Second)
			http.Error(x.w, "the browser session has crashed", http.StatusBadRequest)
			return true
		})
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.fails(c.call("gone"), toolformat.Unavailable, "")
		if n := calls.Load(); n > 3 {
			t.Errorf("it was called %d times", n)
		}
	})
}

// An error that a server answers to a call over HTTP reaches the caller of that call, whatever words and
// status it has: the session goes on, and the call has run once.
func TestStatusOfCall(t *testing.T) {
	answers := map[string]func(x *exchange){
		"400": func(x *exchange) {
			x.w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(x.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad argument: session"}}`, x.ID)
		},
		"400 without an id": func(x *exchange) {
			x.w.WriteHeader(http.StatusBadRequest)
			io.WriteString(x.w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad argument: session"}}`)
		},
		"404": func(x *exchange) {
			x.w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(x.w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad argument: no such page"}}`, x.ID)
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int64
			o := newOdd(t, func(x *exchange) bool {
				switch {
				case x.Method == wire.MethodPing:
					x.result("")
				case toolOf(&x.Message) == "check":
					runs.Add(1)
					answer(x)
				default:
					return false
				}
				return true
			})
			c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			c.works("ok")
			if r := c.call("check"); r.Err == nil || !strings.HasPrefix(r.Err.Message, "bad argument") {
				t.Errorf("%+v", r)
			}
			c.works("ok")
			if runs.Load() != 1 || len(o.greeted) != 1 {
				t.Errorf("%d runs, %d sessions", runs.Load(), len(o.greeted))
			}
		})
	}
}

// A server that has forgotten the session gets the call again in a new one, also one that answers as the
// first examples of the SDKs.
func TestSessionForgottenAs(t *testing.T) {
	for status, body := range map[int]string{
		http.StatusNotFound:   "Session not found",
		http.StatusBadRequest: `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`,
	} {
		var forgotten atomic.Bool
		o := newOdd(t, func(x *exchange) bool {
			if x.Method == wire.MethodInitialize {
				forgotten.Store(false)
			}
			if forgotten.Load() {
				x.w.WriteHeader(status)
				io.WriteString(x.w, body)
			}
			return forgotten.Load()
		})
		c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		forgotten.Store(true)
		c.works("ok")
	}
}

// The shortest pause that a config can have is one.
func TestShortestPause(t *testing.T) {
	sourcetest.NoLeaks(t)
	c := open(t, mcpclient.Config{URL: "http://127.0.0.1:1/", Transport: mcpclient.HTTP, RetryMin: 1, RetryMax: time.Second})
	c.fails(c.call("ok"), toolformat.Unavailable, "")
}

// A server that wants its clients back at once gets them back soon, not in a circle.
func TestStreamComesBackSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		begun := make(chan time.Time, 10_000)
		o.get = func(w http.ResponseWriter, _ *http.Request) {
			begun <- time.Now()
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "retry: 0\n\n")
		}
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		first := <-begun
		for range 4 {
			<-begun
		}
		if took := time.Since(first); took < 300*time.Millisecond {
			t.Errorf("it came back four times in %s", took)
		}
	})
}

// A stream that a proxy refuses for the moment is asked for again.
func TestStreamRefusedForNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		var n atomic.Int64
		again := make(chan struct{})
		o.get = func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == 2 {
				close(again)
			}
			w.WriteHeader(http.StatusBadGateway)
		}
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		select {
		case <-again:
		case <-time.After(patience):
			t.Error("it was asked for once")
		}
	})
}

// Of two readings of a list the later one counts, also when the earlier one takes longer.
func TestListReadingsInOrder(t *testing.T) {
	var reads atomic.Int64
	reading, later := make(chan struct{}), make(chan struct{})
	o := newOdd(t, func(x *exchange) bool {
		changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		switch {
		case x.Method == wire.MethodToolsCall:
			x.say(changed)
			<-reading
			x.say(changed)
			x.result(`"content":[]`)
		case x.Method == wire.MethodToolsList && reads.Add(1) == 2:
			close(reading)
			select {
			case <-later:
			case <-time.After(300 * time.Millisecond): // it waits for this one, as it should
			}
			x.result(`"tools":[{"name":"old","inputSchema":{}}]`)
		case x.Method == wire.MethodToolsList && reads.Load() == 3:
			x.result(`"tools":[{"name":"new","inputSchema":{}}]`)
			close(later)
		default:
			return false
		}
		return true
	})
	c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
	c.session.List(t.Context(), bridge.Tools)
	c.call("x")
	for range 2 {
		select {
		case <-c.changes:
		case <-time.After(patience):
			t.Fatal("no change was told")
		}
	}
	l, err := c.session.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Find("new"); !ok {
		t.Errorf("the list is %s", l.Items[0].Raw)
	}
}

// A lazy server that could not be reached, or was stopped, has its lists again once a call may start it.
func TestLazyComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		var up atomic.Bool
		c := &caller{T: t, client: mcpclient.New(mcpclient.Config{Name: "up", URL: o.URL, Transport: mcpclient.HTTP, Lazy: true})}
		defer c.client.Close()
		c.client.DialThrough(func(ctx context.Context, _, addr string) (net.Conn, error) {
			if !up.Load() {
				return nil, &net.OpError{Op: "dial", Err: errors.New("down")}
			}
			return network.Dial(ctx, "tcp", addr)
		})
		var err error
		if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name()}); err != nil {
			t.Fatal(err)
		}
		defer c.session.Close()
		lists := func(when string, want bool) {
			t.Helper()
			if l, err := c.session.List(t.Context(), bridge.Tools); err == nil != want || want && len(l.Items) != 1 {
				t.Errorf("%s: %v", when, err)
			}
		}
		lists("down", false)
		up.Store(true)
		c.idle()
		lists("up", true)
		c.client.Stop()
		lists("stopped", false)
		c.client.Restart()
		lists("restarted", true)
	})
}

// A lazy server that has become idle starts when it is called, not by itself.
func TestLazyStaysIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Lazy: true, IdleTimeout: time.Second})
		c.works("ok")
		<-o.greeted
		c.idle()
		time.Sleep(time.Hour)
		if len(o.greeted) > 0 {
			t.Error("it has started again, and nobody wanted it")
		}
	})
}

// A call that comes as a lazy server becomes idle is carried out.
func TestLazyCalledAsItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		o := newOddOn(t, network, nil)
		var wg sync.WaitGroup
		for range 50 {
			c := openOn(t, network, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP, Lazy: true, IdleTimeout: 3 * time.Millisecond})
			wg.Go(func() {
				for range 100 {
					time.Sleep(rand.N(7 * time.Millisecond).Truncate(time.Millisecond)) // often just when the server becomes idle
					if r := c.call("ok"); r.Err != nil {
						t.Errorf("%v (%v)", r.Err, errors.Unwrap(r.Err))
					}
				}
			})
		}
		wg.Wait()
	})
}

// An empty cursor is one (2026-07-28, pagination), though some servers end a list with it.
func TestEmptyCursor(t *testing.T) {
	for _, c := range []struct {
		name  string
		pages map[string]string // by the cursor
		want  string
	}{
		{"the only page", map[string]string{"": `"tools":[{"name":"ok"}],"nextCursor":""`, `""`: `"tools":[{"name":"ok"}],"nextCursor":""`}, "ok"},
		{"the last page", map[string]string{
			"": `"tools":[{"name":"ok"}],"nextCursor":"2"`, `"2"`: `"tools":[{"name":"two"}],"nextCursor":""`, `""`: `"tools":[{"name":"ok"}],"nextCursor":"2"`,
		}, "ok two"},
		{"the only page, which changes", map[string]string{"": `"tools":[{"name":"ok"}],"nextCursor":""`, `""`: `"tools":[{"name":"ok","title":"x"}],"nextCursor":""`}, "ok"},
		{"the last page, of tools that change", map[string]string{
			"": `"tools":[{"name":"ok"}],"nextCursor":"2"`, `"2"`: `"tools":[{"name":"two"}],"nextCursor":""`, `""`: `"tools":[{"name":"ok","title":"%d"}],"nextCursor":"2"`,
		}, "ok two"},
		{"the last page, of tools and cursors that change", map[string]string{
			"": `"tools":[{"name":"ok"}],"nextCursor":"%d"`, "other": `"tools":[{"name":"two"}],"nextCursor":""`, `""`: `"tools":[{"name":"ok","title":"%[1]d"}],"nextCursor":"%[1]d"`,
		}, "ok two"},
		{"no tools", map[string]string{"": `"tools":[],"nextCursor":""`, `""`: `"tools":[],"nextCursor":""`}, ""},
		{"the second page", map[string]string{"": `"tools":[{"name":"ok"}],"nextCursor":""`, `""`: `"tools":[{"name":"two"}]`}, "ok two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			o := newOdd(t, func(x *exchange) bool {
				if x.Method == wire.MethodToolsList {
					page := cmp.Or(c.pages[string(x.Params.Get(wire.Cursor))], c.pages["other"])
					if n++; strings.Contains(page, "%") {
						page = fmt.Sprintf(page, n)
					}
					x.result(page)
				}
				return x.Method == wire.MethodToolsList
			})
			up := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
			l, err := up.session.List(t.Context(), bridge.Tools)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, it := range l.Items {
				names = append(names, it.Key)
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("the tools are %q, want %q", got, c.want)
			}
		})
	}
}

// A batch within a batch is nothing that a server may send.
func TestBatchInBatch(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodToolsCall {
			x.say(`[[{"jsonrpc":"2.0","id":` + string(x.ID) + `,"result":{}}]]`)
		}
		return x.Method == wire.MethodToolsCall
	})
	c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
	c.fails(c.call("x"), toolformat.Internal, "not valid")
}

// A server may ask something while it is being greeted.
func TestAsksWhileGreeted(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodInitialize {
			for i := range 10 {
				x.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i))
			}
		}
		return false
	})
	for range 10 {
		c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
		c.works("ok")
		c.client.Close()
	}
}

// A caller is told of so many resources and no more.
func TestSubscriptionsBound(t *testing.T) {
	o := newOdd(t, func(x *exchange) bool {
		if x.Method == wire.MethodSubscribe || x.Method == wire.MethodUnsubscribe {
			x.result("")
			return true
		}
		return false
	})
	c := open(t, mcpclient.Config{URL: o.URL, Transport: mcpclient.HTTP})
	for i := range 1000 {
		c.agreed(c.ask(t.Context(), wire.MethodSubscribe, fmt.Sprint("a://", i)))
	}
	c.agreed(c.ask(t.Context(), wire.MethodSubscribe, "a://7")) // it is told of that one already
	c.fails(c.reply(c.ask(t.Context(), wire.MethodSubscribe, "a://x")), toolformat.Unavailable, "1000 resources")
	c.agreed(c.ask(t.Context(), wire.MethodUnsubscribe, "a://7"))
	c.agreed(c.ask(t.Context(), wire.MethodSubscribe, "a://x"))
}
