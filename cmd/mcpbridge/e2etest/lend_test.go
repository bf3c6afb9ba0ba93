package e2etest

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A source that is lent over a link which its lender has opened keeps the contract.
func TestLent(t *testing.T) {
	sourcetest.Contract{Legacy: true}.Run(t, func(t *testing.T) bridge.Source {
		hub, at := newHub(t)
		lend(t, hub, at, sourcetest.NewFake())
		return dial(t, lentConfig(hub))
	})
}

// A call that is under way when the link is lost has an answer, which says that it may have run, and later ones
// say that they have not. When the link is back they run; none runs twice.
func TestLentAway(t *testing.T) {
	for _, modern := range []bool{false, true} {
		hub, at := newHub(t)
		var ran atomic.Int64
		began := make(chan struct{})
		count, err := bridge.Func("count", "Counts.", func(ctx context.Context, in struct{ Wait bool }) (string, error) {
			n := ran.Add(1)
			if in.Wait {
				close(began)
				<-ctx.Done()
			}
			return fmt.Sprint(n), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		source, err := bridge.NewNative(bridge.NativeOptions{}, count)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { source.Close() })
		end := lend(t, hub, at, source)
		changes := make(chan struct{}, 10)
		caller := &bridge.Caller{ID: "test", Modern: modern, Capabilities: []byte("{}"), Notify: func(method string, _ []byte) {
			if method == bridge.Tools.Changed() {
				changes <- struct{}{}
			}
		}}
		session, err := dial(t, lentConfig(hub)).Open(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		if _, err := session.List(t.Context(), bridge.Tools); err != nil {
			t.Fatal(err)
		}
		call := func(arguments string) bridge.Reply {
			params, _ := wire.SplitParams([]byte(`{"name":"count","arguments":` + arguments + `}`))
			return session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Target: "count", Params: &params})
		}
		lost := make(chan bridge.Reply)
		go func() { lost <- call(`{"Wait":true}`) }()
		select {
		case <-began:
		case reply := <-lost:
			t.Fatalf("modern=%t: %v %s", modern, reply.Err, reply.Result)
		}
		end()
		if e := (<-lost).Err; e == nil || e.Code != toolformat.Unavailable || e.NotRun {
			t.Errorf("modern=%t: in flight: %v", modern, e)
		}
		<-changes
		if e := call(`{"Wait":false}`).Err; e == nil || e.Code != toolformat.Unavailable || !e.NotRun || !strings.Contains(e.Message, "ann does not lend it now") {
			t.Errorf("modern=%t: away: %v", modern, e)
		}
		lend(t, hub, at, source)
		<-changes
		if reply := call(`{"Wait":false}`); reply.Err != nil || ran.Load() != 2 {
			t.Errorf("modern=%t: back: %v, ran %d times", modern, reply.Err, ran.Load())
		}
	}
}

// newHub returns a hub with one place, and its URL.
func newHub(t testing.TB) (*fleet.Hub, *url.URL) {
	hub := fleet.NewHub()
	hub.SetLenders(map[string]string{"upstream": "ann"})
	return hub, serveHub(t, hub)
}

// serveHub returns the URL of a hub, to which ann lends.
func serveHub(t testing.TB, hub *fleet.Hub) *url.URL {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub.Serve(w, r, "ann", slog.New(slog.DiscardHandler))
	}))
	t.Cleanup(func() {
		hub.Close()
		web.Close()
	})
	at, _ := url.Parse("ws" + strings.TrimPrefix(web.URL, "http"))
	return at
}

// lentConfig is the configuration of a client of what is lent to a hub.
func lentConfig(hub *fleet.Hub) mcpclient.Config {
	return mcpclient.Config{URL: "http://localhost/mcp", Via: func(string) (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
		return hub.Link("upstream", "ann")
	}}
}

// lend lends a source to a hub until end is called, or the test ends. It returns once it is lent.
func lend(t testing.TB, hub *fleet.Hub, at *url.URL, source bridge.Source) (end func()) {
	link := fleet.NewLender(fleet.LenderOptions{Hub: at, Token: func() (string, error) { return "x", nil }, Report: func(string, error) {}})
	server := mcpserver.New(source, mcpserver.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, link) }()
	end = sync.OnceFunc(func() {
		link.End()
		cancel()
		<-served
	})
	t.Cleanup(end)
	for {
		_, over, err := hub.Link("upstream", "ann")
		if err == nil {
			return end
		}
		<-over
	}
}
