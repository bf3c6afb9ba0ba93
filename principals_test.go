package mcpbridge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// newGuarded is a server of a source to ann and bob, who show a token each: their name.
func newGuarded(t testing.TB, source bridge.Source) *front {
	f := &front{Server: mcpserver.New(source, mcpserver.Options{Door: mcpserver.Door{Tokens: map[string]string{"ann": "ann", "bob": "bob"}}})}
	f.web = httptest.NewServer(f.Handler())
	t.Cleanup(func() {
		f.Close()
		f.web.Close()
	})
	return f
}

// byWS is a client over WebSocket with a token.
func byWS(token string) func(testing.TB, *front, *peer) {
	return func(t testing.TB, f *front, c *peer) {
		d := websocket.Dialer{Subprotocols: []string{"mcp"}}
		conn, _, err := d.Dial("ws"+strings.TrimPrefix(f.web.URL, "http")+"/ws", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				_, b, err := conn.ReadMessage()
				if err != nil {
					return
				}
				c.hear("", 0, b)
			}
		}()
		c.send = func(_ string, msg []byte, _ http.Header) { conn.WriteMessage(websocket.TextMessage, msg) }
		c.end = sync.OnceFunc(func() {
			conn.Close()
			<-read
		})
	}
}

// byHTTP is a client of the modern era over HTTP with a token.
func byHTTP(token string) func(testing.TB, *front, *peer) {
	return func(t testing.TB, f *front, c *peer) {
		overHTTP(t, f, c)
		send := c.send
		c.send = func(id string, msg []byte, headers http.Header) {
			headers = headers.Clone()
			if headers == nil {
				headers = http.Header{}
			}
			headers.Set("Authorization", "Bearer "+token)
			send(id, msg, headers)
		}
	}
}

// principalCarriers are the ways of a client with a token, and whether it is of the
// modern era.
var principalCarriers = []struct {
	name   string
	modern bool
	dial   func(token string) func(testing.TB, *front, *peer)
}{
	{"ws-legacy", false, byWS}, {"ws-modern", true, byWS}, {"http-modern", true, byHTTP},
}
