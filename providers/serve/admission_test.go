package serve

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// One principal leaves room for others; alone it has all.
func TestAdmission(t *testing.T) {
	for _, c := range []struct {
		name             string
		principals       int
		ann, bob         int // how many of 4 are let in
		annReads, bobToo bool
	}{
		{"a single one", 1, 3, 0, true, false},
		{"several", 2, 2, 1, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAdmission(&Options{AtOnce: 3, MaxBody: 1, Principals: c.principals})
			enter := func(principal string) (visits []*visit) {
				for range 4 {
					v, err := a.enter(principal)
					if err == nil {
						visits = append(visits, v)
					} else if !strings.Contains(err.Error(), "at most 3") || strings.Contains(err.Error(), "for each token") != (c.principals > 1) {
						t.Error(err)
					}
				}
				return visits
			}
			ann, bob := enter("ann"), enter("bob")
			if len(ann) != c.ann || len(bob) != c.bob {
				t.Fatalf("let in: %d and %d", len(ann), len(bob))
			}
			if !a.take("ann", use{bytes: minBytes / 2}) {
				t.Fatal("half of the bytes is refused")
			}
			read := func(v *visit) bool {
				_, err := io.ReadAll(v.counted(strings.NewReader("body")))
				if err != nil && !errors.Is(err, errCrowded) {
					t.Error(err)
				}
				return err == nil
			}
			if got := read(ann[0]); got != c.annReads {
				t.Errorf("ann reads: %v", got)
			}
			if len(bob) > 0 && read(bob[0]) != c.bobToo {
				t.Error("bob cannot read")
			}
			a.give("ann", use{bytes: minBytes / 2})
			for _, v := range append(ann, bob...) {
				v.leave()
			}
			if a.all != (use{}) || len(a.own) != 0 {
				t.Errorf("left: %+v, %v", a.all, a.own)
			}
		})
	}
}

// What pages send counts until it is carried out. For too much of it there is no room, and nothing of it stays counted.
func TestChatCrowded(t *testing.T) {
	c := NewChat(ChatOptions{Caller: func(*http.Request) bridge.Caller { return bridge.Caller{} }})
	c.pages.most.bytes, c.pages.share.bytes = 1000, 1000
	h := httptest.NewServer(c)
	defer h.Close()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(h.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"cancel","id":"`+strings.Repeat("x", 900)+`"}`))
		if _, answer, err := conn.ReadMessage(); err != nil || !strings.Contains(string(answer), "refused") {
			t.Fatal(string(answer), err)
		}
	}
	conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"cancel","id":"`+strings.Repeat("x", 2000)+`"}`))
	if _, answer, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseTryAgainLater) {
		t.Errorf("%s, %v", answer, err)
	}
	c.Close()
	if c.pages.all != (use{}) {
		t.Errorf("still counted: %+v", c.pages.all)
	}
}
