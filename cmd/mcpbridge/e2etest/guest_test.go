package e2etest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// member is a session of a source on one node. Its tool "who" names that, "only0" is known to node0 alone, "ask"
// asks the client, and "wait" waits until it is canceled or let go.
type member struct {
	bridge.Session
	node    string
	waiting chan string // gets "begun" and "canceled"
	release chan struct{}
	levels  *atomic.Int64 // that have been set
	only0   *atomic.Int64 // calls of it, on any node
}

func (m member) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	names := []string{"who", "ask", "wait"}
	if m.node == "node0" {
		names = append(names, "only0")
	}
	var items []bridge.Item
	for _, name := range names {
		it, err := bridge.NewItem(kind, fmt.Appendf(nil, `{"name":%q,"inputSchema":{"type":"object"}}`, name))
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return bridge.NewList(kind, items), nil
}

func (m member) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	switch req.Method {
	case wire.MethodSetLevel:
		m.levels.Add(1)
		return bridge.Result([]byte("{}"), nil)
	case wire.MethodToolsCall:
		said, err := m.run(ctx, req)
		if err != nil {
			return bridge.Failed(err)
		}
		return bridge.Result(append([]byte(`{"content":[],"structuredContent":{"said":`), append(said, "}}"...)...), nil)
	}
	return m.Session.Do(ctx, req)
}

func (m member) run(ctx context.Context, req *bridge.Request) (said []byte, err *toolformat.Error) {
	switch req.Target {
	case "ask":
		return req.Back.Ask(ctx, "elicitation/create", []byte(`{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`))
	case "wait":
		req.Back.Notify(wire.NotificationMessage, []byte(`{"level":"info","data":"begun"}`))
		m.waiting <- "begun"
		select {
		case <-ctx.Done():
			m.waiting <- "canceled"
			return nil, toolformat.Errorf(toolformat.Canceled, "canceled")
		case <-m.release:
			return []byte(`"released"`), nil
		}
	case "only0":
		m.only0.Add(1)
		if m.node != "node0" {
			return nil, toolformat.Errorf(toolformat.NotFound, "unknown tool: only0")
		}
	}
	return wire.AppendString(nil, m.node), nil
}

// visitor is a client of a session of node0.
type visitor struct {
	*testing.T
	nodes   []*fleetNode
	headers map[string]string
	member
}

// callOf returns a call of a tool. A client gives each an id of its own.
func callOf(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

func visit(t *testing.T) *visitor {
	v := &visitor{T: t, member: member{waiting: make(chan string, 2), release: make(chan struct{}), levels: new(atomic.Int64), only0: new(atomic.Int64)}}
	var sources []bridge.Source
	for i := range 3 {
		sources = append(sources, bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			m := v.member
			m.Session, m.node = below, fmt.Sprintf("node%d", i)
			return m, nil
		}))
	}
	v.nodes = nodesOf(t, map[string]string{"ann": "the token of ann", "bob": "the token of bob"}, sources...)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	v.headers = map[string]string{"Authorization": "Bearer the token of ann", "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
	v.headers["Mcp-Session-Id"] = v.nodes[0].begin(t, "the token of ann")
	return v
}

// call calls a tool through a node.
func (v *visitor) call(node int, tool string) (status int, body string) {
	v.Helper()
	return v.nodes[node].send(v.T, callOf(1, tool), v.headers)
}

// settle calls through node1 until a node says that it has answered.
func (v *visitor) settle(answers string) {
	v.Helper()
	for body := ""; !strings.Contains(body, answers); {
		var status int
		if status, body = v.call(1, "who"); status != http.StatusOK {
			v.Fatal(status, body)
		}
	}
}

// request sends a request to a node and returns the lines of the answer.
func (v *visitor) request(node int, method, message string, more map[string]string) *bufio.Scanner {
	v.Helper()
	req, _ := http.NewRequestWithContext(v.Context(), method, v.nodes[node].url+"/mcp", strings.NewReader(message))
	for _, headers := range []map[string]string{v.headers, more} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		v.Fatal(resp.Status)
	}
	return bufio.NewScanner(resp.Body)
}

// next returns the id and the data of the next event that has some.
func (v *visitor) next(lines *bufio.Scanner) (id, data string) {
	v.Helper()
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = value
		} else if value, ok := strings.CutPrefix(lines.Text(), "data: "); ok && value != "" {
			return id, value
		}
	}
	v.Fatalf("the stream has ended: %v", lines.Err())
	return "", ""
}

// A node answers the calls of another node's session itself, but for tools that it does not know, and for nobody
// but the session's client.
func TestGuest(t *testing.T) {
	v := visit(t)
	v.settle("node1")
	if _, body := v.call(1, "only0"); !strings.Contains(body, "node0") {
		t.Errorf("a tool that only the owner has: %s", body)
	}
	if n := v.only0.Load(); n != 1 {
		t.Errorf("one call of it is %d at all nodes, which each count it", n)
	}
	keyed := maps.Clone(v.headers)
	keyed["Idempotency-Key"] = "k"
	if _, body := v.nodes[1].send(t, callOf(2, "who"), keyed); !strings.Contains(body, "node0") {
		t.Errorf("a call with a key, which only the owner's ledger knows: %s", body)
	}
	bob := maps.Clone(v.headers)
	bob["Authorization"] = "Bearer the token of bob"
	if status, body := v.nodes[1].send(t, callOf(2, "who"), bob); status != http.StatusNotFound {
		t.Errorf("another client: %d %s", status, body)
	}
}

// Whatever belongs to a call of a guest reaches it through any node: the answer to its question, its
// cancellation, and who goes on with its stream.
func TestGuestsCall(t *testing.T) {
	v := visit(t)
	v.settle("node1")
	for node := range v.nodes {
		lines := v.request(1, http.MethodPost, callOf(10+node, "ask"), nil)
		_, question := v.next(lines)
		id := string(wire.Lookup([]byte(question), "id"))
		if !strings.Contains(id, "/") {
			t.Fatal(question)
		}
		v.nodes[node].send(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"by":"node"}}`, v.headers)
		if _, data := v.next(lines); !strings.Contains(data, `{"by":"node"}`) {
			t.Errorf("the answer came to node%d: %s", node, data)
		}
	}
	for node := range v.nodes { // an answer that cannot be used
		lines := v.request(1, http.MethodPost, callOf(15+node, "ask"), nil)
		_, question := v.next(lines)
		v.nodes[node].send(t, `{"jsonrpc":"2.0","id":`+string(wire.Lookup([]byte(question), "id"))+`,"result":{"by":"node",}}`, v.headers)
		if _, data := v.next(lines); !strings.Contains(data, "an answer that is not valid") {
			t.Errorf("it came to node%d: %s", node, data)
		}
	}
	for node := range v.nodes {
		v.request(1, http.MethodPost, callOf(20+node, "wait"), nil)
		<-v.waiting
		v.nodes[node].send(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 20+node), v.headers)
		if said := <-v.waiting; said != "canceled" {
			t.Error(said)
		}
	}
	for node := range v.nodes {
		id, _ := v.next(v.request(1, http.MethodPost, callOf(30+node, "wait"), nil))
		<-v.waiting
		lines := v.request(node, http.MethodGet, "", map[string]string{"Last-Event-ID": id})
		v.release <- struct{}{}
		if _, data := v.next(lines); !strings.Contains(data, "released") {
			t.Errorf("resumed by node%d: %s", node, data)
		}
	}
}

// What changes for a session's calls, and its end, hold for its guests at once.
func TestGuestChanges(t *testing.T) {
	v := visit(t)
	v.settle("node1")
	if status, _ := v.nodes[2].persist(t, `{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"debug"}}`, v.headers); status != http.StatusOK {
		t.Error(status)
	}
	v.settle("node0") // node1 has to ask again
	v.settle("node1")
	if n := v.levels.Load(); n != 2 {
		t.Errorf("the level was set for %d sessions, want that of the owner and the guest", n)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, v.nodes[2].url+"/mcp", nil)
	for name, value := range v.headers {
		req.Header.Set(name, value)
	}
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusOK {
		t.Error(resp, err)
	}
	for node := range v.nodes {
		if status, body := v.call(node, "who"); status != http.StatusNotFound {
			t.Errorf("node%d after the end of the session: %d %s", node, status, body)
		}
	}
}

// A ticket lets in one connection, at any node.
func TestTicketOfNode(t *testing.T) {
	all := nodesOf(t, map[string]string{"ann": "the token of ann"}, sourcetest.NewFake(), sourcetest.NewFake())
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	for range 2 {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, all[0].url+"/ws/ticket", nil)
		req.Header.Set("Authorization", "Bearer the token of ann")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var issued struct{ Ticket string }
		err = json.NewDecoder(resp.Body).Decode(&issued)
		resp.Body.Close()
		if err != nil || issued.Ticket == "" {
			t.Fatal(resp.Status, err)
		}
		for i, node := range []*fleetNode{all[1], all[0], all[1]} {
			conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(node.url, "http")+"/ws?ticket="+issued.Ticket, nil)
			if i > 0 {
				if err == nil || resp.StatusCode != http.StatusUnauthorized {
					t.Fatalf("a ticket that was used: %v %v", resp, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}`))
			if _, answer, err := conn.ReadMessage(); err != nil || !strings.Contains(string(answer), `"result"`) {
				t.Errorf("%s %v", answer, err)
			}
			conn.Close()
		}
	}
}
