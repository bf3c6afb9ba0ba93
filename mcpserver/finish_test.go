package mcpserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// After Finish nothing begins, and whatever belongs to a request that has begun is taken.
func TestFinish(t *testing.T) {
	n := newNoded(t)
	id := n.begin(t, "x")
	elsewhere := strings.Replace(id, "-", "b.1-", 1)
	n.server.Finish()
	for _, c := range []struct {
		method, session, body string
		status                int
	}{
		{http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`, http.StatusServiceUnavailable},
		{http.MethodPost, elsewhere, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`, http.StatusServiceUnavailable},
		{http.MethodPost, id, `[{"jsonrpc":"2.0","id":2,"method":"ping"}]`, http.StatusServiceUnavailable},
		{http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"y","version":"1"}}}`, http.StatusServiceUnavailable},
		{http.MethodPost, id, `{"jsonrpc":"2.0","id":"x","result":{}}`, http.StatusAccepted},
		{http.MethodPost, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, http.StatusAccepted},
		{http.MethodDelete, id, "", http.StatusOK},
	} {
		resp := n.send(t, c.method, c.session, c.body)
		resp.Body.Close()
		if after := resp.Header.Get("Retry-After"); resp.StatusCode != c.status || (after == "1") != (c.status == http.StatusServiceUnavailable) {
			t.Errorf("%s %s: HTTP %d, Retry-After %q", c.method, c.body, resp.StatusCode, after)
		}
	}
	if n := n.server.Pending(); n != 0 {
		t.Errorf("%d requests are pending", n)
	}
}

// pendingWriter takes note of how many requests are pending while its answer is written.
type pendingWriter struct {
	*httptest.ResponseRecorder
	server *Server
	was    int
}

func (w *pendingWriter) Write(p []byte) (int, error) {
	w.was = w.server.Pending()
	return w.ResponseRecorder.Write(p)
}

// A call that another node answers is pending, and a stream from there is not: it would hold up the end of this node.
func TestPendingElsewhere(t *testing.T) {
	n := newNoded(t)
	elsewhere := strings.Replace(n.begin(t, "x"), "-", "b.1-", 1)
	n.set(func() { n.owner = "b.1" })
	for method, want := range map[string]int{http.MethodPost: 1, http.MethodGet: 0} {
		r := httptest.NewRequest(method, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", elsewhere)
		w := &pendingWriter{httptest.NewRecorder(), n.server, -1}
		n.server.Handler().ServeHTTP(w, r)
		if w.was != want {
			t.Errorf("%s: %d pending, want %d: HTTP %d %s", method, w.was, want, w.Code, w.Body)
		}
	}
}

// A request that was on its way when the Server was told to finish is refused, too.
func TestFinishMeanwhile(t *testing.T) {
	n := newNoded(t)
	n.server.Finish()
	m, err := wire.Split([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, w := httptest.NewRequest(http.MethodPost, "/mcp", nil), httptest.NewRecorder()
	r.Header.Set("MCP-Protocol-Version", wire.ModernRevision)
	r.Header.Set("Mcp-Method", m.Method)
	n.server.postModern(w, r, identity{}, &m, accepted{json: true})
	if !strings.Contains(w.Body.String(), errFinishing.Error()) || n.server.Pending() != 0 {
		t.Errorf("%s, then %d are pending", w.Body, n.server.Pending())
	}
}
