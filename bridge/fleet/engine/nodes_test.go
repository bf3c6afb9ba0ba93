package engine

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"
)

func ids(nodes []Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.ID)
	}
	return all
}

func listed(want ...string) func([]Node) bool {
	return func(nodes []Node) bool { return slices.Equal(ids(nodes), want) }
}

func announce(t *testing.T, e *Engine, n Node) {
	t.Helper()
	if err := e.Announce(n); err != nil {
		t.Fatal(err)
	}
}

func TestNodesComeAndGo(t *testing.T) {
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "a"), openUp(t, s.ClientURL(), "b.example.com")
	announce(t, a, Node{Address: "10.0.0.1:80"})
	until(t, "a", b.OnNodes, listed("a"))
	announce(t, b, Node{Address: "10.0.0.2:80", Version: "1", Extra: json.RawMessage(`{"draining":true}`)})
	nodes := until(t, "both", a.OnNodes, listed("a", "b.example.com"))
	if n := nodes[1]; n.Epoch != b.Epoch() || n.Address != "10.0.0.2:80" || n.Version != "1" || string(n.Extra) != `{"draining":true}` {
		t.Errorf("node %+v", n)
	}
	if alive, err := a.Alive(t.Context(), "b.example.com", b.Epoch()); !alive || err != nil {
		t.Errorf("alive %v, %v", alive, err)
	}
	if alive, err := a.Alive(t.Context(), "b.example.com", b.Epoch()-1); alive || err != nil {
		t.Errorf("an earlier start is alive: %v, %v", alive, err)
	}
	if err := b.Announce(Node{Extra: json.RawMessage(`{`)}); err == nil {
		t.Error("half an object was announced")
	}
	b.Close()
	until(t, "a alone", a.OnNodes, listed("a"))
	if alive, err := a.Alive(t.Context(), "b.example.com", b.Epoch()); alive || err != nil {
		t.Errorf("a node that left is alive: %v, %v", alive, err)
	}
}

func TestKilledNode(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	a, b := openUp(t, s.ClientURL(), "a"), openUp(t, p.url(), "b")
	announce(t, a, Node{})
	announce(t, b, Node{})
	until(t, "both", a.OnNodes, listed("a", "b"))
	p.cut()
	until(t, "down", b.OnUp, func(up bool) bool { return !up })
	if alive, err := a.Alive(t.Context(), "b", b.Epoch()); alive || err != nil {
		t.Errorf("alive %v, %v", alive, err)
	}
	if _, err := b.Alive(t.Context(), "a", a.Epoch()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	until(t, "a alone", a.OnNodes, listed("a"))
	p.restore()
	until(t, "both again", b.OnNodes, listed("a", "b"))
	until(t, "both again", a.OnNodes, listed("a", "b"))
}

func TestEpochGrows(t *testing.T) {
	s := startServer(t)
	last := uint64(0)
	for range 3 {
		e := openUp(t, s.ClientURL(), "a")
		if e.Epoch() <= last {
			t.Errorf("epoch %d after %d", e.Epoch(), last)
		}
		last = e.Epoch() + 1e9 // as if the clock was set back
		if _, err := e.Bucket("epoch", 0).Put(t.Context(), "a", strconv.AppendUint(nil, last, 10), 0); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
}

func TestSameNodeTwice(t *testing.T) {
	s := startServer(t)
	first := openUp(t, s.ClientURL(), "a")
	announce(t, first, Node{Address: "1"})
	until(t, "the first", first.OnNodes, listed("a"))
	second := openUp(t, s.ClientURL(), "a")
	announce(t, second, Node{Address: "2"})
	until(t, "the first is down", first.OnUp, func(up bool) bool { return !up })
	if !first.Superseded() || second.Superseded() {
		t.Errorf("superseded: the first %t, the second %t", first.Superseded(), second.Superseded())
	}
	until(t, "the second", second.OnNodes, func(n []Node) bool { return len(n) == 1 && n[0].Address == "2" })
	first.Close()
	if n := second.Nodes(); len(n) != 1 || n[0].Address != "2" {
		t.Errorf("nodes %+v", n)
	}
}
