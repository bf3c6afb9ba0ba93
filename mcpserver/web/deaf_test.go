package web_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// TestDeaf: a client that lends a tool asks for lists and reads nothing while its tool is called. The calls end with a
// reason, others are served meanwhile, and its tool leaves with it.
func TestDeaf(t *testing.T) {
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			h := newLender(t, web.Limits{Timeout: 5 * time.Second}, mcpserver.Options{QueueBytes: 1 << 20})
			deaf := newDeaf(t, h, era)
			quick, caller := newPeer(t, h.Server, era, ""), newPeer(t, h.Server, era, "")
			quick.serve = func(m frame) { quick.answer(m, `{"content":[]}`) }
			quick.lend(define("quick", ""))
			for i := range 100 {
				deaf.WriteMessage(websocket.TextMessage, []byte(requestOf(era, 100+i, "tools/list", "{}")))
			}
			var calls []<-chan frame
			for range 40 {
				calls = append(calls, caller.begin("tools/call", `{"name":"still","arguments":{"text":"`+strings.Repeat("x", 200<<10)+`"}}`))
				quick.must("tools/call", `{"name":"quick"}`)
			}
			for _, call := range calls {
				m := <-call
				if m.Error == nil {
					t.Fatalf("a call is answered: %s", m.Result)
				}
				if code := m.Error.Data.Code; code != "timeout" && code != "unavailable" && code != "not_found" { // it may have left
					t.Errorf("a call ended with %+v", m.Error)
				}
				quick.must("tools/call", `{"name":"quick"}`)
			}
			deaf.Close()
			for strings.Contains(caller.must("tools/list", "{}"), `"still"`) {
				<-caller.hears // that the list has changed
			}
		})
	}
}

// newDeaf connects a client that lends the tool still, and reads nothing after that.
func newDeaf(t *testing.T, h *lender, era string) *websocket.Conn {
	t.Helper()
	conn, _, err := (&websocket.Dialer{Subprotocols: []string{"mcp"}}).Dial("ws"+strings.TrimPrefix(h.URL, "http")+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.NetConn().(*net.TCPConn).SetReadBuffer(4 << 10)
	messages := []string{requestOf(era, 2, "mcpbridge/lend", `{"tools":[`+define("still", "")+`]}`)}
	if era == legacy {
		messages = append([]string{
			requestOf(era, 1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"deaf","version":"1"}}`),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		}, messages...)
	}
	for _, m := range messages {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for {
		_, m, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(m), `"refused"`) {
			return conn
		}
	}
}
