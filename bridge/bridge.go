package bridge

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Member is one source of a Bridge and how its tools are shown.
type Member struct {
	Name   string // unique; its prefix derives from it
	Source Source

	Prefix   *string           // nil: by the rule (none for a lone member, else Name's); "" none
	Include  []string          // globs of tool names (path.Match, in which a slash is no separator); empty: all
	Exclude  []string          // globs of tool names; wins over Include
	Rename   map[string]string // tool name to the name shown, before the prefix
	Describe map[string]string // tool name to its description

	Required    bool // a session cannot begin without it
	Concurrency int  // calls under way at once; further ones wait. 0: no limit
}

// Options are the settings of a Bridge. The zero value works.
type Options struct {
	Conflict   Conflict      // what happens to two items of one name
	MaxName    int           // longest name of a tool or prompt, in bytes; 0: 64
	Settle     time.Duration // how long a first list waits for several members; 0: 2 s
	Alone      time.Duration // how long a first list waits for a lone member; 0: 30 s
	Queue      int           // how many calls may wait for a member's Concurrency; 0: 1,000
	QueueTime  time.Duration // how long a call waits for its member's Concurrency; 0: 30 s
	ServerInfo []byte        // raw JSON of MCP's Implementation: what the bridge calls itself
	Log        *slog.Logger  // nil: nothing is logged
}

// A Bridge is the source that many sources become. It is immutable and may be used
// from many goroutines.
type Bridge struct {
	opts    Options
	members []*member
	catalog catalog
}

type member struct {
	Member
	limiter *Limiter // of Concurrency
}

// New makes a Bridge of its members, in the order in which their items are listed and
// in which the first wins. The members' sources stay their owner's to close.
func New(opts Options, members ...Member) *Bridge {
	opts.MaxName = cmp.Or(opts.MaxName, 64)
	opts.Settle = cmp.Or(opts.Settle, 2*time.Second)
	opts.Alone = cmp.Or(opts.Alone, 30*time.Second)
	opts.Queue = cmp.Or(opts.Queue, defaultQueue)
	opts.QueueTime = cmp.Or(opts.QueueTime, 30*time.Second)
	if opts.ServerInfo == nil {
		opts.ServerInfo = []byte(`{"name":"mcpbridge","version":"0"}`)
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	b := &Bridge{opts: opts}
	for _, m := range members {
		own := &member{Member: m}
		if m.Concurrency > 0 {
			own.limiter = NewLimiter(m.Name+" is", m.Concurrency, opts.Queue)
		}
		b.members = append(b.members, own)
	}
	b.catalog = catalog{members: b.members, conflict: opts.Conflict, maxName: opts.MaxName, log: opts.Log}
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

// Problems are the reasons why items of the current lists are not shown as their source
// has them, and which of them were left out.
func (b *Bridge) Problems() []Problem {
	if v := b.catalog.last[Tools].Load(); v != nil {
		return v.notes
	}
	return nil
}

// session is a caller's view of a Bridge: the merge of its members' sessions.
type session struct {
	bridge  *Bridge
	caller  *Caller
	tasking bool      // any of its calls may create a task
	subs    []Session // one a member
	settled time.Time // until when a list waits for several members
	views   [ListKinds]atomic.Pointer[view]
	owners  owners // of tasks

	mu      sync.Mutex // guards what follows
	closed  bool
	changes [ListKinds]*time.Timer // list changes that are about to be passed on
}

func (s *session) List(ctx context.Context, kind ListKind) (*List, error) {
	v, err := s.view(ctx, kind)
	if err != nil {
		return nil, err
	}
	return v.list, nil
}

// view merges what the members have now. It fails only for a lone member.
func (s *session) view(ctx context.Context, kind ListKind) (*view, error) {
	wait, cancel := context.WithDeadline(ctx, s.until())
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
	if v == nil || !v.madeOf(parts) {
		v = s.bridge.catalog.merge(kind, parts)
		s.views[kind].Store(v)
	}
	return v, nil
}

// until is how long a list waits for members that connect: a lone one is all there is,
// several are waited for once.
func (s *session) until() time.Time {
	if len(s.subs) == 1 {
		return time.Now().Add(s.bridge.opts.Alone)
	}
	return s.settled
}

// changeDelay gathers the list changes of several members into one.
const changeDelay = 20 * time.Millisecond

// fromBelow takes what members tell the caller: list changes are gathered, the rest
// passes.
func (s *session) fromBelow(method string, params []byte) {
	kind := ListKinds
	for k := range ListKinds {
		if k.Changed() == method {
			kind = k
			break
		}
	}
	if kind == ListKinds {
		s.caller.notify(method, params)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.changes[kind] != nil {
		return
	}
	s.changes[kind] = time.AfterFunc(changeDelay, func() {
		s.mu.Lock()
		s.changes[kind] = nil
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
	for _, t := range s.changes {
		if t != nil {
			t.Stop()
		}
	}
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
