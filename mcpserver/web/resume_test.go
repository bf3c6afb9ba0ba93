package web_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/mcpserver/web"
)

// frail is a listener whose connections can be cut.
type frail struct {
	net.Listener

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

func (f *frail) Accept() (net.Conn, error) {
	c, err := f.Listener.Accept()
	if err == nil {
		f.mu.Lock()
		f.conns[c] = true
		f.mu.Unlock()
	}
	return c, err
}

// cut closes the connections from all other clients than that of a request.
func (f *frail) cut(_ http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		if c.RemoteAddr().String() != r.RemoteAddr {
			c.Close()
			delete(f.conns, c)
		}
	}
}

// A module whose connections are lost settles each call once, and what it lends is lent again.
func TestResume(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			fake := frailNode(t, "resume.mjs", era)
			if n := fake.Calls("wait"); n != 2 { // two calls
				t.Errorf("wait ran %d times", n)
			}
		})
	}
}

// A module misses no change after connect and watchResource have returned, and none while its connection was lost.
func TestListen(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) { frailNode(t, "listen.mjs", era) })
	}
}

// A prompt that the bridge does not get is not sent without end, and one whose decision it does not get is canceled.
func TestLong(t *testing.T) { node(t, "long.mjs") }

// Nothing is followed that is over before it begins.
func TestOver(t *testing.T) { node(t, "over.mjs") }

// What the page asks a person for a call ends with the call.
func TestAsk(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) { frailNode(t, "ask.mjs", era) })
	}
}

// asking is a session of which the tool log asks the caller first.
type asking struct{ bridge.Session }

func (a asking) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodToolsCall && req.Target == "log" {
		if _, err := req.Back.Ask(ctx, wire.MethodElicit, []byte(`{"message":"May it?","requestedSchema":{"type":"object","properties":{}}}`)); err != nil {
			return bridge.Failed(err)
		}
	}
	return a.Session.Do(ctx, req)
}

// frailNode runs a script at a server whose GET /cut cuts connections, and which clients lend tools to.
func frailNode(t *testing.T, script, era string) *sourcetest.Fake {
	t.Helper()
	lending, fake := web.NewLending(), sourcetest.NewFake()
	source := bridge.Wrap(fake, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) { return asking{below}, nil })
	s := mcpserver.New(lending.Wrap(source, bridge.OverlayOptions{}), mcpserver.Options{Lend: lending.Join})
	mux := http.NewServeMux()
	h := httptest.NewUnstartedServer(mux)
	f := &frail{Listener: h.Listener, conns: map[net.Conn]bool{}}
	mux.HandleFunc("/cut", f.cut)
	mux.Handle("/", s.Handler())
	h.Listener = f
	h.Start()
	t.Cleanup(func() {
		s.Close()
		h.Close()
	})
	node(t, script, h.URL, era)
	s.Close()
	lending.CheckLeftover(t)
	return fake
}

// Each call of a tool that many pages lend is answered once, while these come and go.
func TestStorm(t *testing.T) {
	pages, calls := "20", "1000"
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		pages, calls = "100", "10000"
	}
	lending := web.NewLending()
	s := mcpserver.New(lending.Wrap(sourcetest.NewFake(), bridge.OverlayOptions{}), mcpserver.Options{Lend: lending.Join})
	h := httptest.NewServer(s.Handler())
	t.Cleanup(h.Close)
	node(t, "storm.mjs", h.URL, pages, calls)
	s.Close()
	lending.CheckLeftover(t)
}
