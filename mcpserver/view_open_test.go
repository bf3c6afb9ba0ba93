package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// slowSource opens a session for ann when the test lets it.
type slowSource struct {
	listed
	opening chan string // principals whose sessions are being opened
	let     chan error
}

func (s *slowSource) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s.opening <- caller.Principal.Name
	if caller.Principal.Name == "ann" {
		select {
		case err := <-s.let:
			if err == errPanic {
				panic(err)
			}
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.listed.Open(ctx, caller)
}

// slowViews is a server of a slowSource.
type slowViews struct {
	*Server
	source *slowSource
}

func inSlowViews(t *testing.T, test func(t *testing.T, s *slowViews)) {
	synctest.Test(t, func(t *testing.T) {
		source := &slowSource{opening: make(chan string, 10), let: make(chan error)}
		source.change(t, `{"type":"object"}`)
		s := &slowViews{New(source, Options{}), source}
		defer s.Close()
		test(t, s)
	})
}

// list begins a tools/list of a principal.
func (s *slowViews) list(ctx context.Context, name string) <-chan bridge.Reply {
	m, _ := wire.Split([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	reply := make(chan bridge.Reply, 1)
	go func() {
		reply <- s.views.respond(ctx, &modernCall{sender: identity{principal: bridge.Principal{Name: name}}, msg: &m})
	}()
	synctest.Wait()
	return reply
}

// left returns the open sessions of the source, and the views.
func (s *slowViews) left() (sessions, views int) {
	synctest.Wait()
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	s.views.mu.Lock()
	defer s.views.mu.Unlock()
	return s.source.open, int(s.opts().accounts.whole.used[openViews].Load())
}

func waits(t *testing.T, replies ...<-chan bridge.Reply) {
	t.Helper()
	synctest.Wait()
	for i, reply := range replies {
		if len(reply) > 0 {
			t.Fatalf("request %d has an answer: %+v", i, <-reply)
		}
	}
}

// A source that is slow to open holds up the requests for that view alone, and is opened once for
// all of them.
func TestSlowOpen(t *testing.T) {
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		gone, leave := context.WithCancel(t.Context())
		first, left, last := s.list(t.Context(), "ann"), s.list(gone, "ann"), s.list(t.Context(), "ann")
		waits(t, first, left, last)
		if reply := <-s.list(t.Context(), "bob"); reply.Err != nil {
			t.Errorf("the other principal: %v", reply.Err)
		}
		leave()
		if reply := <-left; reply.Err == nil || reply.Err.Code != toolformat.Canceled {
			t.Errorf("the client that has gone: %+v", reply)
		}
		time.Sleep(2 * viewIdle) // of the bubble's clock: bob's view expires, the one that is being opened does not
		waits(t, first, last)
		s.source.let <- nil
		for _, reply := range []<-chan bridge.Reply{first, last} {
			if reply := <-reply; reply.Err != nil {
				t.Errorf("after the source has opened: %v", reply.Err)
			}
		}
		sessions, _ := s.left()
		if n := len(s.source.opening); n != 2 || sessions != 1 {
			t.Errorf("the source was opened %d times, want 2, and has %d sessions, want 1", n, sessions)
		}
		time.Sleep(2 * viewIdle)
		if sessions, views := s.left(); sessions != 0 || views != 0 {
			t.Errorf("%d sessions and %d views are left", sessions, views)
		}
	})
}

// Each call that may ask something needs a view of its own, and opens it while others open.
func TestSlowOpenLeased(t *testing.T) {
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		key := viewKey{sender: identity{principal: bridge.Principal{Name: "ann"}}, capabilities: `{"elicitation":{}}`}
		views := make(chan *view, 3)
		for range cap(views) {
			go func() {
				v, err := s.views.claim(t.Context(), key, true)
				if err != nil {
					t.Error(err)
				}
				views <- v
			}()
		}
		synctest.Wait()
		if n := len(s.source.opening); n != cap(views) {
			t.Errorf("%d sessions are being opened, want %d", n, cap(views))
		}
		different := map[*view]bool{}
		for range cap(views) {
			s.source.let <- nil
		}
		for range cap(views) {
			v := <-views
			different[v] = true
			s.views.release(v, true)
		}
		if len(different) != cap(views) {
			t.Errorf("the calls share views: %d for %d", len(different), cap(views))
		}
	})
}

// A source that fails to open fails the requests that wait for it, and is opened again for later
// ones.
func TestOpenFails(t *testing.T) {
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		first, second := s.list(t.Context(), "ann"), s.list(t.Context(), "ann")
		s.source.let <- errors.New("broken")
		for _, reply := range []bridge.Reply{<-first, <-second} {
			if reply.Err == nil || reply.Err.Code != toolformat.Unavailable || fmt.Sprint(reply.Err.Cause) != "broken" {
				t.Errorf("got %+v", reply.Err)
			}
		}
		again := s.list(t.Context(), "ann")
		waits(t, again)
		s.source.let <- nil
		reply := <-again
		if _, views := s.left(); reply.Err != nil || views != 1 {
			t.Errorf("%d views: %v", views, reply.Err)
		}
	})
}

// Close cancels an Open; a session that it returns nevertheless is closed.
func TestCloseWhileOpening(t *testing.T) {
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		waiting := s.list(t.Context(), "ann")
		s.Close()
		if reply := <-waiting; reply.Err == nil || reply.Err.Code != toolformat.Unavailable {
			t.Errorf("got %+v", reply)
		}
	})
	inSlowViews(t, func(t *testing.T, s *slowViews) {
		waiting := s.list(t.Context(), "ann")
		s.views.close()
		s.source.let <- nil
		if reply := <-waiting; reply.Err == nil || reply.Err.Code != toolformat.Unavailable {
			t.Errorf("got %+v", reply)
		}
		s.Close()
		if sessions, _ := s.left(); sessions != 0 {
			t.Errorf("%d sessions are left", sessions)
		}
	})
}
