package sourcetest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// RunAway checks that a wrapper answers calls of tools whose server is away as the Bridge below does, and those of
// tools that do not exist as unknown. The Bridge has the members up, lost, which has been up, and never.
func RunAway(t *testing.T, wrap func(bridge.Source) bridge.Source) {
	up, lost, never := NewFake(), &fading{Source: NewFake()}, &fading{Source: NewFake(), empty: true}
	plain := bridge.New(bridge.Options{Settle: 1, Alone: 1}, bridge.Member{Name: "up", Source: up}, bridge.Member{Name: "lost", Source: lost}, bridge.Member{Name: "never", Source: never})
	never.away.Store(true)
	open := func(source bridge.Source) bridge.Session {
		s, err := source.Open(t.Context(), &bridge.Caller{ID: t.Name()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if l, err := s.List(t.Context(), bridge.Tools); err != nil || len(l.Items) == 0 {
			t.Fatalf("%v (%v)", l, err)
		}
		return s
	}
	below, above := open(plain), open(wrap(plain))
	lost.away.Store(true)
	for _, tool := range []string{"lost__echo", "never__echo", "lost__echo", "up__ecno", "nobody__echo"} {
		params, _ := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":{}}`))
		req := &bridge.Request{Method: wire.MethodToolsCall, Target: tool, Params: &params}
		want, got := below.Do(t.Context(), req).Err, above.Do(t.Context(), req).Err
		unknown := strings.HasPrefix(tool, "up") || strings.HasPrefix(tool, "nobody")
		switch {
		case want == nil || got == nil || unknown != (want.Code == toolformat.NotFound) || unknown == want.NotRun:
			t.Errorf("%s: %v, without the wrapper %v", tool, got, want)
		case got.Code != want.Code || got.NotRun != want.NotRun || got.Message != want.Message:
			t.Errorf("%s: %v %t %s, want %v %t %s", tool, got.Code, got.NotRun, got.Message, want.Code, want.NotRun, want.Message)
		}
	}
}

// fading is a source that may be away.
type fading struct {
	bridge.Source
	away  atomic.Bool
	empty bool // nothing is known of it then
}

func (f *fading) Open(ctx context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s, err := f.Source.Open(ctx, caller)
	return &fadingSession{s, f}, err
}

type fadingSession struct {
	bridge.Session
	source *fading
}

func (s *fadingSession) fault() *toolformat.Error {
	return toolformat.Errorf(toolformat.Unavailable, "it is not available: it has gone")
}

func (s *fadingSession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if !s.source.away.Load() {
		return s.Session.List(ctx, kind)
	}
	if s.source.empty {
		return nil, s.fault()
	}
	l, _ := s.Session.List(ctx, kind)
	return l, s.fault()
}

func (s *fadingSession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if s.source.away.Load() {
		fault := s.fault()
		fault.NotRun = true
		return bridge.Failed(fault)
	}
	return s.Session.Do(ctx, req)
}
