package mcpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// slowGrants is a session that answers subscriptions when the test does.
type slowGrants struct {
	bridge.Session
	answer       chan *toolformat.Error
	on           atomic.Int32 // subscriptions that it holds
	unsubscribed atomic.Int32
}

func (s *slowGrants) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method == wire.MethodUnsubscribe {
		s.on.Add(-1)
		s.unsubscribed.Add(1)
		return bridge.Result([]byte("{}"), nil)
	}
	select {
	case err := <-s.answer:
		if err != nil {
			return bridge.Failed(err)
		}
		s.on.Add(1)
		return bridge.Result([]byte("{}"), nil)
	case <-ctx.Done():
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	}
}

// A resource is granted to a listener when the source has granted it to any listener.
func TestWatchWaitsForTheSource(t *testing.T) {
	uris := []string{"file:///a"}
	for _, c := range []struct {
		name    string
		answers []*toolformat.Error // of the source, in turn
		gone    bool                // the first listener ends while it asks
		granted int
	}{
		{name: "granted", answers: []*toolformat.Error{nil}, granted: 2},
		{name: "refused, then granted", answers: []*toolformat.Error{toolformat.Errorf(toolformat.NotFound, "no"), nil}, granted: 1},
		{name: "the first goes", answers: []*toolformat.Error{nil}, gone: true, granted: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &slowGrants{answer: make(chan *toolformat.Error)}
				v := &subscriptions{source: source, watched: map[string]*watch{}}
				first, leave := context.WithCancel(t.Context())
				defer leave()
				grants := make(chan []string, 2)
				for _, ctx := range []context.Context{first, t.Context()} {
					go func() { grants <- v.watch(ctx, uris) }()
					synctest.Wait()
				}
				if len(grants) > 0 {
					t.Fatal("granted before the source had answered")
				}
				if c.gone {
					leave()
				}
				for _, answer := range c.answers {
					source.answer <- answer
				}
				granted := 0
				for range 2 {
					if g := <-grants; slices.Equal(g, uris) {
						granted++
						defer v.release(g[0])
					}
				}
				if granted != c.granted || source.on.Load() != 1 {
					t.Errorf("%d listeners granted, want %d; the source holds %d", granted, c.granted, source.on.Load())
				}
			})
		})
	}
}

// The last listener ends the subscription, and a new listener begins another.
func TestWatchAgain(t *testing.T) {
	source := &slowGrants{answer: make(chan *toolformat.Error, 2)}
	v := &subscriptions{source: source, watched: map[string]*watch{}}
	for i := range int32(2) {
		source.answer <- nil
		first, second := v.watch(t.Context(), []string{"a"}), v.watch(t.Context(), []string{"a"})
		if len(first) != 1 || len(second) != 1 || source.on.Load() != 1 {
			t.Fatalf("granted %v and %v, the source holds %d", first, second, source.on.Load())
		}
		v.release(first[0])
		if source.on.Load() != 1 {
			t.Fatal("ended under a listener")
		}
		v.release(second[0])
		if source.on.Load() != 0 || source.unsubscribed.Load() != i+1 || len(v.watched) != 0 {
			t.Fatalf("the source holds %d, the view %d", source.on.Load(), len(v.watched))
		}
	}
}

// The resources of a listener are asked for at once, and the source has its time for an answer.
func TestWatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := made(func(ctx context.Context, req *bridge.Request) bridge.Reply {
			late := time.Second // of the fake clock
			if req.Target == "never" {
				late = time.Hour
			}
			select {
			case <-time.After(late):
				return bridge.Result([]byte("{}"), nil)
			case <-ctx.Done():
				return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
			}
		})
		v := &subscriptions{source: source, watched: map[string]*watch{}}
		for _, c := range []struct {
			uris, granted []string
			within        time.Duration
		}{
			{[]string{"a", "b", "c", "d"}, []string{"a", "b", "c", "d"}, time.Second},
			{[]string{"e", "never", "a"}, []string{"e", "a"}, watchTime},
		} {
			begun := time.Now()
			if granted := v.watch(t.Context(), c.uris); !slices.Equal(granted, c.granted) || time.Since(begun) > c.within {
				t.Errorf("%v: granted %v after %s", c.uris, granted, time.Since(begun))
			}
		}
	})
}

// A listen whose client accepts no stream of events would have no answer.
func TestListenWithoutEvents(t *testing.T) {
	p := newMade(t, Options{}, okay)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": wire.ModernRevision, "Mcp-Method": wire.MethodListen} {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusNotAcceptable || !strings.Contains(w.Body.String(), "text/event-stream") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
