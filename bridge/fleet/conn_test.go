package fleet

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// Much is written in messages that a slow connection takes one after the other, each in its own time.
func TestConnParts(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		if n, err := newConn(ws).Write(make([]byte, 3*messageBytes+1)); n != 3*messageBytes+1 {
			t.Error(n, err)
		}
	}))
	defer web.Close()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(web.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for i := range 4 {
		if _, part, err := ws.ReadMessage(); err != nil || len(part) > messageBytes {
			t.Errorf("message %d: %d bytes, %v", i, len(part), err)
		}
	}
}
