package profile

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/match"
	"github.com/mcpbridge/mcpbridge/bridge/internal/paging"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// session is the view of a caller whose profile leaves out tools, prompts or resources.
type session struct {
	bridge.Session // below; set before opened is closed
	opened         chan struct{}
	profile        *Profile
	caller         *bridge.Caller
	log            *slog.Logger

	seen     [bridge.ListKinds]atomic.Pointer[bridge.List] // the latest list of a kind, with what the profile has of it
	told     [bridge.ListKinds]atomic.Pointer[bridge.List] // the latest that the caller has got
	outdated [bridge.ListKinds]atomic.Bool                 // there is another one than seen
	changes  [bridge.ListKinds]atomic.Int64                // that below has announced

	ctx     context.Context // ends with the session
	end     context.CancelFunc
	work    sync.WaitGroup // looks
	looking atomic.Int64   // how many looks there are

	mu     sync.Mutex // guards what follows
	closed bool
	looks  [bridge.ListKinds]*look
}

func newSession(p *Profile, caller *bridge.Caller, log *slog.Logger) *session {
	s := &session{profile: p, caller: caller, log: log, opened: make(chan struct{})}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s
}

// List implements bridge.Session.
func (s *session) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	announced := kind
	if kind == bridge.Templates {
		announced = bridge.Resources
	}
	before := s.changes[announced].Load()
	l, err := s.list(ctx, kind)
	if l != nil {
		s.told[kind].Store(l)
	}
	if s.changes[announced].Load() != before {
		s.look(announced) // which may have compared another list
	}
	return l, err
}

// list is List for the session itself.
func (s *session) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	if !s.profile.narrows(kind) {
		return s.Session.List(ctx, kind)
	}
	s.outdated[kind].Store(false)
	l, err := s.Session.List(ctx, kind)
	if l == nil {
		s.outdated[kind].Store(true)
		return nil, err
	}
	l = l.Derive(s.profile, func(it bridge.Item) (bridge.Item, bool) { return it, s.profile.admit(kind, &it) })
	s.seen[kind].Store(l)
	return l, err
}

// Do implements bridge.Session. A method of which it is not known what it reaches is unknown.
func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	kind, target, key := match.Subject(req)
	if key && (s.profile.narrows(kind) || req.Method == wire.MethodComplete) {
		return s.about(ctx, kind, target, req)
	}
	listed, lists := bridge.ListKindOf(req.Method)
	switch {
	case lists && req.Target != "" && !s.profile.names(listed).Admit(req.Target):
		return bridge.Failed(s.unknown(ctx, listed, req.Target))
	case lists && s.profile.narrows(listed):
		return paging.Answer(ctx, s.Session, req, s.List)
	case lists:
		return s.Session.Do(ctx, req)
	case !key && !bridge.Relayed(req.Method) && req.Method != wire.MethodDiscover:
		return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
	}
	reply := s.Session.Do(ctx, req)
	s.awaitLooks(ctx)
	return reply
}

// about carries out a request about an item, if the profile has that.
func (s *session) about(ctx context.Context, kind bridge.ListKind, key string, req *bridge.Request) bridge.Reply {
	has, fault := s.has(ctx, kind, key)
	if fault != nil {
		return bridge.Failed(fault)
	}
	if !has {
		return bridge.Failed(s.unknown(ctx, kind, key))
	}
	if req.Method == wire.MethodComplete {
		var err error
		if req, err = match.PlainRef(req, kind, key); err != nil {
			return bridge.Failed(toolformat.AsError(err))
		}
	}
	reply := s.Session.Do(ctx, req)
	if reply.Err != nil && reply.Err.Code == toolformat.NotFound && reply.Err.Raw == nil {
		reply.Err = s.unknown(ctx, kind, key) // that of below may suggest what the profile does not have
	}
	s.awaitLooks(ctx)
	return reply
}

// has reports whether the profile has an item. What is not listed now is one if its name says so: its
// server may be away.
func (s *session) has(ctx context.Context, kind bridge.ListKind, key string) (bool, *toolformat.Error) {
	names := s.profile.names(kind)
	byName := kind != bridge.Tools || len(s.profile.Annotations) == 0
	if kind == bridge.Resources {
		return s.profile.Resources.AdmitURI(key), nil // it need not be listed
	}
	if l := s.seen[kind].Load(); l != nil && (byName || !s.outdated[kind].Load()) {
		if _, ok := l.Find(key); ok {
			return true, nil
		}
	}
	if byName || !names.Admit(key) {
		return names.Admit(key), nil
	}
	for again := false; ; again = true {
		l, err := s.list(ctx, kind)
		if l != nil {
			if _, ok := l.Find(key); ok || again {
				return ok, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return false, toolformat.Errorf(toolformat.Canceled, "canceled")
		case again:
			return false, toolformat.AsError(err)
		}
		if reply := bridge.Reach(ctx, s.Session, kind, key); reply.Err != nil {
			return false, reply.Err
		}
	}
}

// unknown returns the error for an item that the profile does not have.
func (s *session) unknown(ctx context.Context, kind bridge.ListKind, key string) *toolformat.Error {
	if l, _ := s.list(ctx, kind); l != nil {
		return l.Unknown(key)
	}
	return (&bridge.List{Kind: kind}).Unknown(key)
}

// Close implements bridge.Session.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	err := s.Session.Close()
	s.work.Wait()
	return err
}
