package e2etest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// A source behind several nodes and a balancer that never sticks keeps the contract.
func TestFleet(t *testing.T) {
	for _, c := range []struct {
		name   string
		config func(url string) mcpclient.Config
	}{
		{"http", func(url string) mcpclient.Config { return mcpclient.Config{URL: url + "/mcp"} }},
		{"sse", func(url string) mcpclient.Config {
			return mcpclient.Config{URL: url + "/sse", Transport: mcpclient.SSE}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
				return dial(t, c.config(balance(t, nodes(t, 3, sourcetest.NewFake(), nil))))
			})
		})
	}
}

// A fleetNode is a node that serves a source, until the end of the test at most.
type fleetNode struct {
	*fleet.Node
	server *mcpserver.Server
	url    string
	end    func()
	kill   func() // the other nodes lose it, with what is under way
}

// nodes serves a source by several nodes of a fleet, to who has one of the tokens, if any.
func nodes(t testing.TB, n int, source bridge.Source, tokens map[string]string) []*fleetNode {
	return nodesOf(t, tokens, slices.Repeat([]bridge.Source{source}, n)...)
}

// nodesOf is nodes for nodes with a source each.
func nodesOf(t testing.TB, tokens map[string]string, sources ...bridge.Source) []*fleetNode {
	return nodesWith(t, func(*fleetNode) mcpserver.Options { return mcpserver.Options{Access: mcpserver.Access{Tokens: tokens}} }, sources...)
}

// nodesWith is nodesOf for nodes whose servers have these options.
func nodesWith(t testing.TB, options func(*fleetNode) mcpserver.Options, sources ...bridge.Source) []*fleetNode {
	return nodesAt(t, func(nats string) string { return nats }, options, sources...)
}

// nodesAt is nodesWith for nodes that are reached, and reach NATS, at other addresses, which at returns for their own.
func nodesAt(t testing.TB, at func(url string) string, options func(*fleetNode) mcpserver.Options, sources ...bridge.Source) []*fleetNode {
	nats, last := fleettest.NATS(t), (*engine.Engine)(nil)
	var all []*fleetNode
	for i, source := range sources {
		name := fmt.Sprintf("node%d", i)
		last = fleettest.Engine(t, at(nats), name)
		all = append(all, startNode(t, last, name, at, options, source))
	}
	awaitClaims(t, last, len(sources))
	return all
}

// awaitClaims waits until each of some nodes has a claim to its sessions, which names all of them.
func awaitClaims(t testing.TB, e *engine.Engine, nodes int) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	claims, done := map[string]bool{}, make(chan struct{})
	complete := sync.OnceFunc(func() { close(done) })
	e.Bucket("claims", time.Hour).Watch(ctx, ">", func(claim engine.Entry) {
		if strings.Count(string(claim.Value), "http://") == nodes {
			claims[claim.Key] = true
		}
		if len(claims) == nodes {
			complete()
		}
	})
	<-done
}

// startNode starts a node of nodesAt.
func startNode(t testing.TB, own *engine.Engine, name string, at func(url string) string, options func(*fleetNode) mcpserver.Options, source bridge.Source) *fleetNode {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	one := &fleetNode{url: "http://" + ln.Addr().String()}
	one.Node = fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: own, Name: name})
	own.Announce(engine.Node{Address: at(one.url)})
	opts := options(one)
	opts.Nodes, opts.Adoptable = one.Node, true
	server := mcpserver.New(source, opts)
	one.server = server
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, ln) }()
	one.kill = func() {
		own.Close()
		one.Close()
		ln.Close()
	}
	one.end = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		one.Close()
		own.Close()
	})
	t.Cleanup(one.end)
	return one
}

// balance returns the URL of a proxy that gives each request to the next of several servers.
func balance(t testing.TB, nodes []*fleetNode) string {
	var last atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		target, _ := url.Parse(nodes[last.Add(1)%int64(len(nodes))].url)
		r.SetURL(target)
		if r.Out.ContentLength > 0 { // else an answer may be cut off, see examples/fleet
			r.Out.Body = io.NopCloser(io.LimitReader(r.Out.Body, r.Out.ContentLength))
		}
	}}
	web := httptest.NewServer(proxy)
	t.Cleanup(web.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return web.URL
}

// post sends a message of a session to a node, and returns the status and body of the answer.
func (n *fleetNode) post(t *testing.T, session, message string) (status int, body string) {
	t.Helper()
	return n.persist(t, message, map[string]string{"Mcp-Session-Id": session})
}

// persist is send, again as long as the node says so: another one may just have ended, or this one may have stood still.
func (n *fleetNode) persist(t *testing.T, message string, headers map[string]string) (status int, body string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		status, body = n.send(t, message, headers)
		if status != http.StatusServiceUnavailable || time.Now().After(end) {
			return status, body
		}
	}
}

// send sends a message with some headers.
func (n *fleetNode) send(t *testing.T, message string, headers map[string]string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// begin begins a session on a node and returns its id. Its client has a token, if any.
func (n *fleetNode) begin(t *testing.T, token ...string) string {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, n.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}`))
	req.Header.Set("Content-Type", "application/json")
	for _, one := range token {
		req.Header.Set("Authorization", "Bearer "+one)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); resp.StatusCode == http.StatusOK && id != "" {
		return id
	}
	t.Fatalf("initialize: %d", resp.StatusCode)
	return ""
}

const callEcho = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`

// When a node ends, one of the others goes on with its sessions, and with none that had something of its own
// there or has ended.
func TestAdoption(t *testing.T) {
	all := nodes(t, 3, sourcetest.NewFake(), nil)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	plain, subscribed, ended := all[0].begin(t), all[0].begin(t), all[0].begin(t)
	if status, body := all[1].post(t, subscribed, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, all[1].url+"/mcp", nil)
	req.Header.Set("Mcp-Session-Id", ended)
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	all[0].end()
	for _, node := range all[1:] {
		if status, body := node.post(t, plain, callEcho); status != http.StatusOK || !strings.Contains(body, `"result"`) {
			t.Errorf("%s: %d %s", node.Addr(), status, body)
		}
		for _, lost := range []string{subscribed, ended} {
			if status, body := node.post(t, lost, callEcho); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", node.Addr(), status, body)
			}
		}
	}
	all[1].end()
	if status, body := all[2].post(t, plain, callEcho); status != http.StatusOK || !strings.Contains(body, `"result"`) {
		t.Errorf("the last: %d %s", status, body)
	}
}

// asking is a session whose calls ask their client for its name.
type asking struct{ bridge.Session }

func (a asking) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall {
		return a.Session.Do(ctx, req)
	}
	answer, err := req.Back.Ask(ctx, "elicitation/create", []byte(`{"message":"name?","requestedSchema":{"type":"object","properties":{}}}`))
	if err != nil {
		return bridge.Failed(err)
	}
	return bridge.Result(append([]byte(`{"content":[],"structuredContent":`), append(answer, '}')...), nil)
}

// A modern call that waits for an answer goes on at the node that has it, whichever gets the retry. If that
// node has ended, the client is told.
func TestParkedElsewhere(t *testing.T) {
	source := bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return asking{below}, nil
	})
	all := nodes(t, 2, source, nil)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	ask := func() string {
		_, body := all[0].modern(t, fmt.Sprintf(call, ""))
		state, ok := wire.Text(wire.Lookup([]byte(body), "result", "requestState"))
		if !ok {
			t.Fatal(body)
		}
		return fmt.Sprintf(call, `,"inputResponses":{"input1":{"action":"accept","content":{"name":"ann"}}},"requestState":"`+state+`"`)
	}
	if _, body := all[1].modern(t, ask()); !strings.Contains(body, `"name":"ann"`) {
		t.Error(body)
	}
	retry := ask()
	all[0].end()
	body := "try again" // as long as the link is not known to be lost
	for strings.Contains(body, "try again") {
		_, body = all[1].modern(t, retry)
	}
	if !strings.Contains(body, "unknown whether it ran") {
		t.Error(body)
	}
}

// modern sends a call of the tool echo by a modern client.
func (n *fleetNode) modern(t *testing.T, message string) (status int, body string) {
	t.Helper()
	return n.send(t, message, map[string]string{"Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": wire.MethodToolsCall, "Mcp-Name": "echo"})
}

// Whoever knows the id of a session can do nothing with it on any node, also when its own has ended.
func TestForeignSession(t *testing.T) {
	const ann, bob = "the token of ann", "the token of bob"
	all := nodes(t, 2, sourcetest.NewFake(), map[string]string{"ann": ann, "bob": bob})
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	session := all[0].begin(t, ann)
	as := func(token string, node *fleetNode) int {
		status, _ := node.persist(t, callEcho, map[string]string{"Mcp-Session-Id": session, "Authorization": "Bearer " + token})
		return status
	}
	for _, node := range all {
		if own, others, nobody := as(ann, node), as(bob, node), as("", node); own != http.StatusOK || others != http.StatusNotFound || nobody != http.StatusUnauthorized {
			t.Errorf("%s: %d for its client, %d for another, %d for nobody", node.Addr(), own, others, nobody)
		}
	}
	all[0].end()
	if others, own := as(bob, all[1]), as(ann, all[1]); others != http.StatusNotFound || own != http.StatusOK {
		t.Errorf("adopted: %d for another, %d for its client", others, own)
	}
}

// once is a session of which the first call never ends.
type once struct {
	bridge.Session
	calls *atomic.Int64
	begun chan struct{} // closed when that has begun
}

func (o once) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall {
		return o.Session.Do(ctx, req)
	}
	if o.calls.Add(1) == 1 {
		close(o.begun)
		<-ctx.Done()
	}
	return bridge.Result([]byte(`{"content":[]}`), nil)
}

// A call that is lost with its node is not carried out again, whether its session can move or not, and its
// client is told. Later calls on the same connection are not taken for repeated ones.
func TestLostCall(t *testing.T) {
	const level = `{"jsonrpc":"2.0","id":9,"method":"logging/setLevel","params":{"level":"info"}}`
	const spaced = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"spaced","arguments":{}}}`
	for _, before := range []string{level, `{"jsonrpc":"2.0","id":9,"method":"ping"}`} {
		calls, begun := new(atomic.Int64), make(chan struct{})
		all := nodes(t, 2, bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return once{below, calls, begun}, nil
		}), nil)
		t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
		session := all[0].begin(t)
		all[1].post(t, session, before)
		go func() {
			<-begun
			all[0].kill()
		}()
		if status, body := all[1].post(t, session, spaced); status != http.StatusOK || !strings.Contains(body, "unknown whether it ran") {
			t.Errorf("%d %s", status, body)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("it was called %d times", n)
		}
		if before == level {
			continue
		}
		if status, body := all[1].post(t, session, spaced); status != http.StatusOK || !strings.Contains(body, `"result"`) {
			t.Errorf("the next call: %d %s", status, body)
		}
	}
}

// A call whose answer has begun, and is lost with its node, ends on the same stream: with its answer, if it could be
// carried out again, else with an error.
func TestLostStream(t *testing.T) {
	for tool, want := range map[string]string{"spaced": "unknown whether it ran", "echo": `"result"`} {
		calls, begun := new(atomic.Int64), make(chan struct{})
		all := nodes(t, 2, bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return onceTold{once{below, calls, begun}}, nil
		}), nil)
		t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
		session := all[0].begin(t)
		all[1].post(t, session, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, all[1].url+"/mcp", strings.NewReader(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":1}}}`, tool)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body []byte
		for part := make([]byte, 1<<10); !strings.Contains(string(body), wire.NotificationProgress) && err == nil; {
			var n int
			n, err = resp.Body.Read(part)
			body = append(body, part[:n]...)
		}
		<-begun
		all[0].kill()
		rest, err := io.ReadAll(resp.Body)
		if body = append(body, rest...); err != nil || !strings.Contains(string(body), want) || strings.Count(string(body), `"id":2,`) != 1 {
			t.Errorf("%s: %v %s", tool, err, body)
		}
		if n, most := calls.Load(), int64(strings.Count(want, "result")+1); n != most {
			t.Errorf("%s was called %d times; want %d", tool, n, most)
		}
	}
}

// onceTold is once, with a notification before the call has begun.
type onceTold struct{ once }

func (o onceTold) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall && o.calls.Load() == 0 {
		req.Back.Notify(wire.NotificationProgress, []byte(`{"progressToken":1,"progress":1}`))
	}
	return o.once.Do(ctx, req)
}

// Streams that a client keeps open through another node hold up nobody else, and those for which there is no room are
// refused with words.
func TestForwardedStreams(t *testing.T) {
	all := nodes(t, 2, sourcetest.NewFake(), map[string]string{"ann": "the token of ann", "bob": "the token of bob"})
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var resp *http.Response
	for opened := 0; ; opened++ {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, all[1].url+"/mcp", nil)
		req.Header.Set("Mcp-Session-Id", all[0].begin(t, "the token of ann"))
		req.Header.Set("Authorization", "Bearer the token of ann")
		req.Header.Set("Accept", "text/event-stream")
		var err error
		if resp, err = http.DefaultClient.Do(req); err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK && opened < 1000 {
			continue
		}
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || opened != 1000 || !strings.Contains(string(body), "too many requests that wait for other nodes") {
			t.Errorf("after %d streams: %d %s", opened, resp.StatusCode, body)
		}
		break
	}
	for _, token := range []string{"the token of ann", "the token of bob"} {
		session := all[0].begin(t, token)
		if status, body := all[1].send(t, callEcho, map[string]string{"Mcp-Session-Id": session, "Authorization": "Bearer " + token}); status != http.StatusOK {
			t.Errorf("a call: %d %s", status, body)
		}
	}
}
