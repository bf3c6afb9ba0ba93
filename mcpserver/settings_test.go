package mcpserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// Options change while clients are connected: who was let in by a token that is gone is shut out, and the
// others do not notice.
func TestUpdate(t *testing.T) {
	sourcetest.NoLeaks(t)
	tokens := func(tokens ...string) Options {
		o := Options{Access: Access{Tokens: map[string]string{}}}
		for i := 0; i < len(tokens); i += 2 {
			o.Access.Tokens[tokens[i]] = tokens[i+1]
		}
		return o
	}
	s := New(sourcetest.NewFake(), tokens("ann", "token of ann 123", "bob", "token of bob 123"))
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	defer s.Close()
	defer http.DefaultClient.CloseIdleConnections()
	connect := func(token string) (*websocket.Conn, int) {
		conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(web.URL, "http")+"/ws", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			return nil, resp.StatusCode
		}
		t.Cleanup(func() { conn.Close() })
		return conn, 0
	}
	ask := func(conn *websocket.Conn) error {
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			return err
		}
		_, answer, err := conn.ReadMessage()
		if err == nil && wire.Lookup(answer, "result") == nil { // a session that has ended may still say so
			err = errors.New(string(answer))
		}
		return err
	}
	ann, _ := connect("token of ann 123")
	bob, _ := connect("token of bob 123")
	for _, conn := range []*websocket.Conn{ann, bob} {
		if err := ask(conn); err != nil {
			t.Fatal(err)
		}
	}
	next := tokens("ann", "token of ann 123", "bob", "another of bob 1")
	next.Sessions = 7
	s.Update(next)
	if err := ask(ann); err != nil {
		t.Errorf("ann, whose token is the same: %v", err)
	}
	if err := ask(bob); err == nil {
		t.Error("bob has an answer on a connection of his former token")
	}
	if _, status := connect("token of bob 123"); status != http.StatusUnauthorized {
		t.Errorf("the former token: %d", status)
	}
	if conn, status := connect("another of bob 1"); conn == nil {
		t.Errorf("the new token: %d", status)
	}
	if got := s.opts().accounts.whole.most[openSessions].Load(); got != 7 {
		t.Errorf("%d sessions are allowed", got)
	}
	s.Update(Options{})
	if err := ask(ann); err == nil {
		t.Error("ann has an answer, although there are no tokens any more")
	}
	if conn, status := connect(""); conn == nil {
		t.Errorf("without a token: %d", status)
	}
}
