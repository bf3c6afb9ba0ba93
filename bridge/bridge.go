package bridge

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Member is one source of a Bridge and how its tools are shown.
type Member struct {
	Name   string // unique
	Source Source

	Prefix   *string           // of names; nil means that of Name, unless there is one member
	Include  []string          // patterns (Match) of tool names; empty means all
	Exclude  []string          // patterns of tool names; overrides Include
	Rename   map[string]string // tool name to the name shown, without the prefix
	Describe map[string]string // tool name to its description

	Required    bool // a session needs this member
	Concurrency int  // calls running at once; more calls wait. 0 means no limit
}

// Options are the settings of a Bridge. The zero value works.
type Options struct {
	Conflict   Conflict      // the policy for two items with one name
	MaxName    int           // bounds names of tools and prompts, in bytes; 0 means 64
	Settle     time.Duration // bounds the wait of the first lists for several members; 0 means 2 s
	Alone      time.Duration // bounds the wait of the first list for an only member; 0 means 30 s
	Queue      int           // bounds the calls that wait for a member's Concurrency; 0 means 1,000
	ServerInfo []byte        // MCP's Implementation, raw JSON: the name of the bridge
	Log        *slog.Logger  // nil discards
}

// A Bridge is a source made of many. It is immutable and may be used from many goroutines.
type Bridge struct {
	opts    Options
	members []*member

	// The last view of each kind, so that callers with equal views share a list and its encoded
	// pages. A private view is kept by its session.
	views [ListKinds]atomic.Pointer[view]

	mu     sync.Mutex      // held during a merge; guards logged
	logged map[string]bool // the problems that have been logged
}

type member struct {
	Member
	limiter *Limiter // of Concurrency
}

// New returns a Bridge of members, which list their items in this order; the first wins a conflict.
// The members' sources stay their owner's to close.
func New(opts Options, members ...Member) *Bridge {
	opts.MaxName = cmp.Or(opts.MaxName, 64)
	opts.Settle = cmp.Or(opts.Settle, 2*time.Second)
	opts.Alone = cmp.Or(opts.Alone, 30*time.Second)
	opts.Queue = cmp.Or(opts.Queue, defaultQueue)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	if opts.ServerInfo == nil {
		opts.ServerInfo = []byte(`{"name":"mcpbridge","version":"0"}`)
	}
	b := &Bridge{opts: opts, logged: map[string]bool{}}
	for _, m := range members {
		own := &member{Member: m}
		if m.Concurrency > 0 {
			own.limiter = NewLimiter(m.Name+" is", m.Concurrency, opts.Queue)
		}
		b.members = append(b.members, own)
	}
	return b
}

// Open opens every member for the caller.
func (b *Bridge) Open(ctx context.Context, caller *Caller) (Session, error) {
	s := &session{bridge: b, caller: caller, tasking: wire.TakesTasks(caller.Capabilities), settled: time.Now().Add(b.opts.Settle)}
	below := *caller
	below.Notify = s.fromBelow
	for _, m := range b.members {
		sub, err := m.Source.Open(ctx, &below)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.subs = append(s.subs, sub)
	}
	return s, nil
}

// Problems returns the tools of the current list that are left out or not shown as their source has
// them, with the reasons.
func (b *Bridge) Problems() []Problem {
	if v := b.views[Tools].Load(); v != nil {
		return v.problems
	}
	return nil
}

// session is a caller's view of a Bridge: the merge of its members' sessions.
type session struct {
	bridge  *Bridge
	caller  *Caller
	tasking bool      // any call of the caller may create a task
	subs    []Session // one for each member
	settled time.Time // when lists stop waiting for several members
	views   [ListKinds]atomic.Pointer[view]
	tasks   taskOwners

	mu      sync.Mutex // guards what follows
	closed  bool
	changes [ListKinds]bool // list changes that are about to be passed on
}

func (s *session) List(ctx context.Context, kind ListKind) (*List, error) {
	v, err := s.view(ctx, kind)
	if err != nil {
		return nil, err
	}
	return v.list, nil
}

// view merges the members' current lists. It fails only for an only member.
func (s *session) view(ctx context.Context, kind ListKind) (*view, error) {
	wait, cancel := context.WithDeadline(ctx, s.waitEnd())
	defer cancel()
	parts := make([]part, len(s.subs))
	for i, sub := range s.subs {
		l, err := sub.List(wait, kind)
		if err != nil && len(s.subs) == 1 {
			return nil, err
		}
		parts[i] = part{list: l, away: err != nil}
	}
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	v := s.views[kind].Load()
	if v == nil || !slices.Equal(v.parts, parts) {
		v = s.bridge.merge(kind, parts)
		s.views[kind].Store(v)
	}
	return v, nil
}

// waitEnd returns until when a list waits for members that connect: for an only member each time,
// for several once.
func (s *session) waitEnd() time.Time {
	if len(s.subs) == 1 {
		return time.Now().Add(s.bridge.opts.Alone)
	}
	return s.settled
}

// changeDelay is how long list changes of several members are gathered into one notification.
const changeDelay = 20 * time.Millisecond

// fromBelow receives the notifications of members for the caller. It gathers list changes and
// passes the others on.
func (s *session) fromBelow(method string, params []byte) {
	kind := slices.IndexFunc(kinds[:], func(k listKind) bool { return k.changed == method })
	if kind < 0 {
		s.caller.notify(method, params)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.changes[kind] {
		return
	}
	s.changes[kind] = true
	time.AfterFunc(changeDelay, func() {
		s.mu.Lock()
		s.changes[kind] = false
		closed := s.closed
		s.mu.Unlock()
		if !closed {
			s.caller.notify(method, nil)
		}
	})
}

func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, sub := range s.subs {
		wg.Go(func() { sub.Close() })
	}
	wg.Wait()
	return nil
}

func canceled(err error) *toolformat.Error {
	return toolformat.Errorf(toolformat.Canceled, "cancelled").Because(err)
}
