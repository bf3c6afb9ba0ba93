package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

func TestReadFrame(t *testing.T) {
	long := strings.Repeat("x", 100000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgrader := websocket.Upgrader{Subprotocols: []string{Subprotocol}}
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for _, s := range []string{"{}", "", long, long + "x"} {
			c.WriteMessage(websocket.TextMessage, []byte(s))
		}
		c.WriteMessage(websocket.BinaryMessage, []byte("{}"))
	}))
	defer server.Close()
	dialer := websocket.Dialer{Subprotocols: []string{Subprotocol}}
	c, _, err := dialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, want := range []string{"{}", "", long} {
		b, err := ReadFrame(c, len(long))
		if err != nil || string(b.B) != want {
			t.Fatalf("%.20q, %v", b.B, err)
		}
		b.Free()
	}
	var tooLong *TooLongError
	if _, err := ReadFrame(c, len(long)); !errors.As(err, &tooLong) || tooLong.Limit != len(long) {
		t.Error(err)
	}
	if _, err := ReadFrame(c, len(long)); err != ErrBinary {
		t.Error(err)
	}
	if _, err := ReadFrame(c, len(long)); err == nil {
		t.Error("the connection has ended")
	}
}
