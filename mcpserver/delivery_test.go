package mcpserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// events reads n events with data from a response, and returns the id of the last event.
func events(t *testing.T, resp *http.Response, n int) (data []string, last string) {
	t.Helper()
	if resp.StatusCode != 200 {
		t.Fatalf("HTTP %d", resp.StatusCode)
	}
	r := wire.NewEventReader(resp.Body, 1<<20)
	for len(data) < n {
		e, err := r.Next()
		if err != nil {
			t.Fatalf("after %q: %v", data, err)
		}
		if e.HasID {
			last = e.ID
		}
		if e.Data != nil && len(e.Data.B) > 0 {
			data = append(data, string(e.Data.B))
		}
	}
	return data, last
}

// A client that loses the stream of its call can resume it, before and after the end of the call.
func TestResume(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	resp := h.request("POST", "/mcp", fmt.Sprintf(initialize, newest))
	resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	post := func(msg string) *http.Response { return h.request("POST", "/mcp", msg, "Mcp-Session-Id", id) }
	get := func(last string) *http.Response {
		return h.request("GET", "/mcp", "", "Mcp-Session-Id", id, "Last-Event-ID", last)
	}
	call := func(id, tool, args string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,"_meta":{"progressToken":` + id + `}}}`
	}
	resp = post(call("1", "cancelled", `{"n":1}`))
	first, last := events(t, resp, 1)
	resp.Body.Close()

	rest := get(last)
	waiting := post(call("2", "wait", "{}"))
	events(t, waiting, 1)
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`).Body.Close()
	waiting.Body.Close()
	second, _ := events(t, rest, 2)
	rest.Body.Close()
	if !strings.Contains(first[0], `"progress":1,`) || !strings.Contains(second[0], `"progress":2,`) || !strings.Contains(second[1], `"id":1,"result":`) {
		t.Fatalf("%q, then %q", first, second)
	}

	number, _, _ := strings.Cut(last, "-")
	again := get(number + "-0")
	replayed, _ := events(t, again, 3)
	again.Body.Close()
	if got, want := strings.Join(replayed, "\n"), strings.Join(append(first, second...), "\n"); got != want {
		t.Errorf("from the beginning:\n%s\nwant\n%s", got, want)
	}
	for _, last := range []string{"x", "1", "-1-1", "1-x", "99-0", number + "-3"} { // after an empty answer a client would ask again
		resp := get(last)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 400 || err != nil || bytes.Contains(body, []byte("session")) { // which some clients would give up
			t.Errorf("Last-Event-ID %s: HTTP %d %s (%v)", last, resp.StatusCode, body, err)
		}
	}
}

// A client that does not read gets the newest progress and its response in the end.
func TestSlowClientProgress(t *testing.T) {
	h := newHost(t, mcpserver.Options{})
	bystander := h.http().greeted(newest)
	conn := h.upgrade("/ws", nil)
	defer conn.Close()
	say := func(msg string) { conn.WriteMessage(websocket.TextMessage, []byte(msg)) }
	hear := func() string {
		_, b, err := conn.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	say(fmt.Sprintf(initialize, newest))
	hear()
	const n = 200_000
	say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"n":200000},"_meta":{"progressToken":"t"}}}`)
	for h.fake.Calls("progress") == 0 { // it sends all notifications before it returns
		bystander.works()
	}
	bystander.works()
	count, newest := 0, ""
	for {
		m := hear()
		if !strings.Contains(m, wire.NotificationProgress) {
			if m != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}` {
				t.Errorf("the response is %s", m)
			}
			break
		}
		count++
		newest = m
	}
	if !strings.Contains(newest, fmt.Sprintf(`"progress":%d,`, n)) {
		t.Errorf("the last progress is %s", newest)
	}
	t.Logf("%d of %d notifications", count, n)
}

// A client that lets too much pile up is disconnected with the reason. The messages queued before
// arrive whole.
func TestSlowClientBytes(t *testing.T) {
	h := newHost(t, mcpserver.Options{QueueBytes: 1 << 20})
	h.server.SetSlowTime(100 * time.Millisecond)
	bystander := h.http().greeted(newest)
	conn := h.upgrade("/ws", nil)
	defer conn.Close()
	conn.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(initialize, newest)))
	if _, _, err := conn.ReadMessage(); err != nil {
		t.Fatal(err)
	}
	args := `{"pad":"` + strings.Repeat("x", 256<<10) + `"}`
	const n = 100
	for i := range n {
		conn.WriteMessage(websocket.TextMessage, []byte(call(fmt.Sprint(i), "echo", args)))
	}
	// Nothing is read until no more calls arrive, which shows that the client was disconnected, and not for so long that
	// the server has given up writing: it can give no reason then.
	for calls, quiet, begun := 0, 0, time.Now(); quiet < 500 && time.Since(begun) < 10*time.Second; quiet++ {
		if now := h.fake.Calls("echo"); now > calls {
			calls, quiet = now, 0
		}
		bystander.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		bystander.next()
	}
	got := 0
	for {
		_, b, err := conn.ReadMessage()
		if err != nil {
			if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
				t.Errorf("closed with %v, want 1008", err)
			}
			break
		}
		if got++; !strings.HasSuffix(string(b), `"result":{"content":[],"structuredContent":`+args+`}}`) {
			t.Errorf("not a whole response: %.200s", b)
		}
	}
	if got == n {
		t.Error("all of it came, and the connection was closed")
	}
	bystander.works()
}

// A client that does not read is not read from either: it can pile up no answers. When it reads
// again, all of them come.
func TestSlowClientWaits(t *testing.T) {
	h := newHost(t, mcpserver.Options{QueueBytes: 16 << 20})
	conn := h.upgrade("/ws", nil)
	defer conn.Close()
	conn.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(initialize, newest)))
	if _, _, err := conn.ReadMessage(); err != nil {
		t.Fatal(err)
	}
	const most = 20_000 // calls of 8 KiB: more than fits into the buffers of the system
	var sent atomic.Int64
	go func() {
		args := `{"pad":"` + strings.Repeat("x", 8<<10) + `"}`
		for id := int64(1); id <= most && conn.WriteMessage(websocket.TextMessage, []byte(call(fmt.Sprint(id), "echo", args))) == nil; id++ {
			sent.Store(id)
		}
	}()
	bystander := h.http().greeted(newest)
	for before, quiet := int64(0), 0; quiet < 100; quiet++ { // until the client cannot send any more
		if now := sent.Load(); now > before {
			before, quiet = now, 0
		}
		bystander.works()
	}
	stuck := sent.Load()
	if stuck == most {
		t.Fatal("a client that does not read is read from")
	}
	for n := range stuck + 100 {
		_, b, err := conn.ReadMessage()
		if err != nil {
			t.Fatalf("after %d of %d answers: %v", n, stuck, err)
		}
		if !strings.Contains(string(b), `"result"`) && !strings.Contains(string(b), "limits.callsPerSession") {
			t.Fatalf("answer %d: %s", n, b)
		}
	}
}

// A client that is disconnected learns why, even while it is sending.
func TestSlowClientSending(t *testing.T) {
	h := newHost(t, mcpserver.Options{QueueBytes: 64 << 10})
	h.server.SetSlowTime(100 * time.Millisecond)
	conn := h.upgrade("/ws", nil)
	defer conn.Close()
	conn.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(initialize, newest)))
	args := `{"pad":"` + strings.Repeat("x", 256<<10) + `"}`
	for i := range 100 {
		conn.WriteMessage(websocket.TextMessage, []byte(call(fmt.Sprint(i), "echo", args)))
	}
	for {
		if _, _, err := conn.ReadMessage(); err != nil {
			if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) {
				t.Errorf("closed with %v, want 1008", err)
			}
			return
		}
	}
}
