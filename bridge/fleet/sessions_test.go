package fleet_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

const (
	kept    = 6 * time.Second // before others end a claim
	forever = time.Hour
)

// member is a node with its engine.
type member struct {
	*fleet.Node
	engine *engine.Engine
}

// newMember returns a node, which has its sessions.
func newMember(t *testing.T, nats, name, address string) member {
	e := fleettest.Engine(t, nats, name)
	e.Announce(engine.Node{Address: address})
	m := member{fleet.New(fleet.Options{Keys: fleettest.Keys(t), Engine: e, Name: name}), e}
	t.Cleanup(func() { m.Close() })
	eventually(t, func() bool { _, left := m.Term(); return left > 0 })
	return m
}

func (m member) run() string { return m.Addr().String() }

// refusing returns an address at which nobody listens.
func refusing(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	return "http://" + ln.Addr().String()
}

// eventually waits until something is so.
func eventually(t *testing.T, is func() bool) {
	t.Helper()
	poll, limit := time.NewTicker(time.Millisecond), time.NewTimer(time.Minute)
	defer poll.Stop()
	defer limit.Stop()
	for !is() {
		select {
		case <-poll.C:
		case <-limit.C:
			t.Fatal("not within a minute")
		}
	}
}

// claimOf returns what NATS has of a run.
func (m member) claimOf(t *testing.T, run string) engine.Entry {
	t.Helper()
	e, err := m.engine.Bucket("claims", forever).Get(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// claims waits until the claim of each node names so many.
func claims(t *testing.T, members ...member) {
	t.Helper()
	for _, m := range members {
		fleettest.Await(t, m.engine, len(members))
		eventually(t, func() bool {
			value := string(m.claimOf(t, m.run()).Value)
			for _, other := range members {
				if !strings.Contains(value, other.run()) {
					return false
				}
			}
			return true
		})
	}
}

// code returns the code of an error, "" without one.
func code(err error) string {
	if err == nil {
		return ""
	}
	return toolformat.AsError(err).Code.String()
}

// A session that is bound to a node which cannot be reached from here is not lost as long as the node is there.
func TestBoundUnreachable(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what expires")
	}
	nats := fleettest.NATS(t)
	a, b := newMember(t, nats, "a", refusing(t)), newMember(t, nats, "b", "")
	claims(t, a, b)
	id := a.Seal("session", nil)
	if err := a.Bind(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	lost := func() bool {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
		_, unsent := b.Forward(w, r, a.run(), id)
		_, err := b.Adopt(t.Context(), id, a.run(), always)
		return code(unsent) == "not_found" || code(err) == "not_found"
	}
	for range 3 {
		if lost() {
			t.Fatal("lost while its node is there")
		}
	}
	a.engine.Close() // as if killed
	written := b.claimOf(t, a.run()).Written
	eventually(t, lost)
	if took := time.Since(written); took < kept {
		t.Errorf("lost %v after its node was last there", took)
	}
}

func always() bool { return true }
func never() bool  { return false }

// What takes no more room on NATS needs no leave: a session that has moved before.
func TestAdoptLeave(t *testing.T) {
	nats := fleettest.NATS(t)
	a, b, c := newMember(t, nats, "a", ""), newMember(t, nats, "b", ""), newMember(t, nats, "c", "")
	claims(t, a, b, c)
	id, sealer := a.Seal("session", nil), a.run()
	a.Close()
	if _, err := b.Adopt(t.Context(), id, sealer, never); code(err) != "not_found" {
		t.Errorf("without leave: %v", err)
	}
	if owner, err := b.Adopt(t.Context(), id, sealer, always); owner != "" || err != nil {
		t.Fatal(owner, err)
	}
	b.Close()
	if owner, err := c.Adopt(t.Context(), id, sealer, never); owner != "" || err != nil {
		t.Errorf("%q, %v of one that has moved before", owner, err)
	}
}

// A session that was bound by a node that has gone on with it is found there.
func TestBoundElsewhere(t *testing.T) {
	nats := fleettest.NATS(t)
	a, b, c := newMember(t, nats, "a", ""), newMember(t, nats, "b", ""), newMember(t, nats, "c", "")
	claims(t, a, b, c)
	id, sealer := a.Seal("session", nil), a.run()
	a.Close()
	if owner, err := b.Adopt(t.Context(), id, sealer, always); owner != "" || err != nil {
		t.Fatal(owner, err)
	}
	if err := b.Bind(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if owner, err := c.Adopt(t.Context(), id, sealer, always); owner != b.run() || err != nil {
		t.Errorf("%q, %v; want %q", owner, err, b.run())
	}
	b.Close()
	if _, err := c.Adopt(t.Context(), id, sealer, always); code(err) != "not_found" {
		t.Errorf("after its node has ended: %v", err)
	}
}

// Where nobody listens, a firewall may refuse what is sent to a node that goes on: its sessions stay with it as long as
// its claim. Where another run listens, they do not, but anybody on the way can say that.
func TestRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for what expires")
	}
	nats := fleettest.NATS(t)
	for _, c := range []struct {
		name    string
		listens func(b, third member) http.Handler // where a was; nil for nobody
		stays   bool
	}{
		{"refused", nil, true},
		{"replaced", func(_, third member) http.Handler { return third }, false},
		{"forged", func(member, member) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
		}, true},
		{"misled", func(b, _ member) http.Handler { return b }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			address, handler := refusing(t), http.Handler(nil)
			if c.listens != nil {
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
				t.Cleanup(web.Close)
				address = web.URL
			}
			a, b, third := newMember(t, nats, "a"+c.name, address), newMember(t, nats, "b"+c.name, ""), newMember(t, nats, "c"+c.name, address)
			if c.listens != nil {
				handler = c.listens(b, third)
			}
			eventually(t, func() bool { return strings.Contains(string(b.claimOf(t, a.run()).Value), b.run()) })
			id, sealer := a.Seal("session", nil), a.run()
			a.engine.Close() // as if killed, or cut off
			written := b.claimOf(t, sealer).Written
			eventually(t, func() bool {
				owner, err := b.Adopt(t.Context(), id, sealer, always)
				return owner == "" && err == nil
			})
			if took := time.Since(written); took < kept == c.stays {
				t.Errorf("another node went on after %v", took)
			}
		})
	}
}

// A node that has lost its claim is told by the end of its term, and then asks who has a session.
func TestOwner(t *testing.T) {
	nats := fleettest.NATS(t)
	a := newMember(t, nats, "a", "")
	id, term := a.Seal("session", nil), func() context.Context { term, _ := a.Term(); return term }()
	sum := sha256.Sum256([]byte(id))
	if _, err := a.engine.Bucket("sessions", forever).Put(t.Context(), base64.RawURLEncoding.EncodeToString(sum[:]), []byte("b.1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := term.Err(); err != nil {
		t.Error("the term has ended")
	}
	if err := a.engine.Bucket("claims", forever).Delete(t.Context(), a.run(), 0); err != nil {
		t.Fatal(err)
	}
	<-term.Done()
	if owner, err := a.Owner(t.Context(), id); owner != "b.1" || err != nil {
		t.Errorf("%q, %v", owner, err)
	}
	if owner, err := a.Owner(t.Context(), a.Seal("session", nil)); owner != "" || err != nil {
		t.Errorf("of another one: %q, %v", owner, err)
	}
	a.engine.Close()
	if _, err := a.Owner(t.Context(), id+"x"); code(err) != "unavailable" {
		t.Errorf("without NATS: %v", err)
	}
}

// A node that does not know another one reaches it at the address that its claim names.
func TestForwardByClaim(t *testing.T) {
	var to member
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { to.ServeHTTP(w, r) }))
	defer web.Close()
	to = newMember(t, fleettest.NATS(t), "a", web.URL)
	inner := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "text") })}
	go inner.Serve(to)
	defer inner.Close()
	from := newMember(t, fleettest.NATS(t), "b", "") // which hears nothing of a
	claim := fmt.Sprintf(`{"nodes":{%q:%q}}`, to.run(), web.URL)
	if _, err := from.engine.Bucket("claims", forever).Put(t.Context(), to.run(), []byte(claim), 0); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { // a slow machine may not have the claim in time
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", nil)
		_, err := from.Forward(w, r, to.run(), "key")
		if err != nil && code(err) != "unavailable" {
			t.Fatal(err)
		}
		return err == nil && w.Body.String() == "text"
	})
}

// However many requests are for the sessions of a node that is lost, one question at a time finds out what has become of it.
func TestInquiries(t *testing.T) {
	var at, most atomic.Int64
	second := make(chan struct{})
	var once sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if now := at.Add(1); now > 1 {
			most.Store(now)
			once.Do(func() { close(second) })
		}
		select {
		case <-second:
		case <-time.After(100 * time.Millisecond):
		}
		at.Add(-1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer web.Close()
	m := newMember(t, fleettest.NATS(t), "a", "")
	lost := fleet.Run(engine.Node{ID: "lost", Epoch: uint64(time.Now().UnixMilli())})
	if _, err := m.engine.Bucket("claims", forever).Put(t.Context(), lost, fmt.Appendf(nil, `{"nodes":{%q:%q}}`, lost, web.URL), 0); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for i := range 50 {
		asking.Go(func() {
			if _, err := m.Adopt(t.Context(), fmt.Sprint("session ", i), lost, always); code(err) != "unavailable" {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if n := most.Load(); n > 0 {
		t.Errorf("%d questions at once", n)
	}
}
