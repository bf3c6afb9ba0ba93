package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// steady is how long a connection must have lived for its loss to be no failure of the
// server: it is then made again at once.
const steady = 5 * time.Second

// supervise makes the connection and makes it again until the link is cancelled.
func (l *link) supervise() {
	failures := 0
	for l.ctx.Err() == nil {
		if l.client.cfg.Lazy && !l.awaitDemand() {
			return
		}
		l.set(Connecting, nil, 0)
		c, err := l.connect()
		if err == nil {
			start := time.Now()
			if err = l.serve(c); err == nil {
				continue
			}
			if time.Since(start) >= steady {
				failures = 0
			}
			if failures == 0 {
				failures++
				l.client.cfg.Log.Warn("connection lost, connecting again", "reason", err)
				continue
			}
		}
		failures++
		if l.ctx.Err() != nil || !l.backOff(err, failures) {
			return
		}
	}
}

// awaitDemand waits until a call wants a lazy server. Who has wanted the last connection
// wants none now; who still does says so again when the state changes.
func (l *link) awaitDemand() bool {
	select {
	case <-l.demand:
	default:
	}
	l.set(Idle, nil, 0)
	select {
	case <-l.demand:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// serve keeps a connection until it is lost, idle or no longer wanted, and ends it. The
// error says why it was lost.
func (l *link) serve(c *conn) error {
	l.conn.Store(c)
	l.set(Ready, nil, 0)
	l.client.cfg.Log.Info("ready", "revision", c.revision, "tools", l.count(bridge.Tools))
	if l.client.cfg.Lazy {
		l.endWhenIdle(c)
	}
	var lost error
	select {
	case <-c.done:
		if lost = c.err; lost == errIdle {
			lost = nil
		}
	case <-l.ctx.Done():
	}
	l.conn.Store(nil)
	if lost != nil {
		l.set(Connecting, lost, 0)
	} else if l.client.cfg.Lazy {
		l.set(Idle, nil, 0)
	}
	c.close(errClosed)
	return lost
}

// errIdle is the reason of a lazy server's connection that nobody has used for the idle
// time.
var errIdle = errors.New("it was idle")

// endWhenIdle ends the connection of a lazy server that has had no call for the idle time.
// A call that comes meanwhile is either before the end or finds the connection lost.
func (l *link) endWhenIdle(c *conn) {
	l.used.Store(time.Now().UnixNano())
	var check func()
	check = func() {
		left := l.client.cfg.IdleTimeout - time.Since(time.Unix(0, l.used.Load()))
		switch {
		case !c.alive():
		case left <= 0 && !l.watching() && c.retire(errIdle):
		default:
			time.AfterFunc(max(left, time.Second), check)
		}
	}
	time.AfterFunc(l.client.cfg.IdleTimeout, check)
}

// backOff waits before the next attempt, longer with each failure and never in step
// with other links. A fault of the configuration is not tried again.
func (l *link) backOff(err error, failures int) bool {
	if l.client.cfg.Fault != nil {
		l.set(Failed, err, 0)
		l.client.cfg.Log.Error("cannot be started", "reason", err)
		<-l.ctx.Done()
		return false
	}
	delay := min(time.Minute, 500*time.Millisecond<<min(failures, 10))
	delay = delay/2 + rand.N(delay/2)
	l.set(Failed, err, delay)
	l.client.cfg.Log.Warn("failed", "reason", err, "retry_in", delay.Round(100*time.Millisecond))
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ctx.Done():
		return false
	}
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

// tell notifies the callers on the link that a list has changed.
func (l *link) tell(kind bridge.ListKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		s.changed(kind)
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

// list returns a list of the server: what is known, else what comes when it is ready.
// While the server is away it returns the last list beside the error.
func (l *link) list(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	l.mu.Lock()
	lost, err := l.lost, l.unavailable()
	l.mu.Unlock()
	known := l.lists[kind].Load()
	switch {
	case lost:
		return known, err
	case known != nil:
		return known, nil
	}
	if _, err := l.ready(ctx); err != nil {
		return nil, err
	}
	return l.lists[kind].Load(), nil
}

// do carries out a request of a caller.
func (l *link) do(ctx context.Context, req *bridge.Request, owner *session) bridge.Reply {
	switch req.Method {
	case wire.MethodSubscribe:
		return l.subscribe(ctx, req, owner)
	case wire.MethodUnsubscribe:
		return l.unsubscribe(ctx, req, owner)
	case wire.MethodSetLevel:
		return l.setLevel(ctx, req, owner)
	case wire.MethodTasksGet, wire.MethodTasksResult, wire.MethodTasksCancel, wire.MethodTasksUpdate, wire.MethodTasksList:
		return l.task(ctx, req, owner)
	case wire.NotificationRootsChanged:
		l.pass(req.Method)
		return bridge.Result([]byte("{}"), nil)
	}
	return l.call(ctx, req, owner)
}

// pass sends a notification of the caller to a server that it is the only caller of.
func (l *link) pass(method string) {
	if c := l.conn.Load(); c != nil && l.key.own {
		c.respond(wire.AppendNotification(nil, method, nil))
	}
}

// call carries out a request, again on a new connection when the first one was lost and
// doing so is safe.
func (l *link) call(ctx context.Context, req *bridge.Request, owner *session) bridge.Reply {
	const attempts = 3
	for n := 1; ; n++ {
		c, err := l.readyFor(ctx)
		if err != nil {
			return bridge.Failed(err)
		}
		if owner.closed.Load() {
			return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "cancelled").Because(errClosed))
		}
		if req.Method == wire.MethodDiscover {
			return bridge.Result(c.greeting, nil)
		}
		reply, lost := c.do(ctx, req, owner)
		if lost == nil && reply.Modern && (!owner.caller.Modern || c.cfg.Sampling != nil) {
			reply, lost = c.fulfil(ctx, req, owner, reply)
		}
		if l.client.cfg.Lazy {
			l.used.Store(time.Now().UnixNano())
		}
		if lost == nil {
			l.noteTask(req, &reply, owner)
			return reply
		}
		if n < attempts && (lost.surelyNotRun || l.repeatable(req)) {
			l.client.cfg.Log.Info("repeating a request on a new connection", "method", req.Method, "target", req.Target, "reason", lost.cause)
			continue
		}
		if lost.surelyNotRun {
			return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%s: the connection was lost before %s could be sent", l.client.cfg.Name, subject(req)).Because(lost.cause))
		}
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable,
			"%s: the connection was lost while %s was under way: it is unknown whether it ran", l.client.cfg.Name, subject(req)).Because(lost.cause))
	}
}

// readyFor is ready within the connect timeout: a call does not wait for a server
// longer than it may take to connect.
func (l *link) readyFor(ctx context.Context) (*conn, *toolformat.Error) {
	if c := l.conn.Load(); c != nil && c.alive() {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.client.cfg.ConnectTimeout)
	defer cancel()
	return l.ready(ctx)
}

// repeatable reports whether the request does no more when it is run twice.
func (l *link) repeatable(req *bridge.Request) bool {
	if req.Method != wire.MethodToolsCall {
		return true
	}
	it, ok := l.tool(req.Target)
	return ok && it.Repeatable
}

// subject is what a request is called in an error.
func subject(req *bridge.Request) string {
	if req.Target != "" {
		return req.Method + " " + req.Target
	}
	return req.Method
}
