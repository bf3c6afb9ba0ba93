package e2etest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A source that another node runs keeps the contract.
func TestPlacedContract(t *testing.T) {
	sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
		all := placedNodes(t, 2, `{}`, "upstream")
		for _, n := range all {
			n.places.SetServers(map[string]place.Server{"upstream": {Run: func(ctx context.Context, term *place.Term) {
				mcpserver.New(sourcetest.NewFake(), mcpserver.Options{}).Serve(ctx, term)
			}}})
		}
		away := all[0]
		for _, n := range all {
			for {
				_, over, err := n.places.Link("upstream", "")
				if err == nil {
					break
				}
				<-over
			}
		}
		if _, here, _ := all[0].places.Runner("upstream"); here {
			away = all[1]
		}
		return dial(t, mcpclient.Config{URL: "http://localhost/mcp", Via: func(principal string) (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
			return away.places.Link("upstream", principal)
		}})
	})
}

// A server with "placement": "one" has one process, which every node calls. It moves when its node leaves, which
// no call notices that is under way, and when its node loses the engine: then a call that is under way is unknown.
// Never do two processes run at once, though callers are of both eras.
func TestPlaced(t *testing.T) {
	dir := t.TempDir()
	env, _ := json.Marshal(map[string]string{childMode: "once", "GORACE": "atexit_sleep_ms=0", "DIR": dir})
	all := placedNodes(t, 3, fmt.Sprintf(`{
		"cluster": {"name": "test", "nats": "nats://localhost", "secrets": ["x"]},
		"mcpServers": {"once": {"command": %q, "env": %s, "placement": "one"}}}`, os.Args[0], env), "once")
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	first := all[0].await(t, 0)
	for _, n := range all {
		if pid := n.await(t, 0); pid != first {
			t.Errorf("process %d, and %d on another node", pid, first)
		}
	}
	holder, others := split(all)
	if own, a, b := holder.has(), others[0].has(), others[1].has(); own != "" || a == "" || a != b {
		t.Errorf("the node that runs it says that %q has it, others %q and %q", own, a, b)
	}
	before, err := others[0].session.List(t.Context(), bridge.Tools)
	if err != nil {
		t.Fatal(err)
	}
	held, end := others[0].hold(t, gate)
	left := make(chan struct{})
	go func() {
		defer close(left)
		holder.places.Leave(t.Context())
	}()
	for reply := others[1].call(""); !strings.Contains(fmt.Sprint(reply.Err), "about to run it"); reply = others[1].call("") {
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	end()
	if reply := <-held; reply.Err != nil {
		t.Error("of a node that leaves:", reply.Err)
	}
	<-left
	second := others[0].await(t, first)
	if pid := holder.await(t, first); pid != second {
		t.Errorf("process %d, and %d at the node that has left", second, pid)
	}
	holder, others = split(others)
	held, end = others[0].hold(t, gate)
	defer end()
	holder.nats.cut()
	if reply := <-held; reply.Err == nil || reply.Err.NotRun || !strings.Contains(reply.Err.Message, "unknown whether it ran") {
		t.Errorf("of a node that is cut off: %+v", reply.Err)
	}
	if list, err := others[0].session.List(t.Context(), bridge.Tools); err != nil || !list.Equal(before) {
		t.Errorf("while it moves: %v, %v", list, err)
	}
	others[0].awaitAny(t, second, true) // calls are under way at the node until the others know of its end
	if _, err := os.Stat(filepath.Join(dir, "doubled")); err == nil {
		t.Error("two processes have run at once")
	}
}

// A server goes on when the config changes and its definition does not, as with a token that is made. When that does,
// the call that is under way ends where it began.
func TestPlacedReload(t *testing.T) {
	text := func(tokens, name string) string {
		env, _ := json.Marshal(map[string]string{childMode: "once", "GORACE": "atexit_sleep_ms=0", "NAME": name})
		return fmt.Sprintf(`{
			"cluster": {"name": "test", "nats": "nats://localhost", "secrets": ["x"]}, "tokens": %s,
			"mcpServers": {"once": {"command": %q, "env": %s, "placement": "one"}}}`, tokens, os.Args[0], env)
	}
	n := placedNodes(t, 1, text(`{}`, "a"), "once")[0]
	first := n.await(t, 0)
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	client := n.stack.Stack().Clients()[0]
	if links := client.Links(); len(links) != 1 || links[0].PID != first {
		t.Errorf("%+v", links)
	}
	client.Restart()
	first = n.await(t, first)
	held, end := n.hold(t, gate)
	if err := n.stack.Reload(parse(t, text(`{"ann": "a-token-of-ann-0123456789"}`, "a")), nil); err != nil {
		t.Fatal(err)
	}
	if pid := n.await(t, 0); pid != first {
		t.Error("another token has started the server again")
	}
	if err := n.stack.Reload(parse(t, text(`{}`, "b")), nil); err != nil {
		t.Fatal(err)
	}
	if reply := n.call(""); reply.Err == nil || !reply.Err.NotRun {
		t.Errorf("while it finishes: %s %v", reply.Result, reply.Err)
	}
	end()
	if reply := <-held; reply.Err != nil {
		t.Error("of the definition before:", reply.Err)
	}
	n.await(t, first)
}

// What is lent to one node is called through each, also when another one has it then, and by none when nobody lends it.
// Of two links, the older one is used again when the newer one has ended.
func TestLentToAny(t *testing.T) {
	all := placedNodes(t, 3, `{"cluster": {"name": "test", "nats": "nats://localhost", "secrets": ["x"]}, "mcpServers": {"upstream": {"lender": "ann"}}}`)
	params, _ := wire.SplitParams([]byte(`{"name":"echo","arguments":{"a":1}}`))
	await := func(n *placedNode, done func(bridge.Reply) bool) {
		for range time.Tick(10 * time.Millisecond) {
			if done(n.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params})) {
				break
			}
		}
	}
	for h, hub := range []*fleet.Hub{all[0].hub, all[1].hub} {
		fake := sourcetest.NewFake()
		end := lend(t, hub, serveHub(t, hub), fake)
		for _, n := range all {
			await(n, func(reply bridge.Reply) bool { return reply.Err == nil })
		}
		if calls := fake.Calls("echo"); calls != len(all) {
			t.Errorf("%d nodes were answered, by %d calls", len(all), calls)
		}
		for i, n := range all {
			if got := n.has(); got != fmt.Sprint("node", h) && i != h || got != "" && i == h {
				t.Errorf("node%d says that %q has what is lent to node%d", i, got, h)
			}
		}
		end()
		for _, n := range all {
			await(n, func(reply bridge.Reply) bool {
				return reply.Err != nil && strings.Contains(reply.Err.Message, "ann does not lend it now")
			})
		}
	}
	older, newer := sourcetest.NewFake(), sourcetest.NewFake()
	defer lend(t, all[0].hub, serveHub(t, all[0].hub), older)()
	await(all[2], func(bridge.Reply) bool { return older.Calls("echo") > 0 })
	end := lend(t, all[1].hub, serveHub(t, all[1].hub), newer)
	await(all[2], func(bridge.Reply) bool { return newer.Calls("echo") > 0 })
	end()
	before := older.Calls("echo")
	await(all[2], func(bridge.Reply) bool { return older.Calls("echo") > before })
}

// A node that leaves waits for the calls of others at what is lent to it, which can still ask their callers, and has
// none begin. It does not wait for those that listen.
func TestLentLeave(t *testing.T) {
	all := placedNodes(t, 3, `{"cluster": {"name": "test", "nats": "nats://localhost", "secrets": ["x"]}, "mcpServers": {"upstream": {"lender": "ann", "sharing": "session"}}}`)
	source := &held{Fake: sourcetest.NewFake(), began: make(chan bool), end: make(chan bool)}
	lend(t, all[0].hub, serveHub(t, all[0].hub), source)
	open := func(n *placedNode, modern bool) bridge.Session {
		session, err := n.stack.Open(t.Context(), &bridge.Caller{ID: "other", Modern: modern, Capabilities: []byte(`{"elicitation":{}}`), Ask: answering{}.Ask})
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	legacy, modern := open(all[1], false), open(all[2], true)
	defer legacy.Close()
	defer modern.Close()
	call := func(of bridge.Session, text string) bridge.Reply {
		params, _ := wire.SplitParams(fmt.Appendf(nil, `{"name":"echo","arguments":{"text":%q}}`, text))
		return of.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params, Back: answering{}})
	}
	for _, session := range []bridge.Session{legacy, modern} {
		for range time.Tick(10 * time.Millisecond) {
			if call(session, "").Err == nil {
				break
			}
		}
	}
	asked, waited, left := make(chan bridge.Reply, 1), make(chan bridge.Reply, 1), make(chan struct{})
	go func() { asked <- call(legacy, "ask") }()
	go func() { waited <- call(modern, "wait") }()
	<-source.began
	<-source.began
	go func() {
		defer close(left)
		all[0].places.Leave(t.Context())
	}()
	for _, session := range []bridge.Session{legacy, modern} {
		reply := call(session, "")
		for ; reply.Err == nil; reply = call(session, "") {
		}
		if !reply.Err.NotRun {
			t.Errorf("of a node that leaves: %+v", reply.Err)
		}
	}
	select {
	case <-left:
		t.Error("it has not waited")
	default:
	}
	close(source.end)
	if reply := <-asked; reply.Err != nil || !strings.Contains(string(reply.Result), "ann") {
		t.Errorf("that asks: %s %+v", reply.Result, reply.Err)
	}
	if reply := <-waited; reply.Err != nil {
		t.Errorf("that was under way: %+v", reply.Err)
	}
	<-left
}

// held is a source whose calls wait for end with the text "wait", and with "ask" ask their caller for its name then.
type held struct {
	*sourcetest.Fake
	began, end chan bool
}

func (h *held) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s, err := h.Fake.Open(ctx, caller)
	return heldSession{s, h}, err
}

type heldSession struct {
	bridge.Session
	source *held
}

func (s heldSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall {
		return s.Session.Do(ctx, req)
	}
	text, _ := wire.Text(wire.Lookup(req.Params.Raw, "arguments", "text"))
	if text != "" {
		s.source.began <- true
		<-s.source.end
	}
	if text == "ask" {
		return asking{s.Session}.Do(ctx, req)
	}
	return s.Session.Do(ctx, req)
}

// answering answers what it is asked.
type answering struct{}

func (answering) Notify(string, []byte) {}

func (answering) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return []byte(`{"action":"accept","content":{"name":"ann"}}`), nil
}

// split returns the node that runs the server, and those that may take it.
func split(all []*placedNode) (holder *placedNode, others []*placedNode) {
	for _, n := range all {
		if _, here, _ := n.places.Runner("once"); here {
			holder = n
		} else {
			others = append(others, n)
		}
	}
	return holder, others
}

// placedNode is a node with a Stack of its own.
type placedNode struct {
	session bridge.Session
	stack   *stack.Live
	places  *place.Places
	hub     *fleet.Hub
	nats    *cuttable
	front   *front // for ann and bob, whose tokens are their names
	lending *web.Lending
	kill    func() // the others lose it, and it them
}

// placedNodes returns nodes of one config. Which of them runs one of the placed servers is decided at once, and then
// lasts, also on a machine that stands still at times.
func placedNodes(t *testing.T, n int, text string, placed ...string) (all []*placedNode) {
	nats := fleettest.NATS(t)
	for _, server := range placed {
		free(t, nats, server)
	}
	for i := range n {
		name, one := fmt.Sprint("node", i), &placedNode{places: place.New(), hub: fleet.NewHub(), nats: newCuttable(t, nats)}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		own := fleettest.Engine(t, one.nats.url, name)
		node := fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: own, Name: name})
		own.Announce(engine.Node{Address: "http://" + ln.Addr().String()})
		pool := stack.NewPool()
		opts := stack.Options{Places: one.places, Lenders: one.hub, Pool: pool}
		first, err := stack.New(parse(t, text), opts)
		if err != nil {
			t.Fatal(err)
		}
		s := stack.NewLive(first, opts)
		one.stack = s
		one.places.Join(node, own, name)
		one.lending = pool.Lending()
		one.lending.SetClustered()
		server := mcpserver.New(s, mcpserver.Options{
			Nodes: node, Peers: map[string]http.Handler{place.Path: one.places, web.NodesPath: one.lending},
			Lend: one.lending.Join, Access: mcpserver.Access{Tokens: map[string]string{"ann": "ann", "bob": "bob"}},
		})
		one.front = &front{server, &httptest.Server{URL: "http://" + ln.Addr().String()}}
		one.kill = func() {
			own.Close()
			node.Close()
		}
		if one.session, err = s.Open(t.Context(), &bridge.Caller{ID: name, Modern: i%2 == 1, Capabilities: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, ln) }()
		t.Cleanup(func() {
			one.session.Close()
			one.places.Close()
			node.Close()
			cancel()
			<-served
			own.Close()
			s.Close()
			pool.Close()
		})
		all = append(all, one)
	}
	return all
}

// free has a server's lease be one that was given back: in a cluster that is new it is for nobody at first, as long as it
// lasts.
func free(t *testing.T, nats, server string) {
	own := fleettest.EngineLeasing(t, nats, "before", time.Second)
	defer own.Close()
	lease, held := own.Lease("single."+server), make(chan bool, 1)
	defer lease.OnHolder(func(h engine.Holder) {
		if h.Mine {
			select {
			case held <- true:
			default:
			}
		}
	})()
	<-held
}

// parse returns the config of a text.
func parse(t *testing.T, text string) *config.Config {
	cfg, err := config.Loader{}.Parse(filepath.Join(t.TempDir(), config.FileName), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// call calls the server, which answers with its process once a connection to hold has ended, "" for at once.
func (n *placedNode) call(hold string) bridge.Reply {
	params, _ := wire.SplitParams(fmt.Appendf(nil, `{"name":"pid","arguments":{"Hold":%q}}`, hold))
	return n.session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: "pid", Params: &params})
}

// await calls until a process answers that is another one than before. No call is unknown.
func (n *placedNode) await(t *testing.T, before int) (pid int) {
	t.Helper()
	return n.awaitAny(t, before, false)
}

// awaitAny is await where calls may be unknown.
func (n *placedNode) awaitAny(t *testing.T, before int, unknown bool) (pid int) {
	t.Helper()
	for range time.Tick(10 * time.Millisecond) {
		reply := n.call("")
		if reply.Err != nil && (reply.Err.Code != toolformat.Unavailable || !reply.Err.NotRun && !unknown) {
			t.Fatalf("%+v", reply.Err)
		}
		if reply.Err == nil {
			_, after, _ := strings.Cut(string(reply.Result), `"text":"`)
			if _, err := fmt.Sscan(strings.TrimRight(after, `"}]`), &pid); err != nil {
				t.Fatalf("%s: %v", reply.Result, err)
			}
		}
		if reply.Err == nil && pid != before {
			break
		}
	}
	return pid
}

// has returns which other node has the server, as this one says.
func (n *placedNode) has() string { return n.stack.Stack().Servers()[0].Node }

// hold begins a call that goes on until end is called.
func (n *placedNode) hold(t *testing.T, gate net.Listener) (reply <-chan bridge.Reply, end func()) {
	replies := make(chan bridge.Reply, 1)
	go func() { replies <- n.call(gate.Addr().String()) }()
	c, err := gate.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return replies, func() { c.Close() }
}

// serveOnce serves the tool pid, and leaves a file if another process does.
func serveOnce() {
	if dir := os.Getenv("DIR"); dir != "" {
		lock := flock.New(filepath.Join(dir, "lock"))
		defer runtime.KeepAlive(lock) // which is held until the process has ended
		if alone, err := lock.TryLock(); err != nil || !alone {
			os.WriteFile(filepath.Join(dir, "doubled"), nil, 0o600)
		}
	}
	pid, err := bridge.Func("pid", "Returns the id of the process.", func(ctx context.Context, in struct{ Hold string }) (string, error) {
		if in.Hold != "" {
			c, err := net.Dial("tcp", in.Hold)
			if err != nil {
				return "", err
			}
			io.Copy(io.Discard, c)
		}
		return fmt.Sprint(os.Getpid()), nil
	})
	if err != nil {
		panic(err)
	}
	pid.Timeout = patience // which outlasts a lease
	source, err := bridge.NewNative(bridge.NativeOptions{}, pid)
	if err != nil {
		panic(err)
	}
	mcpserver.New(source, mcpserver.Options{}).ServeStdio(context.Background(), os.Stdin, os.Stdout)
}

// cuttable is a way to a NATS that can be cut.
type cuttable struct {
	url string

	mu    sync.Mutex
	conns []net.Conn // nil while nothing passes
	gone  bool
}

func newCuttable(t *testing.T, nats string) *cuttable {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cuttable{url: "nats://" + ln.Addr().String()}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(nats, "nats://"))
			c.mu.Lock()
			if c.gone || err != nil {
				near.Close()
			} else {
				c.conns = append(c.conns, near, far)
				go io.Copy(near, far)
				go io.Copy(far, near)
			}
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *cuttable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, conn := range c.conns {
		conn.Close()
	}
}
