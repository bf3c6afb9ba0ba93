package fleet_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
)

// post forwards a request, and returns the answer.
func (p pair) post(ctx context.Context, key, body string) (answer string, err error) {
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
	_, err = p.from.Forward(w, r, p.to.Addr().String(), key)
	return w.Body.String(), err
}

// A request that is alone goes over the direct connection, which is opened again when it is lost, and others over the
// link. The end of a client's request cancels it on either.
func TestForwardDirect(t *testing.T) {
	sourcetest.NoLeaks(t)
	begun, canceled := make(chan string), make(chan bool)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "wait" {
			begun <- r.RemoteAddr
			<-r.Context().Done()
			canceled <- true
		}
		io.WriteString(w, r.RemoteAddr)
	})
	for range 2 {
		link, err := p.post(t.Context(), "key", "")
		for err != nil { // what was under way when the connections were cut
			link, err = p.post(t.Context(), "key", "")
		}
		direct := link
		eventually(t, func() bool {
			direct, err = p.post(t.Context(), "key", "")
			return err != nil || direct != link
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan bool)
		for i, want := range []string{direct, link, link} {
			go func() {
				p.post(ctx, "key", "wait")
				done <- true
			}()
			if at := <-begun; at != want {
				t.Errorf("request %d came over %s; direct is %s", i, at, direct)
			}
		}
		cancel()
		for range 3 {
			<-canceled
			<-done
		}
		p.cut()
	}
}

// A request whose answer may be a stream, as that of a GET, does not take the direct connection.
func TestForwardDirectStream(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	link, err := p.post(t.Context(), "key", "")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		direct, err := p.post(t.Context(), "key", "")
		return err == nil && direct != link
	})
	if _, at := p.forward(t, http.MethodGet, ""); at != link {
		t.Error("a GET came over the direct connection")
	}
}

// brokenWriter takes no answer.
type brokenWriter struct{ http.ResponseWriter }

func (brokenWriter) WriteHeader(int) { panic(http.ErrAbortHandler) }

// A connection whose answer is not taken is given up, so that another one is opened.
func TestForwardNotTaken(t *testing.T) {
	sourcetest.NoLeaks(t)
	p := newPair(t, fleettest.Keys(t), fleettest.Keys(t), func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	link, err := p.post(t.Context(), "key", "")
	if err != nil {
		t.Fatal(err)
	}
	isDirect := func() bool {
		direct, err := p.post(t.Context(), "key", "")
		return err == nil && direct != link
	}
	eventually(t, isDirect)
	func() {
		defer func() { recover() }()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		p.from.Forward(brokenWriter{httptest.NewRecorder()}, r, p.to.Addr().String(), "key")
		t.Error("the answer was taken")
	}()
	eventually(t, isDirect)
}
