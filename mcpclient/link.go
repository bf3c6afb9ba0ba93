package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// State is how a server is.
type State string

// The states. Idle is a lazy server that nobody has needed yet.
const (
	Idle       State = "idle"
	Connecting State = "connecting"
	Ready      State = "ready"
	Failed     State = "failed"
)

// Status is a state with its reason.
type Status struct {
	State    State
	Reason   string    // why it failed, also while it is tried again
	Retry    time.Time // when it is tried again
	Server   string    // name and version of the server, as it says; "" before the handshake
	Items    [bridge.ListKinds]int
	Revision string // the protocol revision that was negotiated
}

// link is one supervised connection: it is made, lost and made again while it has
// callers. One goroutine, supervise, changes its state.
type link struct {
	client *Client
	key    linkKey
	born   time.Time
	ctx    context.Context
	cancel context.CancelFunc
	demand chan struct{} // a call wants a lazy server

	conn  atomic.Pointer[conn] // the live connection; nil when there is none
	lists [bridge.ListKinds]atomic.Pointer[bridge.List]
	used  atomic.Int64 // when the last call ended, Unix ns; kept for lazy servers

	mu        sync.Mutex // guards what follows
	sessions  map[*session]struct{}
	ending    *time.Timer        // ends a link that nobody uses
	watched   map[string]*watch  // by the URI of the resource
	tasks     map[string]creator // by the id of the task
	taskOrder []string           // ids of tasks, oldest first
	state     State
	reason    error
	retry     time.Time
	lost      bool          // the lists are of an earlier connection, and a new attempt has failed
	turn      chan struct{} // closed when the state changes
}

func newLink(c *Client, key linkKey) *link {
	l := &link{client: c, key: key, born: time.Now(), demand: make(chan struct{}, 1), sessions: map[*session]struct{}{}, watched: map[string]*watch{}, tasks: map[string]creator{}, state: Connecting, turn: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(c.base)
	if c.cfg.Lazy {
		l.state = Idle
		l.loadLists()
	}
	return l
}

func (l *link) join(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[s] = struct{}{}
	if l.ending != nil {
		l.ending.Stop()
	}
}

// endIdle ends the link when nobody has joined it for a while.
func (l *link) endIdle(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending != nil {
		l.ending.Stop()
	}
	l.ending = time.AfterFunc(after, func() { l.client.drop(l) })
}

// part takes a session off the link; it reports whether it was the last one.
func (l *link) part(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, s)
	return len(l.sessions) == 0
}

func (l *link) unused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sessions) == 0
}

// set changes the state and wakes those who wait for it. Callers learn of tools that
// went away or came back.
func (l *link) set(s State, reason error, retryIn time.Duration) {
	l.mu.Lock()
	if s != Connecting || reason != nil { // while it connects again, the last failure stays the reason
		l.reason = reason
	}
	l.state, l.retry = s, time.Time{}
	if retryIn > 0 {
		l.retry = time.Now().Add(retryIn)
	}
	flip := s == Failed && !l.lost || s == Ready && l.lost
	switch s {
	case Failed:
		l.lost = true
	case Ready:
		l.lost = false
	}
	close(l.turn)
	l.turn = make(chan struct{})
	l.mu.Unlock()
	if flip {
		for k := range bridge.ListKinds {
			if list := l.lists[k].Load(); list != nil && len(list.Items) > 0 {
				l.tell(k)
			}
		}
	}
}

func (l *link) status() Status {
	l.mu.Lock()
	st := Status{State: l.state, Retry: l.retry}
	if l.reason != nil {
		st.Reason = l.reason.Error()
	}
	l.mu.Unlock()
	for k := range bridge.ListKinds {
		st.Items[k] = l.count(k)
	}
	if c := l.conn.Load(); c != nil {
		name, _ := wire.Text(wire.Lookup(c.greeting, "serverInfo", "name"))
		version, _ := wire.Text(wire.Lookup(c.greeting, "serverInfo", "version"))
		st.Server, st.Revision = name+" "+version, c.revision
	}
	return st
}

func (l *link) count(kind bridge.ListKind) int {
	if list := l.lists[kind].Load(); list != nil {
		return len(list.Items)
	}
	return 0
}

// ready returns the live connection. It waits while one is being made, and fails at
// once when the last attempt has failed.
func (l *link) ready(ctx context.Context) (*conn, *toolformat.Error) {
	for {
		l.mu.Lock()
		state, turn, err := l.state, l.turn, l.unavailable()
		l.mu.Unlock()
		if c := l.conn.Load(); c != nil && c.alive() { // a later one closes turn
			return c, nil
		}
		if l.client.cfg.Lazy {
			select {
			case l.demand <- struct{}{}:
			default:
			}
		}
		if state == Failed {
			return nil, err
		}
		select {
		case <-turn:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, toolformat.Errorf(toolformat.Canceled, "cancelled")
			}
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s is still connecting", l.client.cfg.Name)
		case <-l.ctx.Done():
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s: the connection has been closed", l.client.cfg.Name)
		}
	}
}

// unavailable is the error for a caller while the link is down; l.mu is held.
func (l *link) unavailable() *toolformat.Error {
	e := toolformat.Errorf(toolformat.Unavailable, "%s is not available: %v", l.client.cfg.Name, l.reason)
	if in := time.Until(l.retry); in > 0 {
		e.Message += fmt.Sprintf(" (next attempt in %s)", in.Round(time.Second))
	}
	return e
}

// sole is the one caller of a link of its own; nil when it has gone.
func (l *link) sole() *bridge.Caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		return s.caller
	}
	return nil
}

// ask puts a question that belongs to no call that is known to the link's caller.
func (l *link) ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	caller := l.sole()
	if caller == nil || caller.Ask == nil {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the client has gone")
	}
	return caller.Ask(ctx, method, params)
}
