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
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// cuts are proxies that can be cut: then what is sent waits, as where packets are lost.
type cuts []*sync.RWMutex // held while a proxy is cut, in the order in which they were made

// proxy returns the URL of a new proxy for another one.
func (c *cuts) proxy(t *testing.T, of string) string {
	u, _ := url.Parse(of)
	to := u.Host
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	gate := new(sync.RWMutex)
	*c = append(*c, gate)
	copy := func(to, from net.Conn) {
		defer to.Close()
		for b := make([]byte, 32<<10); ; {
			n, err := from.Read(b)
			gate.RLock()
			_, failed := to.Write(b[:n])
			gate.RUnlock()
			if err != nil || failed != nil {
				return
			}
		}
	}
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				gate.RLock()
				target, err := net.Dial("tcp", to)
				gate.RUnlock()
				if err != nil {
					from.Close()
					return
				}
				go copy(target, from)
				copy(from, target)
			}()
		}
	}()
	u.Host = ln.Addr().String()
	return u.String()
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
		name  string
		cut   []int
		stays bool // with its node
	}{
		{"from NATS alone", []int{firstNATS}, true},
		{"from all", []int{firstNATS, firstAddress, secondAddress}, false},
		{"all from NATS, and a new node is not", []int{firstNATS, secondNATS}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for range 5 {
				stood := standstill(t)
				unanswered := newCutFleet(t).cutOff(t, c.cut, c.stays)
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
func (f *cutFleet) cutOff(t *testing.T, cut []int, stays bool) (unanswered string) {
	for _, i := range cut {
		f.proxies[i].Lock()
	}
	heal := sync.OnceFunc(func() {
		for _, i := range cut {
			f.proxies[i].Unlock()
		}
	})
	defer heal()
	began := time.Now()
	var last, first [2]time.Duration // of the calls that each node has answered
	var refused [2]string
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
					refused[i] = fmt.Sprintf("node%d after %v: %d %s", i, now, status, body)
					return
				}
			}
		})
	}
	if slices.Contains(cut, secondNATS) {
		fleettest.Await(t, f.later, 0)
		node := startNode(t, f.later, "later", func(url string) string { return url }, noOptions, sourcetest.NewFake())
		for !over(began, true, nil) {
			if status, body := node.send(t, callEcho, f.headers); status != http.StatusServiceUnavailable {
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
			return cmp.Or(refused[0], refused[1])
		}
		if time.Now().After(end) {
			t.Fatalf("afterwards: %d, %d", a, b)
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
