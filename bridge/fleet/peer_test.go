package fleet

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/internal/mux"
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

// The direct connection is for requests of one key while others have a stream, is used no more when nothing has been sent
// on it for long, and is not opened to a node that accepts none.
func TestPeerDirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		x := newExchange(near, &mux.Mux{})
		x.idle = time.Now()
		p := &peer{link: x.link, idle: map[string][]*exchange{"b": {nil}}, direct: directConn{x: x}}
		if p.takeDirect("a") != nil {
			t.Error("none is accepted")
		}
		p.direct.accepted = true
		for i, step := range []struct {
			key  string
			free time.Duration // before
			want *exchange
		}{{"a", 0, x}, {"b", 0, nil}, {"c", 0, x}, {"b", directKept + 1, x}, {"b", directTime, x}, {"a", directTime + 1, nil}} {
			time.Sleep(step.free)
			got := p.takeDirect(step.key)
			if got != step.want {
				t.Errorf("step %d: %v", i, got)
			}
			if got != nil {
				if p.takeDirect(step.key) != nil {
					t.Errorf("step %d: taken twice", i)
				}
				p.put(got, step.key)
			}
		}
		if _, err := far.Read(make([]byte, 1)); err == nil || p.direct.x != nil {
			t.Error("it is still open")
		}
	})
}
