package mcpserver

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// fakeNodes is the node "a.1" of a fleet whose other nodes answer "b.1" and so on, where the session is.
type fakeNodes struct {
	mu    sync.Mutex // guards the fields below
	by    string     // who seals; "" for this one
	owner string     // of any session, as NATS knows; "" for who has sealed it
	ended bool       // the owner has, which is not known yet
	fate  error      // of a run that is not owner
	later int        // how often fate is told before it is not so any more; 0 means that it stays
	sent  bool       // a request reaches the owner, and gets no answer
	away  error      // of NATS
	alone bool       // another node may go on with the sessions of this one

	carry func(http.ResponseWriter, *http.Request) (sent bool, err error) // of Forward, if it is not nil
	term  context.Context
	end   context.CancelFunc
}

func newFakeNodes() *fakeNodes {
	n := &fakeNodes{}
	n.term, n.end = context.WithCancel(context.Background())
	return n
}

func (n *fakeNodes) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *fakeNodes) Accept() (net.Conn, error)                    { return nil, net.ErrClosed }
func (n *fakeNodes) Close() error                                 { return nil }
func (n *fakeNodes) Addr() net.Addr                               { return &net.UnixAddr{Name: "a.1"} }
func (n *fakeNodes) ServeHTTP(http.ResponseWriter, *http.Request) {}
func (n *fakeNodes) Seal(purpose string, data []byte) string {
	return n.by + "-" + purpose + hex.EncodeToString(data)
}
func (n *fakeNodes) Open(purpose, sealed string) (data []byte, run string, ok bool) {
	run, rest, _ := strings.Cut(sealed, "-")
	text, ok := strings.CutPrefix(rest, purpose)
	data, err := hex.DecodeString(text)
	return data, run, ok && err == nil
}

func (n *fakeNodes) Forward(w http.ResponseWriter, r *http.Request, run, _ string) (sent bool, err error) {
	if n.carry != nil {
		return n.carry(w, r)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case run != n.owner:
		return n.sent, n.fate
	case n.ended:
		return false, toolformat.Errorf(toolformat.NotFound, "ended")
	}
	io.WriteString(w, run)
	return true, nil
}

func (n *fakeNodes) Owner(context.Context, string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owner, n.away
}

func (n *fakeNodes) Bind(context.Context, string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.away
}

func (n *fakeNodes) Adopt(_ context.Context, _, _ string, may func() bool) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away != nil {
		return "", n.away
	}
	fate := n.fate
	if n.later--; n.later == 0 {
		n.fate = nil
	}
	if fate == nil && n.owner == "" && !may() {
		fate = toolformat.Errorf(toolformat.NotFound, "no leave")
	}
	return n.owner, fate
}

func (n *fakeNodes) Term() (context.Context, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.alone {
		return n.term, 0
	}
	return n.term, time.Hour
}

// noded is a server that is a node.
type noded struct {
	*fakeNodes
	server *Server
	url    string
}

func newNoded(t *testing.T) *noded {
	sourcetest.NoLeaks(t)
	n := &noded{fakeNodes: newFakeNodes()}
	n.server = New(sourcetest.NewFake(), Options{Nodes: n.fakeNodes, Adoptable: true})
	web := httptest.NewServer(n.server.Handler())
	t.Cleanup(web.Close)
	t.Cleanup(func() { n.server.Close() })
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	n.url = web.URL + "/mcp"
	return n
}

// send sends a request of a session, "" for none. The caller closes the body of the response.
func (n *noded) send(t *testing.T, method, session, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, n.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// answer returns the status and body with which a ping of a session is answered, and Retry-After.
func (n *noded) answer(t *testing.T, session string) (status int, body, after string) {
	t.Helper()
	resp := n.send(t, http.MethodPost, session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw), resp.Header.Get("Retry-After")
}

// begin begins a session, whose client has a name.
func (n *noded) begin(t *testing.T, name string) (id string) {
	t.Helper()
	resp := n.send(t, http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}}`)
	defer resp.Body.Close()
	if id = resp.Header.Get("Mcp-Session-Id"); id == "" {
		t.Fatal(resp.Status)
	}
	return id
}

// A client is told that its session has ended only if its node has: otherwise it is to try again.
func TestUnreachableNode(t *testing.T) {
	n := newNoded(t)
	n.by = "b.1"
	sessions := map[string]string{"movable": n.begin(t, "x"), "with its node": n.begin(t, strings.Repeat("x", maxBeginning))}
	for _, s := range sessions { // as after this node's start
		n.server.sessions.endSession(n.server.sessions.sessions[s])
	}
	for _, c := range []struct {
		fate   error
		status int
		after  string
	}{
		{toolformat.Errorf(toolformat.Unavailable, "no link"), http.StatusServiceUnavailable, "1"},
		{toolformat.Errorf(toolformat.NotFound, "ended"), http.StatusNotFound, ""},
	} {
		n.set(func() { n.fate = c.fate })
		for name, session := range sessions {
			if status, body, after := n.answer(t, session); status != c.status || after != c.after {
				t.Errorf("%s, %v: %d %s, Retry-After %q", name, c.fate, status, body, after)
			}
		}
	}
}

// resume asks for the rest of the stream of an event, and returns the status.
func (n *noded) resume(t *testing.T, session, last string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Last-Event-ID", last)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Who names the session of another, and an event of its guest here, gets what everybody gets who names none.
func TestForeignEvent(t *testing.T) {
	n := newNoded(t)
	for _, run := range []string{"", "b.1"} {
		n.by = run
		session := n.Seal(sealedSession, make([]byte, sha256.Size))
		if status := n.resume(t, session, n.Seal(sealedMark, nil)+"/1-0"); status != http.StatusNotFound {
			t.Errorf("by %q: %d", run, status)
		}
	}
}

// A stream that was lost with its node is refused, and its session goes on.
func TestLostStream(t *testing.T) {
	n := newNoded(t)
	n.by = "b.1"
	session, guests := n.begin(t, "x"), n.Seal(sealedMark, nil)+"/1-0"
	n.server.sessions.endSession(n.server.sessions.sessions[session]) // as after this node's start
	n.set(func() { n.fate, n.later = toolformat.Errorf(toolformat.Unavailable, "no link"), 1 })
	for _, last := range []string{"1-0", guests, "-" + sealedMark + "/1-0"} { // of the owner, another node and this one
		if status := n.resume(t, session, last); status != http.StatusBadRequest {
			t.Errorf("%s: %d", last, status)
		}
		n.set(func() { n.fate = toolformat.Errorf(toolformat.NotFound, "ended") })
	}
	if status, body, _ := n.answer(t, session); status != http.StatusOK {
		t.Errorf("the session: %d %s", status, body)
	}
}

// A principal whose sessions move without end leaves the others room where nodes keep that. One that has moved is
// counted once.
func TestMovedShare(t *testing.T) {
	n := newNoded(t)
	n.by = "b.1"
	id := n.begin(t, "x")
	n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
	own := n.server.opts().accounts.of(bridge.Principal{})
	own.mayStay(maxStaying) // begins the hour
	own.stayed.Store(maxStaying)
	ended := func() { n.fate, n.later = toolformat.Errorf(toolformat.Unavailable, "not yet"), 1 }
	n.set(ended)
	if status, body, _ := n.answer(t, id); status != http.StatusNotFound {
		t.Errorf("beyond the share: %d %s", status, body)
	}
	own.stayed.Store(maxStaying - 1)
	n.set(ended)
	if status, body, _ := n.answer(t, id); status != http.StatusOK {
		t.Fatalf("the last of the share: %d %s", status, body)
	}
	resp := n.send(t, http.MethodPost, id, `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"info"}}`)
	defer resp.Body.Close()
	if raw, _ := io.ReadAll(resp.Body); !strings.Contains(string(raw), `"result"`) {
		t.Errorf("it stays then: %s", raw)
	}
}

// A request waits for a moment, as a node that was killed may start again. One that has reached the node, and may run
// again, waits until it is known to have ended.
func TestEndingNode(t *testing.T) {
	for _, sent := range []bool{false, true} {
		n := newNoded(t)
		n.by = "b.1"
		id := n.begin(t, "x")
		n.server.sessions.endSession(n.server.sessions.sessions[id]) // as after this node's start
		n.set(func() { n.fate, n.later, n.sent = toolformat.Errorf(toolformat.Unavailable, "not yet"), 1, sent })
		if sent {
			n.set(func() { n.later = 4 }) // more than adoptTime
		}
		if status, body, _ := n.answer(t, id); status != http.StatusOK || !strings.Contains(body, `"result"`) {
			t.Error(sent, status, body)
		}
	}
}

// A session that a node has begun, and does not have any more, may have moved: it asks.
func TestMovedSession(t *testing.T) {
	n := newNoded(t)
	id := n.begin(t, "x")
	if status, body, _ := n.answer(t, id); status != http.StatusOK {
		t.Fatal(status, body)
	}
	n.server.sessions.endSession(n.server.sessions.sessions[id]) // as when it is idle
	if status, body, _ := n.answer(t, id); status != http.StatusNotFound {
		t.Error(status, body)
	}
	n.set(func() { n.owner = "b.1" })
	if status, body, _ := n.answer(t, id); status != http.StatusOK || body != "b.1" {
		t.Error(status, body)
	}
	n.set(func() { n.ended = true })
	if status, body, after := n.answer(t, id); status != http.StatusServiceUnavailable || after == "" {
		t.Error(status, body, after)
	}
	n.set(func() { n.away = toolformat.Errorf(toolformat.Unavailable, "no NATS") })
	if status, body, after := n.answer(t, id); status != http.StatusServiceUnavailable || after == "" {
		t.Error(status, body, after)
	}
}

// The stream of a session ends with the term in which it is surely this node's, unless it is bound to the node.
func TestTermEnds(t *testing.T) {
	n := newNoded(t)
	movable, bound := n.begin(t, "movable"), n.begin(t, "bound")
	resp := n.send(t, http.MethodPost, bound, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
	resp.Body.Close()
	streams := map[string]*http.Response{}
	for _, id := range []string{movable, bound} {
		streams[id] = n.send(t, http.MethodGet, id, "")
		defer streams[id].Body.Close()
	}
	n.set(n.end)
	if _, err := io.ReadAll(streams[movable].Body); err != nil {
		t.Error(err)
	}
	n.server.sessions.sessions[bound].back.Notify("notifications/tools/list_changed", nil)
	if line, err := bufio.NewReader(streams[bound].Body).ReadString('\n'); err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

// A session has ended only when no other node can go on with it any more.
func TestDeleteWhileAway(t *testing.T) {
	n := newNoded(t)
	id := n.begin(t, "x")
	remove := func() (status int, after string) {
		t.Helper()
		resp := n.send(t, http.MethodDelete, id, "")
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	n.set(func() { n.away = toolformat.Errorf(toolformat.Unavailable, "no NATS") })
	if status, after := remove(); status != http.StatusServiceUnavailable || after != "1" {
		t.Errorf("DELETE without NATS: %d, Retry-After %q", status, after)
	}
	if status, body, _ := n.answer(t, id); status != http.StatusOK {
		t.Errorf("the session afterwards: %d %s", status, body)
	}
	n.set(func() { n.away = nil })
	if status, _ := remove(); status != http.StatusOK {
		t.Error(status)
	}
	if status, body, _ := n.answer(t, id); status != http.StatusNotFound {
		t.Errorf("the session that was deleted: %d %s", status, body)
	}
}
