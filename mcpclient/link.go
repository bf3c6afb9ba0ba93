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

// State is the state of a server's link.
type State string

// The states. Idle is that of a lazy server which no call needs.
const (
	Idle       State = "idle"
	Connecting State = "connecting"
	Ready      State = "ready"
	Failed     State = "failed"
)

// Status describes a link.
type Status struct {
	State    State
	Reason   string                // of the latest failure, also during the next attempt
	Retry    time.Time             // of the next attempt; zero if none is scheduled
	Server   string                // name and version that the server states; "" if not connected
	Items    [bridge.ListKinds]int // in each list
	Revision string                // of the protocol, as negotiated
}

// link is a supervised connection, shared by the sessions of callers with the same key.
type link struct {
	client *Client
	cfg    *Config // the client's
	key    linkKey
	born   time.Time
	ctx    context.Context // ends with the link
	cancel context.CancelFunc
	demand chan struct{} // holds a token if a call needs a lazy server

	conn  atomic.Pointer[conn] // the live connection, or nil
	lists [bridge.ListKinds]atomic.Pointer[bridge.List]
	used  atomic.Int64 // when the latest call of a lazy server ended, in Unix ns

	mu        sync.Mutex // guards the fields below
	sessions  map[*session]struct{}
	dropping  *time.Timer        // drops a link without sessions
	watched   map[string]*watch  // by the URI of the resource
	creators  map[string]creator // of tasks, by the task's id
	taskOrder []string           // ids of tasks, oldest first
	state     State
	reason    error         // of the latest failure
	retry     time.Time     // of the next attempt
	stale     bool          // an attempt has failed since the lists were read
	changed   chan struct{} // closed, and replaced, when the state changes
}

func newLink(c *Client, key linkKey) *link {
	l := &link{
		client: c, cfg: &c.cfg, key: key, born: time.Now(), demand: make(chan struct{}, 1), sessions: map[*session]struct{}{},
		watched: map[string]*watch{}, creators: map[string]creator{}, state: Connecting, changed: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(c.base)
	if c.cfg.Lazy {
		l.state = Idle
		l.loadLists()
	}
	return l
}

func (l *link) addSession(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions[s] = struct{}{}
	if l.dropping != nil {
		l.dropping.Stop()
	}
}

// removeSession removes a session. It reports whether it was the last one.
func (l *link) removeSession(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, s)
	return len(l.sessions) == 0
}

// dropAfter ends the link after some time unless a session is added.
func (l *link) dropAfter(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropping != nil {
		l.dropping.Stop()
	}
	l.dropping = time.AfterFunc(delay, func() { l.client.drop(l) })
}

func (l *link) unused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sessions) == 0
}

// setState changes the state and wakes the calls that wait for that. It notifies callers of lists
// that went away or came back.
func (l *link) setState(s State, reason error, retryIn time.Duration) {
	l.mu.Lock()
	if s != Connecting || reason != nil { // a new attempt keeps the reason of the last failure
		l.reason = reason
	}
	l.state, l.retry = s, time.Time{}
	if retryIn > 0 {
		l.retry = time.Now().Add(retryIn)
	}
	flip := s == Failed && !l.stale || s == Ready && l.stale
	if flip {
		l.stale = !l.stale
	}
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	for k := range bridge.ListKinds {
		if flip && l.count(k) > 0 {
			l.notifyChange(k)
		}
	}
}

// notifyChange tells the callers that have read a list that it has changed.
func (l *link) notifyChange(kind bridge.ListKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		if s.listed.Load() {
			s.notify(kind.Changed(), nil)
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
		name, _ := wire.Text(wire.Lookup(c.about, "serverInfo", "name"))
		version, _ := wire.Text(wire.Lookup(c.about, "serverInfo", "version"))
		st.Server, st.Revision = name+" "+version, c.revision
	}
	return st
}

// count returns the length of a list.
func (l *link) count(kind bridge.ListKind) int {
	if list := l.lists[kind].Load(); list != nil {
		return len(list.Items)
	}
	return 0
}

// tool returns a tool as the server defines it.
func (l *link) tool(name string) (bridge.Item, bool) {
	if list := l.lists[bridge.Tools].Load(); list != nil {
		return list.Find(name)
	}
	return bridge.Item{}, false
}

// await returns the live connection. It waits while one is being made, and fails at once if the
// last attempt has failed.
func (l *link) await(ctx context.Context) (*conn, *toolformat.Error) {
	for {
		l.mu.Lock()
		state, changed, err := l.state, l.changed, l.unavailable()
		l.mu.Unlock()
		if c := l.conn.Load(); c != nil && c.alive() { // a later connection closes changed
			return c, nil
		}
		if l.cfg.Lazy {
			select {
			case l.demand <- struct{}{}:
			default:
			}
		}
		if state == Failed {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return nil, canceled(nil)
			}
			return nil, toolformat.Errorf(toolformat.Unavailable, "%s is still connecting", l.cfg.Name)
		case <-l.ctx.Done():
			return nil, l.cfg.errorf(toolformat.Unavailable, "%v", errClosed)
		}
	}
}

// unavailable returns the error for callers while the link is down. l.mu is held.
func (l *link) unavailable() *toolformat.Error {
	e := toolformat.Errorf(toolformat.Unavailable, "%s is not available: %v", l.cfg.Name, l.reason)
	if in := time.Until(l.retry); in > 0 {
		e.Message += fmt.Sprintf(" (retrying in %s)", in.Round(time.Second))
	}
	return e
}
