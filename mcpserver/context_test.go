package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// newShop serves a tool that returns its arguments, among them the hidden customerid, which the
// header X-Customer carries.
func newShop(t *testing.T) *host {
	sourcetest.NoLeaks(t)
	native, err := bridge.NewNative(bridge.NativeOptions{}, bridge.Tool{
		Tool:   toolformat.Tool{Name: "orders", InputSchema: json.RawMessage(`{"type":"object","properties":{"customerid":{"type":"integer"}},"required":["customerid"]}`)},
		Hidden: []string{"customerid"},
		Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			return toolformat.TextResult(string(arguments), false), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{T: t, server: mcpserver.New(native, mcpserver.Options{HiddenHeaders: map[string]string{"CustomerID": "x-customer"}, TicketValues: []string{"customerid"}})}
	h.web = httptest.NewServer(h.server.Handler())
	t.Cleanup(func() {
		h.server.Close()
		native.Close()
		h.web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return h
}

const missing = "Missing context field: customerid"

// In the modern era each request has its own hidden values.
func TestContextOfModernRequests(t *testing.T) {
	h := newShop(t)
	for _, c := range []struct {
		name   string
		values []string // from the header
		want   string
	}{
		{"one", []string{"1"}, `{\"customerid\":1}`},
		{"another", []string{"2"}, `{\"customerid\":2}`},
		{"the first again", []string{"1"}, `{\"customerid\":1}`},
		{"none", nil, missing},
		{"an empty one", []string{""}, missing},
		{"two", []string{"1", "2"}, missing},
		{"no integer", []string{"1 or 2"}, "Invalid context field: customerid"},
		{"JSON", []string{`1,"customerid":2`}, "Invalid context field: customerid"},
		{"no UTF-8", []string{"\xff"}, missing},
	} {
		req, _ := http.NewRequest("POST", h.web.URL+"/mcp", strings.NewReader(modernRequest("tools/call", `"name":"orders","arguments":{"CustomerID":9}`)))
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"orders"}, "X-Customer": c.values}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %s", c.name, body)
		}
	}
}

// In the legacy era a session keeps the hidden values of its first request, and requests with
// other values do not belong to it.
func TestContextOfLegacySessions(t *testing.T) {
	h := newShop(t)
	for _, c := range []struct {
		begun, later string
		status       int
		want         string
	}{
		{"1", "1", 200, `{\"customerid\":1}`},
		{"1", "", 200, `{\"customerid\":1}`},
		{"1", "2", 404, "context header"},
		{"", "2", 404, "context header"},
		{"", "", 200, missing},
	} {
		resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest), "X-Customer", c.begun)
		resp.Body.Close()
		a := h.post(call("1", "orders", `{}`), "Mcp-Session-Id", resp.Header.Get("Mcp-Session-Id"), "X-Customer", c.later)
		if a.status != c.status || !strings.Contains(a.body, c.want) {
			t.Errorf("begun with %q, called with %q: %d %s", c.begun, c.later, a.status, a.body)
		}
	}
}

// A connection has the hidden values of its handshake, or of the request for its ticket.
func TestContextOfConnections(t *testing.T) {
	h := newShop(t)
	resp := h.request("POST", "/ws/ticket", "", "X-Customer", "3")
	var got struct{ Ticket string }
	err := json.NewDecoder(resp.Body).Decode(&got)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	ticket := h.dial("/ws?ticket="+got.Ticket, http.Header{"X-Customer": {"4"}})
	for _, c := range []struct {
		name   string
		caller *caller
		want   string
	}{
		{"handshake", h.ws(http.Header{"X-Customer": {"2"}}), `{\"customerid\":2}`},
		{"ticket", ticket, `{\"customerid\":3}`},
		{"nothing", h.ws(nil), missing},
		{"stdio", h.stdio(), missing},
		{"sse", h.sse(), missing},
	} {
		c.caller.greeted(newest)
		c.caller.send(call("1", "orders", `{"customerid":9}`))
		if got := c.caller.next(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// A request for a ticket sets hidden values of its session, and nothing else.
func TestContextOfSessions(t *testing.T) {
	h := newShop(t)
	for _, c := range []struct {
		body   string
		status int
		want   string // in the response to the request, or to a call
	}{
		{`{"context":{"CustomerID":7}}`, http.StatusOK, `{\"customerid\":7}`},
		{`{"context":{"customerid":"x"}}`, http.StatusOK, "Invalid context field: customerid"},
		{`{}`, http.StatusOK, `{\"customerid\":3}`}, // from the header
		{`{"context":{"admin":true}}`, http.StatusBadRequest, "context.admin: no hidden value of this name"},
		{`{"user":1}`, http.StatusBadRequest, "unknown field"},
		{`{"context":`, http.StatusBadRequest, "expected {\"context\""},
		{`{"context":{"customerid":"` + strings.Repeat("x", 70_000) + `"}}`, http.StatusBadRequest, "longer than 65536 bytes"},
	} {
		resp := h.request("POST", "/ws/ticket", c.body, "X-Customer", "3")
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || c.status != http.StatusOK && !strings.Contains(strings.ReplaceAll(string(answer), `\"`, `"`), c.want) {
			t.Errorf("%.60s: %d %s", c.body, resp.StatusCode, answer)
		}
		if c.status != http.StatusOK {
			continue
		}
		var got struct{ Ticket string }
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatal(err)
		}
		p := h.dial("/ws?ticket="+got.Ticket, nil)
		p.greeted(newest)
		p.send(call("1", "orders", `{"customerid":9}`))
		if got := p.next(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.body, got)
		}
	}
}

// Pages may send the headers of Options.HiddenHeaders.
func TestContextHeadersOfPages(t *testing.T) {
	h := newShop(t)
	resp := h.request("OPTIONS", "/mcp", "", "Origin", "http://localhost:5173", "Access-Control-Request-Method", "POST")
	resp.Body.Close()
	if allowed := resp.Header.Get("Access-Control-Allow-Headers"); !strings.HasSuffix(allowed, ", x-customer") {
		t.Errorf("a page may send %s", allowed)
	}
}
