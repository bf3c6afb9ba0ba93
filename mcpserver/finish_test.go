package mcpserver

import (
	"net/http"
	"strings"
	"testing"
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
