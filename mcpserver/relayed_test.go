package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// An answer can go on after a whole event only, however it was cut in pieces, and not after the response.
func TestRelayed(t *testing.T) {
	const progress = "event: message\nid: 1-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"
	for _, c := range []struct {
		sent            string
		goesOn, answers bool
	}{
		{"", true, false},
		{"id: 1-0\ndata: \n\n", true, false},
		{": \n\n", true, false},
		{progress, true, false},
		{progress[:len(progress)-1], false, false},
		{progress + "event", false, false},
		{progress + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n", true, false},
		{progress + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}\n\n", true, false},
		{progress + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"method\":1}}\n\n", true, true},
		{progress + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}\n\n", true, true},
		{progress + "event: message\ndata: {\"jsonrpc\":\"2.0\",\"result\":{},\"id\":7}\n\n", true, true},
	} {
		for piece := 1; piece <= max(1, len(c.sent)); piece++ {
			client := httptest.NewRecorder()
			a := &relayed{ResponseWriter: client}
			a.Header().Set("Content-Type", "text/event-stream")
			a.WriteHeader(http.StatusOK)
			for from := 0; from < len(c.sent); from += piece {
				a.Write([]byte(c.sent[from:min(from+piece, len(c.sent))]))
			}
			if got := a.answers(&wire.Message{ID: []byte("7")}); got != c.answers || client.Body.String() != c.sent {
				t.Errorf("%q in pieces of %d: answers %v", c.sent, piece, got)
			}
			if got := a.goOn(); got != c.goesOn {
				t.Errorf("%q in pieces of %d: goes on %v", c.sent, piece, got)
			}
		}
	}
}
