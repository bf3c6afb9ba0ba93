package mcpserver

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

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
			conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			var reader sync.WaitGroup
			reader.Go(func() { conn.ReadMessage() }) // answers pings
			defer reader.Wait()
			f := newFrameWriter(conn.NetConn())
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
				if err := f.write(batch); err != nil {
					t.Error(err)
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
			for _, size := range sizes[round:] {
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
