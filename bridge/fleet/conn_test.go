package fleet

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
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

// A direct connection on which nothing was sent is not used when the other node may have closed it: what is sent there is lost.
func TestDirectUnused(t *testing.T) {
	for _, c := range []struct {
		opened time.Duration // ago
		used   bool
	}{{0, true}, {directNew / 2, true}, {directNew + time.Second, false}} {
		a, b := net.Pipe()
		defer b.Close()
		link := mux.New(a, true, peerTerms())
		defer link.Close()
		p := &peer{link: link, direct: directConn{accepted: true}}
		unused, other := net.Pipe()
		defer other.Close()
		x := newExchange(unused, link)
		p.setDirect(x, time.Now().Add(-c.opened))
		if got := p.takeDirect(""); (got == x) != c.used {
			t.Errorf("opened %s ago: used %v", c.opened, !c.used)
		}
	}
}
