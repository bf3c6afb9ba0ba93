package fleet

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A link that is being opened to a node that says nothing ends when the node is known to be gone.
func TestPeerGone(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	n := &Node{opts: Options{Name: "a", Log: slog.New(slog.DiscardHandler)}, ctx: t.Context(), peers: map[string]*peer{}}
	gone := run{"b", 1}
	p, failure := n.peerAt(gone, "http://"+silent.Addr().String())
	if failure != nil {
		t.Fatal(failure)
	}
	opened := make(chan struct{})
	p.opening = opened
	go p.open()
	c, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Read(make([]byte, 1)) // the beginning of the handshake
	n.forget(nil)
	<-opened
	p.mu.Lock()
	defer p.mu.Unlock()
	if late, ok := p.failed.(net.Error); p.failed == nil || ok && late.Timeout() {
		t.Errorf("the link has failed with %v", p.failed)
	}
	if len(n.peers) > 0 {
		t.Error("the node is not forgotten")
	}
}

// A request waits for a link for a moment only, however long it takes to open.
func TestPeerLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{node: &Node{ctx: t.Context()}, opening: make(chan struct{})}
		begun := time.Now()
		if _, _, err := p.connect(context.Background(), ""); err != errLinkTime || time.Since(begun) != linkTime {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
