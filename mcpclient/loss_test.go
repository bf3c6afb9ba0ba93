package mcpclient_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// An answer that cannot be used fails its call at once, with the reason, and no other one.
func TestUnusableAnswers(t *testing.T) {
	everywhere(t, func(cfg *mcpclient.Config) { cfg.MessageBytes = 64 << 10 }, func(t *testing.T, carrier string, c *caller) {
		ctx, cancel := context.WithCancel(t.Context())
		waiting := make(chan bridge.Reply, 1)
		for how, want := range map[string]string{
			"too deep": "nested too deep", "not UTF-8": "UTF-8", "byte order mark": "not JSON", "NUL": "instead of NUL", "UTF-16": "is it UTF-16?", "UTF-16 with its mark": "(UTF-8 is needed)",
			"too long": "limits.messageBytes", "too long, id last": "limits.messageBytes", "too long, no id": "limits.messageBytes",
		} {
			c.fails(c.call(how), toolformat.Internal, want)
		}
		go func() { waiting <- c.do(ctx, "silent", "{}") }()
		for string(wire.Lookup(c.call("cancelled").Result, "silent")) == "[]" { // it is under way
		}
		c.fails(c.call("too long, id last"), toolformat.Internal, "limits.messageBytes")
		c.fails(c.call("too deep"), toolformat.Internal, "nested too deep")
		c.works("twin")
		if carrier != "http" { // where a stream has nothing but messages
			c.works("log line")
		}
		cancel()
		c.fails(<-waiting, toolformat.Canceled, "")
		c.works("ok")
	})
}

// An item of a list that cannot be used is left out; the others are there.
func TestUnusableItems(t *testing.T) {
	for _, bad := range []string{"\"description\":\"\xff\"", `"inputSchema":{"a":` + strings.Repeat("[", 510) + strings.Repeat("]", 510) + `}`} {
		sourcetest.NoLeaks(t)
		s := newScript()
		s.Tools = `{"name":"before"},{"name":"bad",` + bad + `},` + s.Tools
		logged := &logBuffer{}
		c := open(t, mcpclient.Config{URL: s.Serve(t, nil) + "/mcp", Log: slog.New(slog.NewTextHandler(logged, nil))})
		list, err := c.session.List(t.Context(), bridge.Tools)
		if err != nil || len(list.Items) != 4 || list.Items[0].Key != "before" {
			t.Errorf("%v, %v", list, err)
		}
		if !strings.Contains(logged.String(), `left out: tools bad: not JSON: `) {
			t.Errorf("the log has %s", logged)
		}
		if p := c.client.Problems(); len(p) != 1 || !p[0].LeftOut || !strings.Contains(p[0].Text, "tools bad: ") {
			t.Errorf("problems: %+v", p)
		}
		c.works("ok")
	}
}

// A line break in what a server says of a list begins no line of what is reported of it.
func TestProblemsAreOnOneLine(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer(peer.Modern)
	s.Capabilities = `"prompts":{}`
	s.Before = func(c *peer.Call) bool {
		if c.Method == wire.MethodPromptsList {
			c.Fail(-32000, "no\nok", "")
			return true
		}
		return false
	}
	c := open(t, mcpclient.Config{URL: s.Serve(t, nil) + "/mcp"})
	if _, err := c.session.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	p := c.client.Problems()
	if len(p) != 1 || p[0].Text != "prompts/list failed: no ok" {
		t.Errorf("problems: %+v", p)
	}
}

// A call that cannot be written runs on the next connection: a server that has closed its input is
// started again.
func TestUnsent(t *testing.T) {
	sourcetest.NoLeaks(t)
	c := open(t, child(t, "unread"))
	c.works("ok")
	c.works("ok")
}

// Calls right after the death of their server run on the next connection, unless it may have got
// them.
func TestUnsentAfterKill(t *testing.T) {
	for i := range 5 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			sourcetest.NoLeaks(t)
			s := newScript()
			command, env := s.Child(t)
			c := open(t, mcpclient.Config{Command: command, Env: env})
			c.works("ok")
			s.Kill()
			var calls sync.WaitGroup
			for range 50 {
				calls.Go(func() {
					if r := c.call("ok"); r.Err != nil && !strings.Contains(r.Err.Message, "unknown whether it ran") {
						t.Error(r.Err)
					}
				})
			}
			calls.Wait()
		})
	}
}

// The pauses between attempts are the config's, and the reason says that a connection did not last.
func TestBackoff(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := newScript()
	command, env := s.Child(t)
	c := open(t, mcpclient.Config{Command: command, Env: env, RetryMin: time.Hour, Steady: time.Hour})
	c.works("ok")
	s.Kill()
	s.Await(t, wire.MethodInitialize, 2) // the first loss is no failure
	c.works("ok")
	s.Kill()
	c.await(mcpclient.Failed)
	st := c.client.Status()
	if in := time.Until(st.Retry); in < 20*time.Minute || in > 2*time.Hour || !strings.Contains(st.Reason, "after it was connected") {
		t.Errorf("%+v, in %s", st, in)
	}
	c.fails(c.call("ok"), toolformat.Unavailable, "after it was connected")
}

// No more children start at once than may.
func TestStarting(t *testing.T) {
	sourcetest.NoLeaks(t)
	children := &mcpclient.Children{Max: 10, Starting: 2}
	var starting, most atomic.Int64
	var all []*caller
	for range 5 {
		s := newScript()
		s.Before = func(c *peer.Call) bool {
			switch c.Method {
			case wire.MethodInitialize:
				most.Store(max(most.Load(), starting.Add(1)))
				select {
				case <-c.Ctx.Done():
				case <-time.After(20 * time.Millisecond): // so that others could begin
				}
			case wire.MethodToolsList:
				starting.Add(-1)
			}
			return false
		}
		command, env := s.Child(t)
		all = append(all, open(t, mcpclient.Config{Command: command, Env: env, Children: children}))
	}
	for _, c := range all {
		c.works("ok")
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d started at once", n)
	}
}

// A handshake for which the server closes an idle connection is repeated on another one.
func TestHandshakeOnClosedConnection(t *testing.T) {
	sourcetest.NoLeaks(t)
	s := peer.NewServer("modern") // which is asked twice
	s.Take = done
	to, _ := url.Parse(s.Serve(t, nil))
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	type served struct{}
	var closed atomic.Bool
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		before := r.Context().Value(served{}).(*atomic.Int32).Add(1) - 1
		if bytes.Contains(body, []byte(`"server/discover"`)) && before > 0 {
			closed.Store(true)
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, served{}, new(atomic.Int32))
	}
	server.Start()
	defer server.Close()
	for !closed.Load() { // until a handshake meets a connection that has been used
		c := open(t, mcpclient.Config{URL: server.URL + "/mcp"})
		if r := c.call("ok"); r.Err != nil {
			t.Error(r.Err)
		}
		c.client.Close()
	}
}

// A call whose caller has gone before it is sent does not reach the server.
func TestCancelledBefore(t *testing.T) {
	everywhere(t, nil, func(t *testing.T, carrier string, c *caller) {
		c.works("ok")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := c.do(ctx, "silent", "{}")
		c.fails(r, toolformat.Canceled, "canceled")
		if !r.Err.NotRun {
			t.Error("it is not known that it has not run")
		}
		if r := c.call("cancelled"); string(wire.Lookup(r.Result, "silent")) != "[]" {
			t.Errorf("the server got it: %s %v", r.Result, r.Err)
		}
	})
}

// A WebSocket whose server has not read, so that much waits to be written, is replaced at once when it is lost.
func TestLossWithFullQueue(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		network, connections, end := peer.NewNetwork(), 0, make(chan struct{})
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := (&websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}).Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			connections++
			for {
				_, b, err := conn.ReadMessage()
				if err != nil {
					return
				}
				result := `{"content":[],"tool":"ok"}`
				switch m, _ := wire.Split(b); {
				case m.ID == nil:
					continue
				case m.Method == wire.MethodInitialize:
					result = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`
				case m.Method == wire.MethodToolsList:
					result = `{"tools":[{"name":"ok","inputSchema":{}}]}`
				case connections == 1:
					<-end
					return
				}
				conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, wire.Lookup(b, "id"), result))
			}
		}))
		server.Listener.Close()
		server.Listener = network
		server.Start()
		defer server.Close()
		c := openOn(t, network, mcpclient.Config{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Era: mcpclient.Legacy})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { c.do(ctx, "ok", "{}") })
		}
		synctest.Wait()
		time.Sleep(5 * time.Second)
		cancel() // of which there is no room to tell the server
		calls.Wait()
		begun := time.Now()
		close(end)
		c.works("ok")
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the next connection came after %v", took)
		}
	})
}
