package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// newHub returns a hub to which ann may lend the servers a and b, and bob c, and its URL. The token of a
// principal is its name.
func newHub(t *testing.T) (*fleet.Hub, *url.URL) {
	hub := fleet.NewHub()
	hub.SetLenders(map[string]string{"a": "ann", "b": "ann", "c": "bob"})
	return hub, serveHub(t, hub)
}

func serveHub(t *testing.T, hub *fleet.Hub) *url.URL {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub.Serve(w, r, strings.TrimSpace(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer")), slog.New(slog.DiscardHandler))
	}))
	t.Cleanup(func() {
		hub.Close()
		web.Close()
	})
	u, _ := url.Parse("ws" + strings.TrimPrefix(web.URL, "http"))
	return u
}

// report is a call of LenderOptions.Report.
type report struct {
	name   string
	reason error
}

// lend lends an HTTP server that answers with a text, and returns its link, the reports about that, and what
// Serve returns.
func lend(t *testing.T, at *url.URL, token, name, answer string) (*fleet.Lender, <-chan report, <-chan error) {
	reports := make(chan report, 10)
	link := fleet.NewLender(fleet.LenderOptions{
		Hub: at, Name: name, Token: func() (string, error) { return token, nil },
		Report: func(name string, reason error) { reports <- report{name, reason} },
	})
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })}
	served := make(chan error, 1)
	go func() {
		defer close(served)
		served <- web.Serve(link)
	}()
	t.Cleanup(func() {
		web.Close()
		link.End()
		<-served
	})
	return link, reports, served
}

// get returns the answer to a request on a new connection.
func get(t *testing.T, dial func(context.Context) (net.Conn, error)) (string, error) {
	t.Helper()
	conn, err := dial(t.Context())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	r, _ := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err := r.Write(conn); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// await returns the way to a server when it is lent.
func await(t *testing.T, hub *fleet.Hub, server, lender string) (func(context.Context) (net.Conn, error), <-chan struct{}) {
	t.Helper()
	for {
		dial, over, err := hub.Link(server, lender)
		if err == nil {
			return dial, over
		}
		<-over
	}
}

// A server is reached over the link that its lender has opened, and no longer when that has ended.
func TestLend(t *testing.T) {
	sourcetest.NoLeaks(t)
	hub, at := newHub(t)
	if _, _, err := hub.Link("c", "bob"); err == nil || !strings.Contains(err.Error(), "bob does not lend it now") {
		t.Error(err)
	}
	link, reports, _ := lend(t, at, "bob", "", "from bob")
	dial, over := await(t, hub, "c", "bob")
	if r := <-reports; r.name != "c" || r.reason != nil {
		t.Errorf("%+v", r)
	}
	for range 3 {
		if got, err := get(t, dial); got != "from bob" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	link.End()
	<-over
	if _, err := get(t, dial); err == nil {
		t.Error("reached")
	}
	if _, _, err := hub.Link("c", "ann"); err == nil || !strings.Contains(err.Error(), "ann may not lend it") {
		t.Error(err)
	}
}

// A hub says why it refuses, and whoever was never let in does not try again.
func TestLendRefused(t *testing.T) {
	sourcetest.NoLeaks(t)
	_, at := newHub(t)
	for _, c := range []struct{ principal, name, says string }{
		{"carl", "", `no server in the hub's config has "lender": "carl"`},
		{"ann", "", "ann may lend these servers: a, b"},
		{"ann", "c", "ann may lend these servers: a, b"},
		{"", "a", "does not ask who somebody is"},
	} {
		link := fleet.NewLender(fleet.LenderOptions{
			Hub: at, Name: c.name, Token: func() (string, error) { return c.principal, nil },
			Report: func(string, error) { t.Error("reported") },
		})
		_, err := link.Accept()
		if refused := (*fleet.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.says) {
			t.Errorf("%q, %q: %v", c.principal, c.name, err)
		}
		link.End()
	}
}

// A hub that says nothing does not keep a lender from ending.
func TestLenderEnds(t *testing.T) {
	sourcetest.NoLeaks(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	link := fleet.NewLender(fleet.LenderOptions{
		Hub: &url.URL{Scheme: "ws", Host: silent.Addr().String()}, Token: func() (string, error) { return "bob", nil },
		Report: func(string, error) { t.Error("reported") },
	})
	c, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Read(make([]byte, 1)) // the beginning of the handshake
	begun := time.Now()
	link.End()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A second link of a server replaces the first, whose lender ends.
func TestLendReplaced(t *testing.T) {
	sourcetest.NoLeaks(t)
	hub, at := newHub(t)
	_, _, served := lend(t, at, "ann", "a", "first")
	_, over := await(t, hub, "a", "ann")
	lend(t, at, "ann", "a", "second")
	<-over
	dial, _ := await(t, hub, "a", "ann")
	if got, err := get(t, dial); got != "second" {
		t.Errorf("%q, %v", got, err)
	}
	err := <-served
	if refused := (*fleet.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "another") {
		t.Error(err)
	}
}

// Another config of the hub ends the links that it does not allow; the lender says so once, and is back
// when it is allowed again.
func TestLendersChange(t *testing.T) {
	sourcetest.NoLeaks(t)
	hub, at := newHub(t)
	_, reports, _ := lend(t, at, "ann", "a", "ann's")
	_, over := await(t, hub, "a", "ann")
	<-reports
	hub.SetLenders(map[string]string{"b": "ann"})
	<-over
	if r := <-reports; r.reason == nil || !strings.Contains(r.reason.Error(), "config of the hub has changed") {
		t.Errorf("%+v", r)
	}
	if r := <-reports; r.reason == nil || !strings.Contains(r.reason.Error(), "ann may lend these servers: b") {
		t.Errorf("%+v", r)
	}
	hub.SetLenders(map[string]string{"a": "ann"})
	dial, _ := await(t, hub, "a", "ann")
	if got, err := get(t, dial); got != "ann's" {
		t.Errorf("%q, %v", got, err)
	}
	if r := <-reports; r.name != "a" {
		t.Errorf("%+v", r)
	}
}

// A hub is not held up by a lender that reads nothing, and does not listen to one that opens streams.
func TestLenderHostile(t *testing.T) {
	sourcetest.NoLeaks(t)
	hub, at := newHub(t)
	link := func() *websocket.Conn {
		dialer := websocket.Dialer{Subprotocols: []string{"mcpbridge-lend.1"}}
		ws, _, err := dialer.Dial(at.JoinPath(fleet.LendPath).String()+"?name=a", http.Header{"Authorization": {"Bearer ann"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		return ws
	}
	silent := link()
	dial, over := await(t, hub, "a", "ann")
	first, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for range 40 { // their windows are more than the network takes
		writing.Go(func() {
			conn, err := dial(t.Context())
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Write(make([]byte, 1<<20))
		})
	}
	first.Close()
	silent.Close()
	writing.Wait()
	<-over
	opening := link()
	_, over = await(t, hub, "a", "ann")
	open := []byte{1, 0, 0, 0, 0, 0, 0, 2} // kind, length, stream
	if err := opening.WriteMessage(websocket.BinaryMessage, open); err != nil {
		t.Fatal(err)
	}
	<-over
}
