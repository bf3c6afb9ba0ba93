package e2etest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/providers"
	models "github.com/mcpbridge/mcpbridge/providers/serve"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A task has one id at all nodes, and its requests reach the node that has created it. When that has ended, the
// client is told.
func TestTasksOfNodes(t *testing.T) {
	s, sources := newTaskServer(peer.Modern), []bridge.Source(nil)
	config := upHTTP(t, s.Server)
	for range 3 {
		sources = append(sources, bridge.New(bridge.Options{Settle: patience}, prefixes[1].members(dial(t, config))...))
	}
	all, callers := nodesOf(t, nil, sources...), []*caller(nil)
	for _, node := range all {
		callers = append(callers, newCaller(t, nil, func(testing.TB, *front) *peer.Client {
			return peer.HTTP(t.Context(), node.url+"/mcp", nil)
		}, true, tasking))
	}
	about := func(method string, at int, id, more string) wire.Message {
		c := callers[at]
		return c.response(c.request(method, `"taskId":"`+id+`"`+more, "")).Message
	}
	begin := func(name string) (id string) {
		id, _ = wire.Text(wire.Lookup([]byte(callers[0].tool("up__work", `{"id":"`+name+`"}`)), "taskId"))
		return id
	}
	first, second, third := begin("a"), begin("b"), begin("c")
	for at := range callers {
		if m := about(wire.MethodTasksGet, at, first, ""); string(wire.Lookup(m.Result, "taskId")) != fmt.Sprintf("%q", first) || m.Error != nil {
			t.Errorf("node %d: %s", at, m.Raw)
		}
		callers[at].unknown(wire.MethodTasksGet, "a")
	}
	about(wire.MethodTasksUpdate, 1, first, `,"inputResponses":{}`)
	about(wire.MethodTasksCancel, 2, second, "")
	s.Read(func() {
		if s.status["a"] != "completed" || s.status["b"] != "cancelled" || s.status["c"] != "input_required" {
			t.Error(s.status)
		}
	})
	all[0].end()
	message := `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"` + third + `","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + tasking + `}}}`
	body := "try again" // as long as the link is not known to be lost
	for strings.Contains(body, "try again") {
		_, body = all[1].send(t, message, map[string]string{"Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": wire.MethodTasksGet})
	}
	if !strings.Contains(body, `"code":-32602`) || !strings.Contains(body, "has ended") {
		t.Error(body)
	}
}

// counting is a provider that answers with the number of messages that it was sent.
type counting struct{}

func (counting) Name() string              { return "counting" }
func (counting) Format() toolformat.Format { return toolformat.FormatOpenAIResponses }

func (counting) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	return say(fmt.Sprint(len(req.Messages), " messages"), emit)
}

func say(text string, emit func(providers.Event)) (*providers.Turn, error) {
	emit(providers.Event{Type: providers.EventTextDelta, Text: text})
	parts := []providers.Part{{Type: providers.PartText, Text: text}}
	return &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant, Parts: parts}, Stop: providers.StopEnd}, nil
}

// modelNodes are nodes whose clients ask a model.
func modelNodes(t *testing.T, n int, model providers.Provider) []*fleetNode {
	return keepingNodes(t, n, model, false)
}

// keepingNodes is modelNodes for nodes that may keep responses together.
func keepingNodes(t *testing.T, n int, model providers.Provider, together bool) []*fleetNode {
	var broken sync.Map
	return nodesWith(t, func(node *fleetNode) mcpserver.Options {
		opts := models.Options{
			Toolbox: providers.NewToolbox(sourcetest.NewFake()), Caller: mcpserver.CallerOf,
			Model: func(string) (providers.Candidate, providers.Settings, error) {
				return providers.Candidate{Provider: model, Model: "m"}, providers.Settings{}, nil
			},
			NewID: func() string { return node.server.NewID() },
			Elsewhere: func(w http.ResponseWriter, r *http.Request, id string, body []byte) (bool, error) {
				return node.server.Elsewhere(w, r, id, body)
			},
			Break: func(request, id string) { broken.Store(request, id) },
			Broken: func(request string) string {
				id, _ := broken.Load(request)
				text, _ := id.(string)
				return text
			},
		}
		if together {
			book := node.Book("history", 0)
			opts.Keep = func(ctx context.Context, principal, key string, value []byte) error {
				_, _, err := book.Change(ctx, principal+"."+key, value, 0, time.Hour)
				return err
			}
			opts.Kept = func(ctx context.Context, principal, key string) ([]byte, error) {
				value, _, err := book.Get(ctx, principal+"."+key)
				return value, err
			}
		}
		return mcpserver.Options{Protected: map[string]http.Handler{"/v1/": models.New(opts)}}
	}, slices.Repeat([]bridge.Source{sourcetest.NewFake()}, n)...)
}

// complete asks the model of a node: members are those of the request but for its model.
func (n *fleetNode) complete(t *testing.T, members string) (status int, body string) {
	t.Helper()
	resp, err := http.Post(n.url+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m",`+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// calling is a provider that first calls a tool of the bridge and one of the client, and then says how many results it
// was sent.
type calling struct{ counting }

func (calling) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	if len(req.Messages) > 1 {
		results := 0
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Result != nil {
					results++
				}
				if p.Call != nil && len(p.Call.ID) > 40 {
					return nil, fmt.Errorf("an id of %d bytes", len(p.Call.ID))
				}
			}
		}
		return say(fmt.Sprint(results, " results"), emit)
	}
	parts := []providers.Part{
		{Type: providers.PartCall, Call: &providers.Call{ID: "1", Name: "echo", Arguments: []byte(`{}`)}},
		{Type: providers.PartCall, Call: &providers.Call{ID: "2", Name: "mine", Arguments: []byte(`{}`)}},
	}
	return &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant, Parts: parts}, Stop: providers.StopCalls}, nil
}

// A conversation goes on, at any node, with the calls that have run unseen at the one that has handed out a call
// of the client's tool, and without them when that has ended.
func TestCallsOfNodes(t *testing.T) {
	all := modelNodes(t, 3, calling{})
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	ask := func(node int, messages string) (status int, body string) {
		t.Helper()
		return all[node].complete(t, `"tools":[{"type":"function","function":{"name":"mine","parameters":{"type":"object"}}}],"messages":[`+messages+`]`)
	}
	const user = `{"role":"user","content":"hello"},`
	_, answer := ask(0, strings.TrimSuffix(user, ","))
	var message []byte
	for choice := range wire.Elements(wire.Lookup([]byte(answer), "choices")) {
		message = wire.Lookup(choice, "message")
	}
	id := ""
	for call := range wire.Elements(wire.Lookup(message, "tool_calls")) {
		id, _ = wire.Text(wire.Lookup(call, "id"))
	}
	next := user + string(message) + `,{"role":"tool","tool_call_id":"` + id + `","content":"done"}`
	for node := range all {
		if status, body := ask(node, next); status != 200 || !strings.Contains(body, "2 results") {
			t.Errorf("node %d: %d %s", node, status, body)
		}
	}
	resp, err := http.Post(all[1].url+"/v1/messages/count_tokens", "application/json", strings.NewReader(`{"model":"m","messages":[`+user+
		`{"role":"assistant","content":[{"type":"tool_use","id":"`+id+`","name":"mine","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"done"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusOK {
		t.Errorf("tokens of a conversation of another node: HTTP %s", resp.Status)
	}
	all[0].kill()
	status, body := ask(1, next)
	for ; status > 500; status, body = ask(1, next) { // as long as the link is not known to be lost
	}
	if status != 200 || !strings.Contains(body, "1 results") {
		t.Errorf("%d %s", status, body)
	}
}

// breaking is a provider that first calls a tool, then fails, and then says how many results it was sent.
type breaking struct {
	counting
	turns atomic.Int64
}

func (b *breaking) Turn(_ context.Context, req *providers.Request, emit func(providers.Event)) (*providers.Turn, error) {
	switch b.turns.Add(1) {
	case 1:
		parts := []providers.Part{{Type: providers.PartCall, Call: &providers.Call{ID: "1", Name: "echo", Arguments: []byte(`{}`)}}}
		return &providers.Turn{Message: providers.Message{Role: providers.RoleAssistant, Parts: parts}, Stop: providers.StopCalls}, nil
	case 2:
		return nil, errors.New("the provider has failed")
	}
	return say(fmt.Sprint(len(req.Messages), " messages"), emit)
}

// A request that has failed goes on where it broke off when it is sent again, at any node.
func TestBrokenOfNodes(t *testing.T) {
	all := modelNodes(t, 2, &breaking{})
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	ask := func(node int, content string) (status int, body string) {
		t.Helper()
		return all[node].complete(t, `"messages":[{"role":"user","content":"`+content+`"}]`)
	}
	if status, body := ask(0, "hello"); status == 200 {
		t.Error(body)
	}
	for content, want := range map[string]string{"hello": "3 messages", "another": "1 messages"} {
		if status, body := ask(1, content); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d %s", status, body)
		}
	}
}

// A response that is kept can be read, continued and deleted at any node, and when that which has made it has ended, if the
// nodes keep responses together.
func TestResponsesOfNodes(t *testing.T) {
	for _, together := range []bool{false, true} {
		t.Run(fmt.Sprint("together ", together), func(t *testing.T) { testResponses(t, together) })
	}
}

func testResponses(t *testing.T, together bool) {
	all := keepingNodes(t, 3, counting{}, together)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	send := func(node int, method, path, message string) (status int, body []byte) {
		t.Helper()
		req, _ := http.NewRequestWithContext(t.Context(), method, all[node].url+"/v1/responses"+path, strings.NewReader(message))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ = io.ReadAll(resp.Body)
		return resp.StatusCode, body
	}
	ask := func(node int, method, path, message string, want int, text string) (id string) {
		t.Helper()
		status, body := send(node, method, path, message)
		if status != want || !strings.Contains(string(body), text) {
			t.Errorf("%s %s at node %d: %d %s, want %d %s", method, path, node, status, body, want, text)
		}
		id, _ = wire.Text(wire.Lookup(body, "id"))
		return id
	}
	const begin = `{"model":"m","store":true,"input":"a"`
	next := func(id string) string { return begin + `,"previous_response_id":"` + id + `"}` }
	first := ask(0, "POST", "", begin+"}", 200, "1 messages")
	second := ask(1, "POST", "", next(first), 200, "3 messages")
	for node := range all {
		ask(node, "GET", "/"+second, "", 200, "3 messages")
		ask(node, "GET", "/resp_other", "", 404, "no such response")
	}
	ask(1, "DELETE", "/"+second, "", 200, `"deleted":true`)
	ask(0, "GET", "/"+second, "", 404, "no such response")
	all[0].kill()
	for status := http.StatusBadGateway; status > 500; { // as long as the link is not known to be lost
		status, _ = send(1, "GET", "/"+first, "")
	}
	if !together {
		ask(1, "GET", "/"+first, "", 404, "while the bridge runs that has made it")
		ask(1, "POST", "", next(first), 400, "previous_response_not_found")
		return
	}
	for status := http.StatusBadGateway; status > 500; {
		status, _ = send(2, "GET", "/"+first, "")
	}
	ask(1, "POST", "", next(first), 200, "3 messages")
	ask(2, "GET", "/"+first, "", 200, "1 messages")
	ask(1, "GET", "/"+second, "", 404, "as long as the nodes of the bridge keep")
	ask(1, "DELETE", "/"+first, "", 200, `"deleted":true`)
	ask(2, "GET", "/"+first, "", 404, "no such response")
	ask(2, "POST", "", next(first), 400, "previous_response_not_found")
}
