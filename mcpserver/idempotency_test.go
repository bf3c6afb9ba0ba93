package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// keyed notes the keys of calls.
type keyed struct {
	bridge.Session
	keys *[]string
}

func (s keyed) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall {
		*s.keys = append(*s.keys, req.Key)
	}
	return s.Session.Do(ctx, req)
}

// The header Idempotency-Key belongs to the one request that has it, in both eras.
func TestIdempotencyKey(t *testing.T) {
	sourcetest.NoLeaks(t)
	var keys []string
	source := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return keyed{below, &keys}, nil
	})
	h := &host{T: t, server: mcpserver.New(source, mcpserver.Options{})}
	h.web = httptest.NewServer(h.server.Handler())
	t.Cleanup(func() {
		h.server.Close()
		h.web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest), "Idempotency-Key", "none")
	resp.Body.Close()
	session := resp.Header.Get("Mcp-Session-Id")
	h.post(call("1", "echo", `{}`), "Mcp-Session-Id", session, "Idempotency-Key", "a")
	h.post(call("2", "echo", `{}`), "Mcp-Session-Id", session)
	h.post("["+call("3", "echo", `{}`)+","+call("4", "echo", `{}`)+"]", "Mcp-Session-Id", session, "Idempotency-Key", "both")
	h.post(call("5", "echo", `{}`), "Mcp-Session-Id", session, "Idempotency-Key", `"quoted \"c\\"`)
	h.post(modernRequest("tools/call", `"name":"echo","arguments":{}`),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo", "Idempotency-Key", "b")
	h.post(modernRequest("tools/call", `"name":"echo","arguments":{}`),
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo", "Idempotency-Key", `"b"`)
	for _, odd := range []string{`"d`, `"d", "e"`, `"d\"`} {
		h.post(call("6", "echo", `{}`), "Mcp-Session-Id", session, "Idempotency-Key", odd)
	}
	slices.Sort(keys)
	if want := []string{"", `"d`, `"d", "e"`, `"d\"`, "a", "b", `quoted "c\`}; !slices.Equal(slices.Compact(keys), want) {
		t.Errorf("the keys are %q, want %q", keys, want)
	}
}
