package mcpclient_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
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
)

// A server on a WebSocket that pings, and then reads nothing for some seconds, keeps its connection.
func TestPingOfSlowServer(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		network, ponged, connections := peer.NewNetwork(), 0, 0
		slow := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
			conn, err := up.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			connections++
			conn.SetPongHandler(func(string) error {
				ponged++
				return nil
			})
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
				default:
					conn.WriteMessage(websocket.PingMessage, nil)
					time.Sleep(5 * time.Second)
				}
				conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, wire.Lookup(b, "id"), result))
			}
		}))
		slow.Listener.Close()
		slow.Listener = network
		slow.Start()
		defer slow.Close()
		c := openOn(t, network, mcpclient.Config{URL: "ws" + strings.TrimPrefix(slow.URL, "http"), Era: mcpclient.Legacy})
		for range 3 {
			c.works("ok")
		}
		c.client.Close()
		synctest.Wait()
		if ponged < 2 || connections != 1 {
			t.Errorf("%d pongs on %d connections", ponged, connections)
		}
	})
}

// slowConn takes a second for each 32 KiB and more that are written or read at once.
type slowConn struct{ net.Conn }

func (c slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b[:min(len(b), 32<<10)])
	if n == 32<<10 {
		time.Sleep(time.Second)
	}
	return n, err
}

func (c slowConn) Write(b []byte) (int, error) {
	if len(b) >= 32<<10 {
		time.Sleep(time.Second)
	}
	return c.Conn.Write(b)
}

// A long message to a server on a WebSocket, or from it, may take long on a slow network.
func TestLongMessageOnSlowNetwork(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		s := peer.NewServer(peer.Legacy)
		long := strings.Repeat("x", 8<<20)
		s.Tools, s.Take = `{"name":"ok","inputSchema":{}}`, func(c *peer.Call) { c.Reply(`"content":[{"type":"text","text":"` + long + `"}]`) }
		c := &caller{T: t, client: mcpclient.New(mcpclient.Config{Name: "up", Timeout: time.Hour, URL: "ws" + strings.TrimPrefix(s.Serve(t, network), "http") + "/ws"})}
		defer c.client.Close()
		c.client.DialThrough(func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := network.Dial(ctx, "tcp", addr)
			return slowConn{conn}, err
		})
		var err error
		if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name()}); err != nil {
			t.Fatal(err)
		}
		defer c.session.Close()
		if r := c.do(t.Context(), "ok", `{"text":"`+long+`"}`); r.Err != nil || len(r.Result) < len(long) {
			t.Errorf("%d bytes, %v", len(r.Result), r.Err)
		}
	})
}

// The pings of a server are answered while a long message is sent to it.
func TestPongsWithinLongMessage(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		var ponged, within atomic.Int32
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
			conn, err := up.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			conn.SetPongHandler(func(string) error {
				ponged.Add(1)
				return nil
			})
			pings := time.NewTicker(5 * time.Second)
			defer pings.Stop()
			over := make(chan struct{})
			defer close(over)
			go func() {
				for {
					select {
					case <-pings.C:
						conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
					case <-over:
						return
					}
				}
			}()
			for {
				before := ponged.Load()
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
				case m.Method == wire.MethodToolsCall:
					within.Store(ponged.Load() - before)
				}
				conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, wire.Lookup(b, "id"), result))
			}
		}))
		server.Listener.Close()
		server.Listener = network
		server.Start()
		defer server.Close()
		c := &caller{T: t, client: mcpclient.New(mcpclient.Config{Name: "up", URL: "ws" + strings.TrimPrefix(server.URL, "http"), Era: mcpclient.Legacy})}
		defer c.client.Close()
		c.client.DialThrough(func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := network.Dial(ctx, "tcp", addr)
			return slowConn{conn}, err
		})
		var err error
		if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name()}); err != nil {
			t.Fatal(err)
		}
		defer c.session.Close()
		if r := c.do(t.Context(), "ok", `{"text":"`+strings.Repeat("x", 4<<20)+`"}`); r.Err != nil || within.Load() < 10 {
			t.Errorf("%d pongs, %v", within.Load(), r.Err)
		}
	})
}

// deafConn takes what is written to it, as buffers of the network do, and passes it on until its server is gone.
type deafConn struct {
	net.Conn
	gone *atomic.Bool
}

func (c deafConn) Write(b []byte) (int, error) {
	if c.gone.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// A server on a WebSocket that is gone is found to be, also while the network takes what is sent to it.
func TestGoneWhileMessagesAreTaken(t *testing.T) {
	sourcetest.NoLeaks(t)
	synctest.Test(t, func(t *testing.T) {
		network := peer.NewNetwork()
		var gone atomic.Bool
		s := peer.NewServer(peer.Legacy)
		s.Tools, s.Take = `{"name":"ok","inputSchema":{}}`, done
		c := &caller{T: t, client: mcpclient.New(mcpclient.Config{Name: "up", Timeout: time.Hour, URL: "ws" + strings.TrimPrefix(s.Serve(t, network), "http") + "/ws"})}
		defer c.client.Close()
		c.client.DialThrough(func(ctx context.Context, _, addr string) (net.Conn, error) {
			conn, err := network.Dial(ctx, "tcp", addr)
			return deafConn{conn, &gone}, err
		})
		var err error
		if c.session, err = c.client.Open(t.Context(), &bridge.Caller{ID: t.Name()}); err != nil {
			t.Fatal(err)
		}
		defer c.session.Close()
		c.works("ok")
		gone.Store(true)
		begun, ended := time.Now(), make(chan time.Duration, 10)
		for range 10 {
			go func() {
				c.do(t.Context(), "ok", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
				ended <- time.Since(begun)
			}()
			time.Sleep(20 * time.Second)
		}
		gone.Store(false)
		if took := <-ended; took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// The credentials in the URL of a WebSocket go into the header of its handshake.
func TestCredentialsOfWebSocket(t *testing.T) {
	sourcetest.NoLeaks(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		w.WriteHeader(http.StatusTeapot)
		if user != "me" || password != "pass" || r.URL.String() != "/ws?a=b" {
			t.Errorf("%s as %q, %q", r.URL, user, password)
		}
	}))
	defer server.Close()
	open(t, mcpclient.Config{URL: "ws://me:pass@" + strings.TrimPrefix(server.URL, "http://") + "/ws?a=b"}).unavailable("HTTP 418")
}
