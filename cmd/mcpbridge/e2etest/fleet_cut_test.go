package e2etest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// cuts are proxies that can be cut, in the order in which they were made.
type cuts []*cut

// cut is a proxy. While it is locked, what is sent waits, as where packets are lost.
type cut struct {
	sync.RWMutex
	at, to string // addresses

	mu    sync.Mutex // guards the fields below
	ln    net.Listener
	conns map[net.Conn]struct{}
}

// proxy returns the URL of a new proxy for another one.
func (c *cuts) proxy(t *testing.T, of string) string {
	u, _ := url.Parse(of)
	p := &cut{at: "127.0.0.1:0", to: u.Host, conns: map[net.Conn]struct{}{}}
	p.open(t)
	t.Cleanup(p.refuse)
	*c = append(*c, p)
	u.Host = p.at
	return u.String()
}

// open begins to accept connections.
func (p *cut) open(t *testing.T) {
	ln, err := net.Listen("tcp", p.at)
	if err != nil {
		t.Error(err)
		return
	}
	p.at, p.ln = ln.Addr().String(), ln
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go p.serve(from)
		}
	}()
}

// refuse resets all connections, and refuses others until open, as a firewall does.
func (p *cut) refuse() {
	p.ln.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func (p *cut) serve(from net.Conn) {
	p.RLock()
	to, err := net.Dial("tcp", p.to)
	p.RUnlock()
	if err != nil {
		from.Close()
		return
	}
	p.mu.Lock()
	p.conns[from], p.conns[to] = struct{}{}, struct{}{}
	p.mu.Unlock()
	go p.copy(to, from)
	p.copy(from, to)
}

func (p *cut) copy(to, from net.Conn) {
	defer func() {
		to.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, to)
	}()
	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)
		p.RLock()
		_, failed := to.Write(b[:n])
		p.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// The proxies of the first node, and of the second one.
const (
	firstNATS = iota
	firstAddress
	secondNATS
	secondAddress
)

// A session has one owner at a time, whatever is cut off from whom, and for how long.
func TestCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what expires")
	}
	for _, c := range []struct {
		name    string
		cut     []int
		refused bool // not lost
		stays   bool // with its node
	}{
		{"from NATS alone", []int{firstNATS}, false, true},
		{"from all", []int{firstNATS, firstAddress, secondAddress}, false, false},
		{"from all by a firewall", []int{firstNATS, firstAddress, secondAddress}, true, false},
		{"all from NATS, and a new node is not", []int{firstNATS, secondNATS}, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				stood := standstill(t)
				unanswered := newCutFleet(t).cutOff(t, c.cut, c.refused, c.stays)
				longest := stood()
				if unanswered == "" {
					return
				}
				if longest < 200*time.Millisecond { // else the term of a node may have ended
					t.Fatal(unanswered)
				}
				t.Logf("%s: the machine stood still for %v", unanswered, longest)
			}
			t.Error("the machine has stood still each time")
		})
	}
}

// standstill returns a function that says for how long the test could not run meanwhile, at most.
func standstill(t *testing.T) (longest func() time.Duration) {
	const tick = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	found := make(chan time.Duration, 1)
	go func() {
		ticker, last, most := time.NewTicker(tick), time.Now(), time.Duration(0)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				now := time.Now()
				last, most = now, max(most, now.Sub(last)-tick)
			case <-ctx.Done():
				found <- most
				return
			}
		}
	}()
	return func() time.Duration {
		cancel()
		return <-found
	}
}

// cutOff has the nodes called while some proxies are cut, and then not. It returns what was not answered then though
// the session stays with its node, "" for nothing.
func (f *cutFleet) cutOff(t *testing.T, cut []int, refused, stays bool) (unanswered string) {
	heal := f.cut(t, cut, refused)
	defer heal()
	began := time.Now()
	var last, first [2]time.Duration // of the calls that each node has answered
	var unserved [2]string
	var calling sync.WaitGroup
	taken := make(chan struct{})
	for i, node := range f.nodes {
		calling.Go(func() {
			for !over(began, stays, taken) {
				status, body := node.send(t, callEcho, f.headers)
				switch now := time.Since(began); {
				case status == http.StatusOK:
					if last[i] = now; first[i] == 0 {
						first[i] = now
						if i == 1 {
							close(taken)
						}
					}
				case status != http.StatusServiceUnavailable:
					t.Errorf("node%d after %v: %d %s", i, now, status, body)
					return
				case stays:
					unserved[i] = fmt.Sprintf("node%d after %v: %d %s", i, now, status, body)
					return
				}
			}
		})
	}
	if slices.Contains(cut, secondNATS) {
		fleettest.Await(t, f.later, 0)
		node := startNode(t, f.later, "later", func(url string) string { return url }, noOptions, bridge.Wrap(sourcetest.NewFake(), func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
			return uncalled{below, t}, nil
		}))
		for !over(began, true, nil) { // it knows the others by their claims
			if status, body := node.send(t, callEcho, f.headers); status != http.StatusServiceUnavailable && status != http.StatusOK {
				t.Errorf("the new node: %d %s", status, body)
				break
			}
		}
	}
	calling.Wait()
	if !stays && (last[0] == 0 || first[1] == 0 || last[0] >= first[1]) {
		t.Errorf("node0 has answered until %v, node1 from %v", last[0], first[1])
	}
	heal()
	for end := time.Now().Add(patience); ; { // and then both again
		a, _ := f.nodes[0].send(t, callEcho, f.headers)
		b, _ := f.nodes[1].send(t, callEcho, f.headers)
		if a == http.StatusOK && b == http.StatusOK {
			return cmp.Or(unserved[0], unserved[1])
		}
		if time.Now().After(end) {
			t.Fatalf("afterwards: %d, %d", a, b)
		}
	}
}

// uncalled is a session of a node that has no session of its clients.
type uncalled struct {
	bridge.Session
	t *testing.T
}

func (u uncalled) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall {
		u.t.Error("the new node has gone on with the session")
	}
	return u.Session.Do(ctx, req)
}

// cut cuts some proxies, until heal is called.
func (f *cutFleet) cut(t *testing.T, cut []int, refused bool) (heal func()) {
	for _, i := range cut {
		if refused {
			f.proxies[i].refuse()
		} else {
			f.proxies[i].Lock()
		}
	}
	return sync.OnceFunc(func() {
		for _, i := range cut {
			if refused {
				f.proxies[i].open(t)
			} else {
				f.proxies[i].Unlock()
			}
		}
	})
}

// Two nodes between which a firewall stands, and which both reach NATS, keep their sessions: at the other one, their
// clients are to try again.
func TestFirewall(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what would expire")
	}
	t.Parallel()
	f := newCutFleet(t)
	bound := map[string]string{"Mcp-Session-Id": f.nodes[0].begin(t), "Idempotency-Key": "k"}
	if status, body := f.nodes[0].send(t, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`, bound); status != http.StatusOK {
		t.Fatal(status, body)
	}
	heal := f.cut(t, []int{firstAddress, secondAddress}, true)
	defer heal()
	for began := time.Now(); time.Since(began) < 10*time.Second; { // longer than for what expires without NATS
		for _, session := range []map[string]string{f.headers, bound} {
			if status, body := f.nodes[1].send(t, callEcho, session); status != http.StatusServiceUnavailable {
				t.Fatalf("at the other node: %d %s", status, body)
			}
			if status, body := f.nodes[0].persist(t, callEcho, session); status != http.StatusOK {
				t.Fatalf("at its own: %d %s", status, body)
			}
		}
	}
	heal()
	for _, session := range []map[string]string{f.headers, bound} {
		if status, body := f.nodes[1].persist(t, callEcho, session); status != http.StatusOK {
			t.Errorf("afterwards: %d %s", status, body)
		}
	}
}

// over reports whether the nodes have been called for long enough: until a session has been taken that does not stay.
func over(began time.Time, stays bool, taken <-chan struct{}) bool {
	took := time.Since(began)
	if took < 16*time.Second {
		return false
	}
	select {
	case <-taken:
		return true
	default:
		return stays || took >= patience
	}
}

func noOptions(*fleetNode) mcpserver.Options { return mcpserver.Options{} }

// cutFleet is two nodes behind proxies, of which the first one has a session, and the engine of a node to come.
type cutFleet struct {
	proxies cuts
	nodes   []*fleetNode
	later   *engine.Engine
	headers map[string]string // of calls of the session, which no guest answers
}

func newCutFleet(t *testing.T) *cutFleet {
	f, nats := &cutFleet{}, ""
	at := func(url string) string {
		if nats == "" {
			nats = url
		}
		return f.proxies.proxy(t, url)
	}
	f.nodes = nodesAt(t, at, noOptions, sourcetest.NewFake(), bridge.Source(sourcetest.NewFake()))
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	f.headers = map[string]string{"Mcp-Session-Id": f.nodes[0].begin(t), "Idempotency-Key": "k"}
	f.later = fleettest.Engine(t, nats, "later")
	fleettest.Await(t, f.later, 2)
	return f
}
