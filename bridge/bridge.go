package bridge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
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
	Principals int           // that callers can have; of several each may run half of a member's Concurrency
	ServerInfo []byte        // MCP's Implementation, raw JSON: the name of the bridge
	ID         string        // of this process, by which a loop of bridges is found; "" finds none
	Log        *slog.Logger  // nil discards
}

// A Bridge is a source made of many. It is immutable and may be used from many goroutines.
type Bridge struct {
	opts    Options
	members []*member
	open    bool // the only member takes names that it does not list

	all    *selection // of every member
	absent absent     // in place of a member that a caller may not use

	mu         sync.Mutex            // held during a merge; guards what follows, and logged of members
	logged     map[string]bool       // the problems that have been logged
	selections map[string]*selection // those that callers have, by a byte for each member
}

type member struct {
	Member
	limiter  *Limiter // of Concurrency
	prefixes []string // of names that are the member's alone; empty for an only member
	ui       string   // prefix of its ui URIs; empty for an only member
	log      *Throttle
	logged   int // problems; guarded by Bridge.mu
}

// narrows reports whether the member does not show all its names as its source has them.
func (m *Member) narrows() bool {
	return len(m.Include)+len(m.Exclude)+len(m.Rename) > 0 || m.Prefix != nil && *m.Prefix != ""
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
	b := &Bridge{opts: opts, logged: map[string]bool{}, selections: map[string]*selection{}}
	for _, m := range members {
		own := &member{Member: m, log: &Throttle{To: opts.Log, Burst: 100, Every: time.Second}}
		if len(members) > 1 {
			own.prefixes = []string{toolformat.Prefix(m.Name), own.prefix(len(members))}
			own.ui = uiPrefix(m.Name, b.members)
		}
		if m.Concurrency > 0 {
			own.limiter = NewLimiter(m.Name+" is", m.Concurrency, opts.Queue).Among(opts.Principals)
		}
		b.members = append(b.members, own)
	}
	b.open = len(members) == 1 && !members[0].narrows()
	b.all = b.selected(func(string) bool { return true })
	for kind := range ListKinds {
		b.absent.lists[kind] = NewList(kind, nil)
	}
	return b
}

// Open opens every member for the caller. It refuses one that comes through this bridge itself.
func (b *Bridge) Open(ctx context.Context, caller *Caller) (Session, error) {
	if err := b.checkVia(caller); err != nil {
		return nil, err
	}
	s := &session{bridge: b, caller: caller, tasking: wire.TakesTasks(caller.Capabilities), settled: time.Now().Add(b.opts.Settle)}
	s.selection, s.open = b.all, b.open && caller.Members == nil
	if caller.Members != nil {
		s.selection = b.selected(caller.Members)
	}
	if s.memory = caller.Memory; s.memory == nil {
		s.memory = new(Memory)
	}
	for i, m := range b.members {
		if !s.selection.has[i] {
			s.subs = append(s.subs, &b.absent)
			continue
		}
		below := *caller
		below.Memory, below.Members = nil, nil // of this Bridge's members
		below.Notify, below.Only = func(method string, params []byte) { s.fromBelow(i, method, params) }, len(b.members) == 1
		sub, err := m.Source.Open(ctx, &below)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.subs = append(s.subs, sub)
	}
	return s, nil
}

// index returns the index of a member that the caller may use, or -1.
func (s *session) index(name string) int {
	i := slices.IndexFunc(s.bridge.members, func(m *member) bool { return m.Name == name })
	if i >= 0 && !s.selection.has[i] {
		return -1
	}
	return i
}

// Problems returns the tools of the current list that are left out or not shown as their source has
// them, with the reasons.
func (b *Bridge) Problems() []Problem {
	if v := b.all.views[Tools].Load(); v != nil {
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

	selection *selection
	open      bool // Bridge.open for this caller

	views  [ListKinds]atomic.Pointer[view]
	memory *Memory

	mu      sync.Mutex // guards what follows
	closed  bool
	changes [ListKinds]change
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
	parts := make([]part, len(s.subs))
	if len(s.subs) == 1 {
		l, err := s.onlyList(ctx, kind)
		if err != nil {
			return nil, err
		}
		parts[0].list = l
	} else {
		s.forAll(func(i int, sub Session) {
			l, err := s.listOf(ctx, sub, kind)
			parts[i] = part{list: l, away: err != nil}
		})
	}
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	v := s.views[kind].Load()
	if v == nil || !slices.Equal(v.parts, parts) {
		v = s.bridge.merge(s.selection, kind, parts)
		s.views[kind].Store(v)
	}
	return v, nil
}

// onlyList returns the list of an only member. A server's own error for a kind that it does not
// have passes.
func (s *session) onlyList(ctx context.Context, kind ListKind) (*List, error) {
	wait, cancel := context.WithDeadline(ctx, s.waitEnd())
	defer cancel()
	l, err := s.subs[0].List(wait, kind)
	if err != nil || len(l.Items) > 0 || kind == Tools {
		return l, err
	}
	reply := s.subs[0].Do(wait, &Request{Method: kind.Method()})
	if reply.Err != nil && reply.Err.Raw != nil {
		return nil, reply.Err
	}
	reply.Free()
	return s.subs[0].List(wait, kind)
}

// readTime bounds the wait of a list for members that are reading it again.
const readTime = 5 * time.Second

// listOf returns the list of one of several members. After the wait for those that connect it still
// waits for a list that is being read.
func (s *session) listOf(ctx context.Context, sub Session, kind ListKind) (*List, error) {
	wait, cancel := context.WithDeadline(ctx, s.waitEnd())
	l, err := sub.List(wait, kind)
	ended := wait.Err() != nil
	cancel()
	if err == nil && ended {
		wait, cancel = context.WithTimeout(ctx, readTime)
		defer cancel()
		l, err = sub.List(wait, kind)
	}
	return l, err
}

// forAll calls f for each member, for all at once, and waits for that. A panic of f is the caller's.
func (s *session) forAll(f func(i int, sub Session)) {
	var wg sync.WaitGroup
	var panicked atomic.Value
	for i, sub := range s.subs {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panicked.CompareAndSwap(nil, fmt.Sprintf("%v\n%s", p, debug.Stack()))
				}
			}()
			f(i, sub)
		})
	}
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
}

// waitEnd returns until when a list waits for members that connect: for an only member each time,
// for several once.
func (s *session) waitEnd() time.Time {
	if len(s.subs) == 1 {
		return time.Now().Add(s.bridge.opts.Alone)
	}
	return s.settled
}

// changeDelay is how long list changes are gathered into one notification after another.
const changeDelay = 20 * time.Millisecond

// change says what has become of the changes of one list.
type change uint8

const (
	unchanged change = iota // none within changeDelay
	notified                // the caller has been notified of one
	gathered                // and there are others since
)

// fromBelow receives the notifications of members for the caller. It passes on the first of several
// list changes at once, gathers the others, and passes on whatever else there is.
func (s *session) fromBelow(member int, method string, params []byte) {
	kind := slices.IndexFunc(kinds[:], func(k listKind) bool { return k.changed == method })
	if kind < 0 {
		if len(s.bridge.members) == 1 || notifies(method) && !s.isForeign(member, method, params) {
			if method == wire.NotificationResourceUpdated {
				params = s.bridge.members[member].withShownURI(params, "uri")
			}
			s.caller.notify(method, params)
		}
		return
	}
	s.mu.Lock()
	first := s.changes[kind] == unchanged && !s.closed
	if first {
		s.changes[kind] = notified
	} else {
		s.changes[kind] = gathered
	}
	s.mu.Unlock()
	if first {
		s.notifyChange(ListKind(kind))
	}
}

// notifyChange passes on a list change, and later the changes that follow within changeDelay.
func (s *session) notifyChange(kind ListKind) {
	s.caller.notify(kind.Changed(), nil)
	time.AfterFunc(changeDelay, func() {
		defer func() {
			if p := recover(); p != nil {
				s.bridge.opts.Log.Error("the code of a caller has panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		s.mu.Lock()
		again := s.changes[kind] == gathered && !s.closed
		s.changes[kind] = unchanged
		if again {
			s.changes[kind] = notified
		}
		s.mu.Unlock()
		if again {
			s.notifyChange(kind)
		}
	})
}

// flushChanges passes on the list changes that have been gathered: what a call has changed reaches the
// caller before the call's result.
func (s *session) flushChanges() {
	s.mu.Lock()
	changes, closed := s.changes, s.closed
	for kind, c := range changes {
		if c == gathered {
			s.changes[kind] = notified
		}
	}
	s.mu.Unlock()
	for kind, c := range changes {
		if c == gathered && !closed {
			s.caller.notify(ListKind(kind).Changed(), nil)
		}
	}
}

func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.forAll(func(_ int, sub Session) { sub.Close() })
	return nil
}

func canceled(err error) *toolformat.Error {
	return toolformat.Errorf(toolformat.Canceled, "canceled").Because(err)
}
