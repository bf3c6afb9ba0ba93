package swap_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/swap"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Source keeps the contract of what it has inside, alone and while that is replaced all the time.
func TestContract(t *testing.T) {
	t.Run("alone", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) bridge.Source { return swap.New(sourcetest.NewFake(), nil) })
	})
	t.Run("replaced", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) bridge.Source {
			fake := sourcetest.NewFake() // remains, behind each new inner source
			return replacing(t, func() bridge.Source { return bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: fake}) })
		})
	})
	t.Run("of several members", func(t *testing.T) {
		sourcetest.Contract{Prefix: "a__"}.Run(t, func(t *testing.T) bridge.Source {
			a, b := sourcetest.NewFake(), sourcetest.NewFake()
			return replacing(t, func() bridge.Source {
				return bridge.New(bridge.Options{}, bridge.Member{Name: "a", Source: a}, bridge.Member{Name: "b", Source: b})
			})
		})
	})
}

// replacing returns a Source whose inner source is replaced until the test ends.
func replacing(t *testing.T, inner func() bridge.Source) *swap.Source {
	s := swap.New(inner(), nil)
	var replaced, unused atomic.Int64
	var work sync.WaitGroup
	stop := make(chan struct{})
	work.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				replaced.Add(1)
				s.Replace(inner(), func() { unused.Add(1) })
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		work.Wait()
		s.Close()
		if replaced.Load() != unused.Load() {
			t.Errorf("of %d former sources %d are unused", replaced.Load(), unused.Load())
		}
	})
	return s
}

// double is a source under the control of a test. Its sessions carry out requests with do.
type double struct {
	tools []string
	do    func(ctx context.Context, s *doubleSession, req *bridge.Request) bridge.Reply

	mu       sync.Mutex // guards what follows
	sessions []*doubleSession
	closed   int
}

type doubleSession struct {
	*double
	caller *bridge.Caller
}

func (d *double) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sessions == nil && d.tools == nil {
		return nil, toolformat.Errorf(toolformat.Denied, "not here")
	}
	s := &doubleSession{d, caller}
	d.sessions = append(d.sessions, s)
	return s, nil
}

func (s *doubleSession) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	var items []bridge.Item
	for _, name := range s.tools {
		if kind == bridge.Tools {
			items = append(items, bridge.Item{Key: name, Raw: fmt.Appendf(nil, `{"name":%q}`, name)})
		}
	}
	return bridge.NewList(kind, items), nil
}

func (s *doubleSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if s.do != nil {
		return s.do(ctx, s, req)
	}
	return bridge.Result([]byte("{}"), nil)
}

func (s *doubleSession) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

// heard records the notifications of a caller.
type heard struct {
	mu   sync.Mutex // guards said
	said []string
}

func (h *heard) notify(method string, params []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, method+string(params))
}

// take returns what has been said since the last time.
func (h *heard) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	said := h.said
	h.said = nil
	return fmt.Sprint(said)
}

func opened(t *testing.T, s bridge.Source, h *heard) bridge.Session {
	t.Helper()
	session, err := s.Open(t.Context(), &bridge.Caller{ID: "one", Notify: h.notify})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func request(t *testing.T, method, target, params string) *bridge.Request {
	t.Helper()
	split, err := wire.SplitParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return &bridge.Request{Method: method, Target: target, Params: &split}
}

// A request in flight ends where it began, which is closed after it; the next one goes to the new source.
func TestRequestsInFlight(t *testing.T) {
	release := make(chan struct{})
	began := make(chan struct{})
	old := &double{tools: []string{"a"}, do: func(context.Context, *doubleSession, *bridge.Request) bridge.Reply {
		close(began)
		<-release
		return bridge.Result([]byte(`"old"`), nil)
	}}
	s := swap.New(old, nil)
	session := opened(t, s, &heard{})
	first, unused := make(chan bridge.Reply, 1), make(chan struct{})
	go func() { first <- session.Do(t.Context(), &bridge.Request{Method: "x"}) }()
	<-began
	s.Replace(&double{tools: []string{"a"}}, func() { close(unused) })
	if reply := session.Do(t.Context(), &bridge.Request{Method: "x"}); string(reply.Result) != "{}" {
		t.Errorf("the new source has answered %s, %v", reply.Result, reply.Err)
	}
	select {
	case <-unused:
		t.Error("the old source is unused, although it has a request")
	default:
	}
	close(release)
	if reply := <-first; string(reply.Result) != `"old"` {
		t.Errorf("the old source has answered %s, %v", reply.Result, reply.Err)
	}
	<-unused
	if old.closed != 1 {
		t.Errorf("the session of the old source was closed %d times", old.closed)
	}
	s.Close()
}

// Close ends the requests of former sources too.
func TestCloseEndsFormer(t *testing.T) {
	began := make(chan struct{})
	ended := make(chan struct{})
	old := &double{tools: []string{"a"}}
	old.do = func(context.Context, *doubleSession, *bridge.Request) bridge.Reply {
		close(began)
		<-ended
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "closed"))
	}
	s := swap.New(closer{old, func() { close(ended) }}, nil)
	session := opened(t, s, &heard{})
	first := make(chan bridge.Reply, 1)
	go func() { first <- session.Do(t.Context(), &bridge.Request{Method: "x"}) }()
	<-began
	s.Replace(&double{tools: []string{"a"}}, nil)
	session.Close()
	if reply := <-first; reply.Err == nil {
		t.Errorf("the request has a result: %s", reply.Result)
	}
	s.Close()
}

// closer calls closed when a session of the source is closed.
type closer struct {
	bridge.Source
	closed func()
}

func (c closer) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	session, err := c.Source.Open(ctx, caller)
	return &closerSession{session, c}, err
}

type closerSession struct {
	bridge.Session
	closer
}

func (s *closerSession) Close() error {
	s.closed()
	return s.Session.Close()
}

// The caller is told of the lists that differ, after the move.
func TestListChanges(t *testing.T) {
	var h heard
	s := swap.New(&double{tools: []string{"a"}}, nil)
	session := opened(t, s, &h)
	for _, c := range []struct {
		tools []string
		want  string
	}{
		{[]string{"a"}, "[]"},
		{[]string{"a", "b"}, "[notifications/tools/list_changed]"},
		{[]string{"a", "b"}, "[]"},
		{[]string{"b"}, "[notifications/tools/list_changed]"},
	} {
		s.Replace(&double{tools: c.tools}, nil)
		if got := h.take(); got != c.want {
			t.Errorf("%v: %s, want %s", c.tools, got, c.want)
		}
		if l, err := session.List(t.Context(), bridge.Tools); err != nil || len(l.Items) != len(c.tools) {
			t.Errorf("%v: the list is %v, %v", c.tools, l, err)
		}
	}
}

// A list that the former source does not give ends with it, and is that of the new one.
func TestListMoves(t *testing.T) {
	began := make(chan struct{}, 10)
	s := swap.New(stuck{&double{tools: []string{"a"}}, began}, nil)
	session := opened(t, s, &heard{})
	list := make(chan *bridge.List, 1)
	go func() {
		l, _ := session.List(t.Context(), bridge.Tools)
		list <- l
	}()
	<-began
	s.Replace(&double{tools: []string{"b"}}, nil)
	if l := <-list; l == nil || l.Items[0].Key != "b" {
		t.Errorf("the list is %v", l)
	}
}

// stuck is a source whose lists never come.
type stuck struct {
	bridge.Source
	began chan struct{}
}

func (s stuck) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	session, err := s.Source.Open(ctx, caller)
	return stuckSession{session, s}, err
}

type stuckSession struct {
	bridge.Session
	stuck
}

func (s stuckSession) List(ctx context.Context, _ bridge.ListKind) (*bridge.List, error) {
	s.began <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// What a caller has asked a source to remember is asked of the next one; what it has taken back is not.
func TestRemembered(t *testing.T) {
	asked := func(d *double, to *heard) *double {
		d.do = func(_ context.Context, _ *doubleSession, req *bridge.Request) bridge.Reply {
			to.notify(req.Method, req.Params.Raw)
			if req.Target == "x:refused" {
				return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "no"))
			}
			return bridge.Result([]byte("{}"), nil)
		}
		return d
	}
	s := swap.New(asked(&double{tools: []string{"a"}}, &heard{}), nil)
	session := opened(t, s, &heard{})
	for _, req := range []*bridge.Request{
		request(t, wire.MethodSubscribe, "x:a", `{"uri":"x:a"}`),
		request(t, wire.MethodSubscribe, "x:b", `{"uri":"x:b"}`),
		request(t, wire.MethodSubscribe, "x:refused", `{"uri":"x:refused"}`),
		request(t, wire.MethodUnsubscribe, "x:b", `{"uri":"x:b"}`),
		request(t, wire.MethodSetLevel, "", `{"level":"error"}`),
		request(t, wire.MethodSetLevel, "", `{"level":"info"}`),
	} {
		session.Do(t.Context(), req)
	}
	for range 2 {
		var second heard
		s.Replace(asked(&double{tools: []string{"a"}}, &second), nil)
		if got, want := second.take(), `[logging/setLevel{"level":"info"} resources/subscribe{"uri":"x:a"}]`; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
	}
}

// What a caller asks for while its session moves is asked of both sources.
func TestRememberedMeanwhile(t *testing.T) {
	var second heard
	var session bridge.Session
	next := &double{tools: []string{"a"}, do: func(_ context.Context, _ *doubleSession, req *bridge.Request) bridge.Reply {
		second.notify(req.Method, req.Params.Raw)
		return bridge.Result([]byte("{}"), nil)
	}}
	s := swap.New(&double{tools: []string{"a"}}, nil)
	session = opened(t, s, &heard{})
	s.Replace(asking{next, func() {
		session.Do(t.Context(), request(t, wire.MethodSubscribe, "x:a", `{"uri":"x:a"}`))
	}}, nil)
	if got, want := second.take(), `[resources/subscribe{"uri":"x:a"}]`; got != want {
		t.Errorf("asked %s, want %s", got, want)
	}
}

// A caller that lists for the first time while its session moves is notified if the list is another one then.
func TestListedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		tools []string
		want  string
	}{
		{[]string{"a"}, "[]"},
		{[]string{"a", "b"}, "[notifications/tools/list_changed]"},
	} {
		var h heard
		s := swap.New(&double{tools: []string{"a"}}, nil)
		session := opened(t, s, &h)
		s.Replace(asking{&double{tools: c.tools}, func() {
			if l, err := session.List(t.Context(), bridge.Tools); err != nil || len(l.Items) != 1 {
				t.Errorf("the list is %v, %v", l, err)
			}
		}}, nil)
		if got := h.take(); got != c.want {
			t.Errorf("%v: %s, want %s", c.tools, got, c.want)
		}
	}
}

// asking calls ask when its list of tools is read.
type asking struct {
	bridge.Source
	ask func()
}

func (a asking) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	session, err := a.Source.Open(ctx, caller)
	return askingSession{session, a}, err
}

type askingSession struct {
	bridge.Session
	asking
}

func (s askingSession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if kind == bridge.Tools {
		s.ask()
	}
	return s.Session.List(ctx, kind)
}

// Of what a server notifies both sessions of a caller, each notification reaches it once; later only the
// new one's do.
func TestNotifications(t *testing.T) {
	var h heard
	old, next := &double{tools: []string{"a"}}, &double{tools: []string{"a"}}
	s := swap.New(old, nil)
	opened(t, s, &h)
	say := func(d *double, text string) { d.sessions[0].caller.Notify("n", []byte(text)) }
	change := func(d *double, kind bridge.ListKind) { d.sessions[0].caller.Notify(kind.Changed(), nil) }
	heard := func(want string) {
		t.Helper()
		if got := h.take(); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
	say(old, "1")
	heard("[n1]")
	s.Replace(asking{next, func() {
		say(next, "2") // of a fan-out: the new session first
		say(old, "2")
		say(old, "3")
		say(next, "3")
		say(old, "4") // again and again
		say(old, "4")
		say(next, "4")
		say(next, "5") // that of the old session comes too late
		change(old, bridge.Tools)
		change(next, bridge.Tools)
		change(next, bridge.Tools)
		heard("[n2 n3 n4 n4 notifications/tools/list_changed]")
	}}, nil)
	heard("[n5 notifications/tools/list_changed]")
	say(old, "5")
	say(old, "6")
	change(old, bridge.Tools)
	say(next, "7")
	say(next, "7")
	heard("[n7 n7]")
}

// A source that refuses a caller fails its requests, until the next one.
func TestRefused(t *testing.T) {
	s := swap.New(&double{tools: []string{"a"}}, nil)
	session := opened(t, s, &heard{})
	s.Replace(&double{}, nil)
	if reply := session.Do(t.Context(), &bridge.Request{Method: "x"}); reply.Err == nil || reply.Err.Code != toolformat.Denied {
		t.Errorf("the reply is %s, %v", reply.Result, reply.Err)
	}
	var refused *toolformat.Error
	if _, err := session.List(t.Context(), bridge.Tools); !errors.As(err, &refused) {
		t.Errorf("the list fails with %v", err)
	}
	s.Replace(&double{tools: []string{"a"}}, nil)
	if reply := session.Do(t.Context(), &bridge.Request{Method: "x"}); reply.Err != nil {
		t.Errorf("the reply is %v", reply.Err)
	}
}

func BenchmarkDo(b *testing.B) {
	fake := &double{tools: []string{"a"}}
	for name, source := range map[string]bridge.Source{"plain": fake, "swap": swap.New(fake, nil)} {
		session, err := source.Open(b.Context(), &bridge.Caller{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			req := &bridge.Request{Method: wire.MethodToolsCall}
			for b.Loop() {
				session.Do(b.Context(), req)
			}
		})
	}
}
