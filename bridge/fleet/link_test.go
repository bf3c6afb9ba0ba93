package fleet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// pair is two nodes of which the second one answers with a handler.
type pair struct {
	from, to *fleet.Node
	url      string // of to
	epoch    uint64 // of to
	cut      func() // the links
}

func newPair(t testing.TB, from, to *fleet.Keys, handler http.HandlerFunc) pair {
	nats := fleettest.NATS(t)
	var p pair
	var mu sync.Mutex
	var links []net.Conn
	p.cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range links {
			c.Close()
		}
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.to.ServeHTTP(w, r) }))
	web.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateHijacked {
			links = append(links, c)
		}
	}
	web.Start()
	t.Cleanup(web.Close)
	p.url = web.URL
	p.to = newNode(t, nats, to, "b", web.URL)
	inner := &http.Server{Handler: handler}
	go inner.Serve(p.to)
	t.Cleanup(func() { inner.Close() })
	e := fleettest.Engine(t, nats, "a")
	e.Announce(engine.Node{})
	p.from = fleet.New(fleet.Options{Keys: from, Engine: e, Name: "a"})
	t.Cleanup(func() { p.from.Close() })
	fleettest.Await(t, e, 2)
	p.epoch = e.Nodes()[1].Epoch
	return p
}

// forward returns the status and body with which a node answers, by another one.
func (p pair) forward(t *testing.T, method, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), method, "/mcp?x=1", strings.NewReader(body))
	r.Header.Set("Name", "value")
	if _, err := p.from.Forward(w, r, p.to.Addr().String(), "key"); err != nil {
		t.Fatal(err)
	}
	return w.Code, w.Body.String()
}

// Requests arrive as they were sent, one after the other and at once, and so do their answers.
func TestForward(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t, other, secret), func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Host+" "+r.Header.Get("Name")+" "+string(body))
	})
	large := strings.Repeat("x", 3<<20)
	for _, body := range []string{"", "1", large, "2"} {
		status, got := p.forward(t, http.MethodPost, body)
		if want := "POST /mcp?x=1 example.com value " + body; status != http.StatusTeapot || got != want {
			t.Fatalf("%d %.100q of %d bytes, want %.100q of %d", status, got, len(got), want, len(want))
		}
	}
	done := make(chan bool)
	for range 50 {
		go func() {
			_, got := p.forward(t, http.MethodGet, "")
			done <- got == "GET /mcp?x=1 example.com value "
		}()
	}
	for range 50 {
		if !<-done {
			t.Error("another answer")
		}
	}
}

// A node may answer before it has read the whole request, which is more than it reads then.
func TestForwardEarlyAnswer(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not now", http.StatusServiceUnavailable)
	})
	for range 2 {
		if status, got := p.forward(t, http.MethodPost, strings.Repeat("x", 3<<20)); status != http.StatusServiceUnavailable || got != "not now\n" {
			t.Errorf("%d %q", status, got)
		}
	}
}

// Each part of an answer arrives when it is sent, and the end of the client's request cancels it.
func TestForwardStreams(t *testing.T) {
	sourcetest.NoLeaks(t)
	next, canceled := make(chan bool), make(chan bool)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) {
		for range next {
			io.WriteString(w, "part")
			http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		close(canceled)
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.from.Forward(w, r, p.to.Addr().String(), "") }))
	defer web.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
	go func() { next <- true }()
	resp, err := web.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	part := make([]byte, 4)
	for i := range 3 {
		if i > 0 {
			next <- true
		}
		if _, err := io.ReadFull(resp.Body, part); err != nil || string(part) != "part" {
			t.Fatalf("%q, %v", part, err)
		}
	}
	close(next)
	cancel()
	<-canceled
}

// Without the cluster's secret nobody has a link, in either direction, and a run that has ended is told from
// one that cannot be reached.
func TestForwardRefused(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t, other), fleettest.Keys(t), func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	if _, err := fleet.Dial(t.Context(), p.from, "b", p.epoch); err == nil || !strings.Contains(err.Error(), "another secret than this one (cluster.secrets)") {
		t.Error(err)
	}
	begun := "c." + strconv.FormatInt(time.Now().UnixMilli(), 36)
	for run, want := range map[string]toolformat.Code{
		p.to.Addr().String(): toolformat.Unavailable, "b.1": toolformat.NotFound, "c.1": toolformat.NotFound, "c": toolformat.NotFound, begun: toolformat.Unavailable,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
		sent, err := p.from.Forward(w, r, run, "")
		if refused := (*toolformat.Error)(nil); sent || !errors.As(err, &refused) || refused.Code != want {
			t.Errorf("%s: sent %t, %v; want %v", run, sent, err, want)
		}
	}
}

// A node whose current secret another one does not have learns that before it sends anything there.
func TestForwardNewSecret(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t, other, secret), fleettest.Keys(t), func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	if _, err := fleet.Dial(t.Context(), p.from, "b", p.epoch); err == nil || !strings.Contains(err.Error(), "refuses this one, as of another secret (cluster.secrets)") {
		t.Error(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
	if sent, err := p.from.Forward(w, r, p.to.Addr().String(), ""); sent || err == nil {
		t.Errorf("sent %t, %v", sent, err)
	}
}

// An answer that opens no link is told, and what was expected.
func TestForwardOtherVersion(t *testing.T) {
	sourcetest.NoLeaks(t)
	later := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "upgrade the older one", http.StatusBadRequest)
	}))
	defer later.Close()
	nats := fleettest.NATS(t)
	newNode(t, nats, fleettest.Keys(t), "b", later.URL)
	e := fleettest.Engine(t, nats, "a")
	e.Announce(engine.Node{})
	from := fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: e, Name: "a"})
	defer from.Close()
	fleettest.Await(t, e, 2)
	const want = "expected a node that speaks mcpbridge-peer.1 (is its cluster.address right, and its version that of this one?), got HTTP 400 Bad Request: upgrade the older one"
	if _, err := fleet.Dial(t.Context(), from, "b", e.Nodes()[1].Epoch); err == nil || err.Error() != want {
		t.Error(err)
	}
}

// A link that is lost at once is opened again at once.
func TestForwardAgain(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "text") })
	for range 3 {
		for { // the first may find that the link is lost
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
			if _, err := p.from.Forward(w, r, p.to.Addr().String(), ""); err == nil {
				break
			}
		}
		p.cut()
	}
}

// Those who begin links and say nothing hold up no node, and one that speaks another protocol is refused.
func TestForwardStrangers(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "text") })
	at, run := "ws"+strings.TrimPrefix(p.url, "http")+"/peer", http.Header{"Mcpbridge-Run": {p.to.Addr().String()}}
	if _, resp, err := websocket.DefaultDialer.Dial(at, run); err == nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a protocol: %v", err)
	}
	dialer := websocket.Dialer{Subprotocols: []string{"mcpbridge-peer.1"}}
	var first *websocket.Conn
	for range 65 {
		silent, _, err := dialer.Dial(at, run)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		if first == nil {
			first = silent
		}
	}
	if _, got := p.forward(t, http.MethodGet, ""); got != "text" {
		t.Errorf("%q", got)
	}
	if _, _, err := first.NextReader(); err == nil { // the one for which there was no room any more
		t.Error("a stranger is heard")
	}
}

// A client has the header of a stream before there is anything in it.
func TestForwardHeader(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Name", "value")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.from.Forward(w, r, p.to.Addr().String(), "") }))
	defer web.Close()
	resp, err := web.Client().Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Name"); got != "value" {
		t.Errorf("%q", got)
	}
}
