package mcpserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A batch arrives as the messages that it has, whatever their sizes and whether the connection
// gathers them. The frames that the connection's reader writes come between.
func TestFrames(t *testing.T) {
	var sizes []int
	for _, size := range []int{0, 1, 125, 126, copiedFrame, copiedFrame + 1, 0xffff, 0x10000, 300 << 10} {
		sizes = append(sizes, size, 7, size)
	}
	for _, gathers := range []bool{true, false} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := (&websocket.Upgrader{}).Upgrade(controlUpgrade{w}, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			f := newFrameWriter(t.Context(), conn.NetConn().(*controlConn), func() {})
			var reader sync.WaitGroup
			reader.Go(func() { conn.ReadMessage() }) // answers pings
			defer reader.Wait()
			if !f.gathers {
				t.Error("a connection of Serve does not gather")
			}
			f.gathers = gathers
			for round := range 3 {
				var batch []*wire.Buffer
				for _, size := range sizes[round:] {
					msg := wire.NewBuffer(size)
					msg.B = append(msg.B, strings.Repeat(string(rune('a'+round)), size)...)
					batch = append(batch, msg)
				}
				large := wire.NewBuffer(0)
				large.B = append(large.B, strings.Repeat(string(rune('a'+round)), 2*largePart+1)...)
				for _, batch := range [][]*wire.Buffer{batch, {large}} {
					if err := f.write(batch); err != nil {
						t.Error(err)
					}
				}
			}
		}))
		s.Config.ReadHeaderTimeout, s.Config.IdleTimeout = headTime, idleTime
		s.Listener = New(made(okay), Options{}).listen(s.Listener, s.Config)
		s.Start()
		conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			for _, size := range append(slices.Clone(sizes[round:]), 2*largePart+1) {
				conn.WriteMessage(websocket.PingMessage, []byte("still there?"))
				kind, got, err := conn.ReadMessage()
				if want := bytes.Repeat([]byte{byte('a' + round)}, size); err != nil || kind != websocket.TextMessage || !bytes.Equal(got, want) {
					t.Fatalf("gathers %v: round %d: %d bytes, not %d, %d, %v", gathers, round, len(got), size, kind, err)
				}
			}
		}
		conn.Close()
		s.Close()
	}
}

// A long message, in whose one frame there is no place for a pong, may take long to arrive, and its answer, too,
// also of one that sends more meanwhile.
func TestLongMessagesOfSlowClient(t *testing.T) {
	for _, queue := range []int{0, 64 << 20} { // the second is never full
		synctest.Test(t, func(t *testing.T) { testLongMessages(t, queue) })
	}
}

func testLongMessages(t *testing.T, queue int) {
	long := strings.Repeat("x", 6<<20)
	conn := dialMade(t, Options{QueueBytes: queue}, long, func(conn net.Conn) net.Conn { return slowReader{conn} })
	conn.SetPingHandler(func(string) error { return nil })
	answers := make(chan string, 10)
	go func() {
		defer close(answers)
		for {
			_, b, err := conn.ReadMessage()
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- string(b)
		}
	}()
	conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, hello, "{}"))
	<-answers
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"x":"` + long[:2<<20] + `"}}}`)
	frame := binary.BigEndian.AppendUint64([]byte{0x81, 0xff}, uint64(len(msg))) // a masked text
	for part := range slices.Chunk(append(append(frame, 0, 0, 0, 0), msg...), 64<<10) {
		if _, err := conn.NetConn().Write(part); err != nil {
			break
		}
		time.Sleep(5 * time.Second)
	}
	time.Sleep(20 * time.Second) // into its answer
	if queue > 0 {               // else what follows is not read before the answer is written
		conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second))
	}
	conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`))
	if got := <-answers; !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, long) {
		t.Errorf("the answer is %.100s", got)
	}
	if got := <-answers; !strings.Contains(got, `"id":2,"result"`) {
		t.Errorf("the next answer is %.100s", got)
	}
	conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":3,"method":"ping"}`))
	if got := <-answers; !strings.Contains(got, `"id":3,"result"`) {
		t.Errorf("the last answer is %.100s", got)
	}
	conn.Close()
	for range answers { // until the reader has ended
	}
}

// A client that sends what cannot be read, or ends the connection, gets the rest of a long message first, in whose frame there is
// no place for a close frame.
func TestCloseAfterLongMessage(t *testing.T) {
	for name, bad := range map[string][]byte{
		"a message that is too long": {0x81, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"a frame of no kind":         {0x83, 0x80, 0, 0, 0, 0},
		"a close frame":              {0x88, 0x80, 0, 0, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			long := strings.Repeat("x", 6<<20)
			conn := dialMade(t, Options{}, long, func(conn net.Conn) net.Conn { return conn })
			conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, hello, "{}"))
			conn.ReadMessage()
			conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
			synctest.Wait() // the answer is under way
			if _, err := conn.NetConn().Write(bad); err != nil {
				t.Fatal(err)
			}
			if _, got, err := conn.ReadMessage(); err != nil || !strings.Contains(string(got), long) {
				t.Errorf("%s: the answer is %.100s, %v", name, got, err)
			}
			if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig, websocket.CloseProtocolError, websocket.CloseNoStatusReceived) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A control frame has no deadline where none is set.
func TestControlFrameWithoutDeadline(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	c := &controlConn{Conn: near, busy: make(chan struct{}, 1), within: writeTime}
	c.SetWriteDeadline(time.Time{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		far.Read(make([]byte, 1))
	}()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Error(err)
		near.Close()
	}
	<-read
}

// dialMade connects to a server whose tool answers a text.
func dialMade(t *testing.T, o Options, text string, around func(net.Conn) net.Conn) *websocket.Conn {
	p, network := newMade(t, o, func(_ context.Context, req *bridge.Request) bridge.Reply {
		if req.Method != wire.MethodToolsCall {
			return bridge.Result([]byte(`{"capabilities":{}}`), nil)
		}
		return bridge.Result([]byte(`{"content":[{"type":"text","text":"`+text+`"}]}`), nil)
	}), peer.NewNetwork()
	web := httptest.NewUnstartedServer(p.Handler())
	web.Listener.Close()
	web.Listener = network
	web.Start()
	t.Cleanup(web.Close)
	d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}, NetDialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		conn, err := network.Dial(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return around(conn), nil
	}}
	conn, _, err := d.DialContext(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// slowReader takes a second to read 64 KiB.
type slowReader struct{ net.Conn }

func (s slowReader) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	time.Sleep(time.Duration(n) * time.Second / (64 << 10))
	return n, err
}
