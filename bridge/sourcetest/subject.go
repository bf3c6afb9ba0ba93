package sourcetest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// subject is a source under test with one of its sessions.
type subject struct {
	*testing.T
	contract Contract
	source   bridge.Source
	session  bridge.Session
	changes  chan struct{} // holds a value when the list has changed
}

func newSubject(t *testing.T, c Contract, source bridge.Source) *subject {
	s := &subject{T: t, contract: c, source: source, changes: make(chan struct{}, 1)}
	var err error
	s.session, err = source.Open(t.Context(), &bridge.Caller{ID: t.Name(), Notify: func(method string, _ []byte) {
		if method == bridge.Tools.Changed() {
			select {
			case s.changes <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.session.Close() })
	return s
}

// listed returns the list of tools.
func (s *subject) listed() *bridge.List {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	l, err := s.session.List(ctx, bridge.Tools)
	if err != nil {
		s.Fatalf("List: %v", err)
	}
	return l
}

// request returns a call of a tool of the Fake. meta is its raw _meta; "" leaves it out.
func (s *subject) request(tool, args, meta string) *bridge.Request {
	s.Helper()
	raw := wire.AppendString([]byte(`{"name":`), s.contract.Prefix+tool)
	if args != "" {
		raw = append(append(raw, `,"arguments":`...), args...)
	}
	if meta != "" {
		raw = append(append(raw, `,"_meta":`...), meta...)
	}
	params, err := wire.SplitParams(append(raw, '}'))
	if err != nil {
		s.Fatalf("the params of a test: %v", err)
	}
	return &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: s.contract.Prefix + tool}
}

// call calls a tool and waits for the reply.
func (s *subject) call(tool, args string) bridge.Reply {
	s.Helper()
	return s.do(s.request(tool, args, ""))
}

func (s *subject) do(req *bridge.Request) bridge.Reply {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	return within(s, "the reply to "+req.Target, s.start(ctx, req))
}

// start sends a request in a goroutine.
func (s *subject) start(ctx context.Context, req *bridge.Request) <-chan bridge.Reply {
	c := make(chan bridge.Reply, 1)
	go func() { c <- s.session.Do(ctx, req) }()
	return c
}

// within receives from c, or fails the test after patience.
func within[T any](s *subject, what string, c <-chan T) (v T) {
	s.Helper()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case v = <-c:
	case <-t.C:
		s.Fatalf("%s did not come within %s", what, patience)
	}
	return v
}

// result fails the test unless the reply is the result want.
func (s *subject) result(r bridge.Reply, want string) {
	s.Helper()
	if r.Err != nil {
		s.Fatalf("error %v (cause: %v), want a result", r.Err, r.Err.Cause)
	}
	if got := string(r.Result); !s.contract.same(got, want) {
		s.Fatalf("result:\n%s\nwant:\n%s", clip(got, want), clip(want, got))
	}
	r.Free()
}

// clip returns the part of s in which it begins to differ from other.
func clip(s, other string) string {
	i := 0
	for i < len(s) && i < len(other) && s[i] == other[i] {
		i++
	}
	from, to := max(0, i-100), min(len(s), i+200)
	return strings.Repeat("…", min(from, 1)) + s[from:to] + strings.Repeat("…", min(len(s)-to, 1))
}

// back receives the notifications of a request.
type back struct {
	first chan struct{} // closed with the first notification

	mu    sync.Mutex // guards what follows
	notes []note
}

type note struct{ method, params string }

func newBack() *back { return &back{first: make(chan struct{})} }

// Ask implements bridge.Back: this caller answers no questions.
func (b *back) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	return nil, toolformat.Errorf(toolformat.Unsupported, "not offered")
}

func (b *back) Notify(method string, params []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.notes = append(b.notes, note{method, string(params)}); len(b.notes) == 1 {
		close(b.first)
	}
}

// got returns the notifications so far.
func (b *back) got() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]note(nil), b.notes...)
}
