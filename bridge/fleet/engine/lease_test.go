package engine

import (
	"errors"
	"testing"
	"time"
)

func mine(h Holder) bool { return h.Mine }

// lasting has leases outlast the pauses of a busy machine.
func lasting(o *Options) { o.LeaseTTL = 6 * time.Second }

func TestLease(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	a, b := openUp(t, s.ClientURL(), "a", lasting), openUp(t, s.ClientURL(), "b", lasting)
	la := a.Lease("single.files")
	first := until(t, "a has it", la.OnHolder, mine)
	if token, held := la.Held(); !held || token != first.Token || first.Node != "a" || first.Epoch != a.Epoch() {
		t.Errorf("held %v, token %d, holder %+v", held, token, first)
	}
	lb := b.Lease("single.files")
	seen := until(t, "b sees a", lb.OnHolder, func(h Holder) bool { return h.Node == "a" })
	if _, held := lb.Held(); held || seen.Mine || seen.Token != first.Token || seen.Epoch != a.Epoch() {
		t.Errorf("b: held %v, holder %+v", held, seen)
	}
	la.Close()
	if _, held := la.Held(); held {
		t.Error("held after Close")
	}
	second := until(t, "b has it", lb.OnHolder, mine)
	if second.Token <= first.Token {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	b.Close() // leaves it too
	third := until(t, "a has it again", a.Lease("single.files").OnHolder, mine)
	if third.Token <= second.Token {
		t.Errorf("token %d after %d", third.Token, second.Token)
	}
}

// TestLeaseOfCutNode has a node that holds a lease lose the server, and find it again.
func TestLeaseOfCutNode(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := startProxy(t, s)
	a, b := openUp(t, p.url(), "a"), openUp(t, s.ClientURL(), "b")
	la := a.Lease("x")
	first := until(t, "a has it", la.OnHolder, mine)
	lb := b.Lease("x")
	both := func(h Holder) {
		if _, held := la.Held(); held && h.Mine {
			t.Errorf("both have it: %+v", h)
		}
	}
	defer lb.OnHolder(both)()
	p.cut()
	until(t, "a has lost it", la.OnHolder, func(h Holder) bool { return !h.Mine })
	second := until(t, "b has it", lb.OnHolder, mine)
	if second.Token <= first.Token {
		t.Errorf("token %d after %d", second.Token, first.Token)
	}
	p.restore()
	if h := until(t, "a sees b", la.OnHolder, func(h Holder) bool { return h.Node == "b" }); h.Mine {
		t.Errorf("holder %+v", h)
	}
}

// TestLeaseInCluster kills the server of the node that has the lease, of three.
func TestLeaseInCluster(t *testing.T) {
	all := startCluster(t)
	var leases []*Lease
	for i, s := range all {
		e := openUp(t, s.ClientURL(), string(rune('a'+i)), func(o *Options) { o.URL = s.ClientURL() })
		leases = append(leases, e.Lease("x"))
	}
	first := until(t, "one has it", leases[0].OnHolder, func(h Holder) bool { return h.Node != "" })
	holder := int(first.Node[0] - 'a')
	stopServer(all[holder])
	next := leases[(holder+1)%3]
	// The holder's node finds another server by itself, so that it may keep the lease.
	h := until(t, "one has it", next.OnHolder, func(h Holder) bool { return h.Node != "" })
	if h.Token < first.Token {
		t.Errorf("holder %+v after %+v", h, first)
	}
	b := leases[(holder+2)%3].bucket
	for end := time.Now().Add(patience); ; { // a write opens the stream, if that has not been done yet
		_, err := b.Put(t.Context(), "y", []byte("1"), 0)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrUnavailable) || time.Now().After(end) { // the servers that are left may still elect a leader
			t.Fatal(err)
		}
	}
	if r := b.stream.CachedInfo().Config.Replicas; r != 3 {
		t.Errorf("%d replicas", r)
	}
}

func TestTermEndsByBothClocks(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		until time.Time
		want  bool
	}{
		{now.Add(time.Second), true},
		{now.Add(-time.Second), false},
		{now.Add(time.Second).Round(0), true},
		{now.Add(-time.Second).Round(0), false},
	} {
		if got := (&term{until: c.until}).lasts(now); got != c.want {
			t.Errorf("until %v at %v: %v", c.until, now, got)
		}
	}
}
