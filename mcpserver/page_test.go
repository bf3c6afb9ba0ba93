package mcpserver_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// The address that serve prints is that of streamable HTTP, and a browser sees a text there.
func TestRoot(t *testing.T) {
	h := newHost(t, mcpserver.Options{Access: mcpserver.Access{Tokens: map[string]string{"ann": "a"}}})
	resp := h.request("POST", "/", fmt.Sprintf(initialize, newest), "Authorization", "Bearer a")
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if resp.StatusCode != 200 || id == "" {
		t.Fatalf("initialize: HTTP %d, session %q", resp.StatusCode, id)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if got := h.status("POST", "/mcp", ping, "Authorization", "Bearer a", "Mcp-Session-Id", id); got != 200 {
		t.Errorf("the session at /mcp: HTTP %d", got)
	}
	stream := h.request("GET", "/", "", "Authorization", "Bearer a", "Mcp-Session-Id", id)
	if got := stream.Header.Get("Content-Type"); stream.StatusCode != 200 || got != "text/event-stream" {
		t.Errorf("its stream: HTTP %d, %s", stream.StatusCode, got)
	}
	stream.Body.Close()
	if got := h.status("POST", "/", ping, "Mcp-Session-Id", id); got != 401 {
		t.Errorf("without a token: HTTP %d", got)
	}
	if got := h.status("DELETE", "/", "", "Authorization", "Bearer a", "Mcp-Session-Id", id); got != 200 {
		t.Errorf("DELETE: HTTP %d", got)
	}
	for _, accept := range []string{"text/html,application/xhtml+xml,*/*;q=0.8", "*/*"} {
		resp := h.request("GET", "/", "", "Accept", accept)
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || !strings.Contains(string(text), "/mcp") {
			t.Errorf("GET with Accept %s: HTTP %d, %s: %s", accept, resp.StatusCode, resp.Header.Get("Content-Type"), text)
		}
	}
	if got := h.status("GET", "/other", "", "Authorization", "Bearer a"); got != 404 {
		t.Errorf("another path: HTTP %d", got)
	}
}
