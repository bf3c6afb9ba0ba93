package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
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
	Stopped    State = "stopped" // by Client.Stop

	waiting State = "waiting" // in a Status in place of Failed, and during the next attempt
)

// Status describes a link.
type Status struct {
	State    State
	Reason   string                // of the latest failure, also during the next attempt
	Output   string                // last lines of the process that failed, which callers must not see
	Line     string                // last line of the process that runs, which callers must not see
	Retry    time.Time             // of the next attempt; zero if none is scheduled
	Server   string                // name and version that the server states; "" if not connected
	Items    [bridge.ListKinds]int // in each list
	Revision string                // of the protocol, as negotiated

	Capabilities []byte   // MCP's ServerCapabilities, raw JSON; nil if not connected
	Asks         []string // client capabilities that requests of the server have needed, such as "roots"
}

// Waiting reports whether the link is down only for want of credentials of its callers (Config.Lacks).
func (st Status) Waiting() bool { return st.State == waiting }

// link is a supervised connection, shared by the sessions of callers with the same key.
type link struct {
	client *Client
	cfg    *Config // the client's, or that of its principal
	key    linkKey
	born   time.Time
	ctx    *scope.Scope  // ends with the link
	demand chan struct{} // holds a token if a call needs a lazy server
	hurry  chan struct{} // holds a token if the link is not to wait for its next attempt

	detour    detour // to the server, set by start and used by its goroutine alone; without Via it is zero
	failures  int    // of attempts since a connection was steady; used by the link's goroutine alone
	served    bool   // callers have had a connection; likewise
	file      string // for the lists of a lazy server; "" means that they are not kept
	vendor    bool   // requests of the server that are not MCP's pass to the caller, whose own the link is
	principal string // whose callers the link is for; "" for those of all

	conn    atomic.Pointer[conn] // the live connection, or nil
	lists   [bridge.ListKinds]atomic.Pointer[bridge.List]
	faults  [bridge.ListKinds]atomic.Pointer[toolformat.Error] // why a list could not be read
	leftOut atomic.Pointer[map[string]bool]                    // tools that are not in the list, by name
	fetched [bridge.ListKinds]atomic.Int64                     // when the latest fetch of a list began, in ns since born; 0 without one
	about   atomic.Pointer[[]byte]                             // what a lazy server has said of itself, as conn.described; nil if that is not known
	line    atomic.Pointer[string]                             // of standard error, the last one of the latest connection; nil without one
	used    atomic.Int64                                       // when the latest call of a lazy server ended, in Unix ns
	saving  sync.Mutex                                         // held while file is written

	mu        sync.Mutex // guards the fields below
	sessions  map[*session]struct{}
	first     *bridge.Principal   // of the first session; nil before it
	mixed     bool                // there have been sessions of several principals
	via       []byte              // clientInfo of a caller whose bridges the server is told of
	dropping  *time.Timer         // drops a link without sessions
	watched   map[string]*watch   // by the URI of the resource
	tasks     map[string]task     // by their id
	running   map[int64]string    // the tasks of the live connection that have not ended, as far as is known, by the id of the call that has created them
	left      map[*conn]struct{}  // connections that callers have no more, and that are not closed yet
	taskOrder map[string][]string // ids of tasks of a principal, by its name, oldest first
	state     State
	since     time.Time               // of the state
	waits     time.Time               // since when it waits, also during attempts; zero if it does not
	reason    error                   // of the latest failure
	retry     time.Time               // of the next attempt
	asks      []string                // client capabilities that the server has needed
	stale     bool                    // an attempt has failed since the lists were read; false of an idle link
	changed   chan struct{}           // closed, and replaced, when the state changes
	attempt   context.CancelCauseFunc // ends the attempt to connect that is under way; nil without one
}

func newLink(c *Client, key linkKey, caller *bridge.Caller) *link {
	l := &link{
		client: c, cfg: c.cfg.of(caller), key: key, born: time.Now(), demand: make(chan struct{}, 1), hurry: make(chan struct{}, 1), since: time.Now(), sessions: map[*session]struct{}{},
		watched: map[string]*watch{}, tasks: map[string]task{}, running: map[int64]string{}, left: map[*conn]struct{}{}, taskOrder: map[string][]string{}, state: Connecting, changed: make(chan struct{}),
	}
	l.ctx = scope.Under(&c.base)
	if c.cfg.Lazy {
		l.state, l.file = Idle, l.listFile(caller)
		l.loadLists()
	}
	if c.cfg.KeepLists {
		c.kept.share(l)
	}
	return l
}

func (l *link) addSession(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.link.Store(l)
	l.sessions[s] = struct{}{}
	l.first = cmp.Or(l.first, &s.caller.Principal)
	l.mixed = l.mixed || *l.first != s.caller.Principal
	if l.dropping != nil {
		l.dropping.Stop()
	}
}

// removeSession removes a session. A link that is not one caller's own ends after the idle time
// without one.
func (l *link) removeSession(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sessions, s)
	if len(l.sessions) == 0 && !l.key.own {
		l.dropping = time.AfterFunc(l.cfg.IdleTimeout, func() { l.client.drop(l) })
	}
}

// setState changes the state and wakes the calls that wait for that. It notifies callers of lists
// that went away or came back.
func (l *link) setState(s State, reason error, retryIn time.Duration) {
	l.mu.Lock()
	if s != Connecting || reason != nil { // a new attempt keeps the reason of the last failure
		l.reason = reason
	}
	if l.state != s {
		l.since = time.Now()
	}
	l.state, l.retry = s, time.Time{}
	switch {
	case !l.isWaiting():
		l.waits = time.Time{}
	case l.waits.IsZero():
		l.waits = time.Now()
	}
	if retryIn > 0 {
		l.retry = time.Now().Add(retryIn)
	}
	flip := (s == Failed || s == Stopped) && !l.stale && !l.cfg.KeepLists || (s == Ready || s == Idle) && l.stale
	if flip {
		l.stale = !l.stale
	}
	close(l.changed)
	l.changed = make(chan struct{})
	l.mu.Unlock()
	for k := range bridge.ListKinds {
		if flip && l.count(k) > 0 {
			l.notifyChange(k, false)
		}
	}
}

// notifyChange tells the callers that have read a list that it has changed, or all of them.
func (l *link) notifyChange(kind bridge.ListKind, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		if all || s.listed.Load() {
			s.notify(kind.Changed(), nil)
		}
	}
}

func (l *link) status() Status {
	l.mu.Lock()
	st := Status{State: l.state, Retry: l.retry, Asks: slices.Clone(l.asks)}
	if l.isWaiting() {
		st.State = waiting
	}
	if l.reason != nil {
		st.Reason, st.Output = l.cfg.hideAll(l.reason.Error()), l.cfg.hideAll(outputOf(l.reason))
	}
	l.mu.Unlock()
	if line := l.line.Load(); line != nil && st.State != Failed && st.State != waiting && st.State != Stopped {
		st.Line = l.cfg.hideAll(*line)
	}
	for k := range bridge.ListKinds {
		st.Items[k] = l.count(k)
		if fault := l.faults[k].Load(); fault != nil && st.Reason == "" {
			st.Reason = k.Method() + " failed: " + fault.Message
		}
	}
	if c := l.conn.Load(); c != nil {
		name, _ := wire.Text(wire.Lookup(c.about, "serverInfo", "name"))
		version, _ := wire.Text(wire.Lookup(c.about, "serverInfo", "version"))
		st.Server, st.Revision = fmt.Sprintf("%.100s %.100s", name, version), c.revision
		st.Capabilities = wire.Lookup(c.about, "capabilities")
	}
	return st
}

// isWaiting reports whether the link is down for want of credentials of its callers. l.mu is held.
func (l *link) isWaiting() bool {
	return (l.state == Failed || l.state == Connecting) && l.cfg.lacks(l.reason)
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
		if state == Failed || state == Stopped && l.client.stopped() != nil {
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
	reason := fmt.Sprint(l.reason)
	if l.key.own && l.reason != nil {
		reason = detailed(l.reason)
	}
	e := toolformat.Errorf(toolformat.Unavailable, "%s is not available: %s", l.cfg.Name, l.cfg.hide(reason))
	if in := time.Until(l.retry); in > 0 {
		e.Message += fmt.Sprintf(" (retrying in %s)", in.Round(time.Second))
	}
	if refusal := (*authError)(nil); l.cfg.Own != nil && errors.As(l.reason, &refusal) {
		e.Cause = refusal // for whoever lets the caller log in
	}
	return e
}

// supervise makes the link's connection, again whenever it is lost, until the link ends. It runs
// in the link's goroutine, which alone changes the link's state. There is none while a connection is
// up: the stack of each would take 4 KB.
func (l *link) supervise() {
	for l.ctx.Err() == nil {
		if !l.awaitResumed() || l.cfg.Lazy && !l.watching() && !(l.awaitDemand() && l.awaitResumed()) {
			break
		}
		select {
		case <-l.hurry: // this is the attempt that it asks for
		default:
		}
		l.setState(Connecting, nil, 0)
		c, err := l.start()
		if interrupted(err) {
			l.cfg.Log.Info("connecting ended", "reason", err)
			continue
		}
		if !l.served && l.handOver(c) {
			if c != nil {
				c.close()
			}
			break
		}
		if err == nil {
			l.served = true
			l.serve(c)
			return
		}
		l.failures++
		l.backOff(err)
	}
	l.client.kept.release(l) // after every fetch: the connections have been closed
}

// resume ends a connection that has been handed to callers, and goes on in a new goroutine of the link.
func (l *link) resume(c *conn, start time.Time) {
	err := l.retract(c)
	lived := time.Since(start)
	switch {
	case err == nil:
	case interrupted(err):
		l.cfg.Log.Info("connection ended", "reason", err)
	case l.failures == 0 || lived >= l.cfg.Steady:
		l.failures = 1
		l.cfg.Log.Warn("connection lost, connecting again", "reason", detailed(err))
	default:
		l.failures++
		l.backOff(fmt.Errorf("%w, %s after it was connected", err, lived.Round(time.Millisecond)))
	}
	l.supervise()
}

// start makes a connection when a child may be started, unless Restart or Stop ends the attempt.
func (l *link) start() (*conn, error) {
	ctx, cancel := context.WithCancelCause(l.ctx)
	defer cancel(nil)
	l.setAttempt(cancel)
	if l.client.stopped() != nil { // before interrupt could end it
		cancel(errStopped)
	}
	c, err := l.try(ctx)
	l.setAttempt(nil)
	if reason := context.Cause(ctx); interrupted(reason) {
		if c != nil {
			c.close()
		}
		return nil, reason
	}
	return c, err
}

func (l *link) setAttempt(end context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt = end
}

// try is start within ctx.
func (l *link) try(ctx context.Context) (*conn, error) {
	l.line.Store(nil)
	if err := l.findDetour(); err != nil {
		return nil, err
	}
	if len(l.cfg.Command) > 0 {
		end := l.cfg.Children.awaitStart(ctx)
		if end == nil {
			return nil, ctx.Err()
		}
		defer end()
	}
	return l.connect(ctx)
}

// awaitDemand waits until a call needs a lazy server; false means that the link has ended. Demand
// left over from the previous connection is dropped: calls still waiting repeat theirs when the
// state changes.
func (l *link) awaitDemand() bool {
	select {
	case <-l.demand:
	default:
	}
	l.setState(Idle, nil, 0)
	select {
	case <-l.demand:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// serve hands the connection to callers. resume runs when it is lost, idle or no longer wanted.
func (l *link) serve(c *conn) {
	start := time.Now()
	l.logReady(c) // before callers have it
	l.setConn(c)
	l.setState(Ready, nil, 0)
	if l.cfg.Lazy {
		l.retireWhenIdle(c)
	}
	if l.client.stopped() != nil { // while it connected
		c.lose(errStopped)
	}
	l.client.wg.Add(1)
	up := scope.Under(l.ctx)
	c.life.AfterFunc(func() { up.Cancel(nil) })
	up.AfterFunc(func() {
		defer l.client.wg.Done()
		l.resume(c, start)
	})
}

// setConn sets the connection that callers have; the last one's tasks end with that.
func (l *link) setConn(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.conn.Swap(c); last != nil {
		l.left[last] = struct{}{}
	}
	clear(l.running)
}

// conns returns the connections that are not closed.
func (l *link) conns() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.left))
	if c := l.conn.Load(); c != nil {
		all = append(all, c)
	}
	return all
}

// closeConn closes a connection that callers have no more.
func (l *link) closeConn(c *conn) {
	c.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.left, c)
}

// retract takes the connection from callers, and closes it. The error is the reason of a loss.
func (l *link) retract(c *conn) error {
	lost := c.reason()
	if lost == errIdle {
		lost = nil
	}
	l.setConn(nil)
	if lost != nil {
		l.client.up.Store(false)
		l.setState(Connecting, lost, 0)
	} else if l.cfg.Lazy {
		l.setState(Idle, nil, 0)
	}
	if l.ctx.Err() != nil || interrupted(lost) {
		l.closeConn(c)
		return lost
	}
	c.work.Wait()
	drained := c.outlived()
	select {
	case <-drained:
		l.closeConn(c)
	default:
		l.client.wg.Go(func() { // its session must not end before its calls
			select {
			case <-drained:
			case <-l.ctx.Done():
			}
			l.closeConn(c)
		})
	}
	return lost
}

// logReady logs a connection, at the level debug if nothing about the server is new: over HTTP and
// WebSocket there may be one for each client.
func (l *link) logReady(c *conn) {
	level := slog.LevelInfo
	if up := l.client.up.Swap(true); up && len(l.cfg.Command) == 0 {
		level = slog.LevelDebug
	}
	l.cfg.Log.Log(l.ctx, level, "ready", "revision", c.revision, "tools", l.count(bridge.Tools))
}

// errIdle ends the connection of a lazy server that has had no call for the idle time.
var errIdle = errors.New("it was idle")

// retireWhenIdle ends the connection of a lazy server after the idle time. A call that begins
// meanwhile either keeps the connection or finds it lost.
func (l *link) retireWhenIdle(c *conn) {
	l.used.Store(time.Now().UnixNano())
	var check func()
	check = func() {
		wanted := l.watching() || l.working() // before used is read: the end of a task is a use
		left := l.cfg.IdleTimeout - time.Since(time.Unix(0, l.used.Load()))
		switch {
		case !c.alive():
		case left <= 0 && !wanted && c.retire():
		default:
			time.AfterFunc(max(left, time.Second), check)
		}
	}
	time.AfterFunc(l.cfg.IdleTimeout, check)
}

// backOff waits before the next attempt, longer with each failure and out of step with other
// links, unless the link ends. A fault of the configuration is not tried again.
func (l *link) backOff(err error) {
	if l.ctx.Err() != nil {
		return
	}
	l.client.up.Store(false)
	if l.cfg.Fault != nil || l.cfg.Once {
		l.setState(Failed, err, 0)
		l.cfg.Log.Error("cannot be started", "reason", err)
		<-l.ctx.Done()
		return
	}
	var retry <-chan time.Time // without a way to the server no attempt can succeed before there is one
	if l.cfg.Via != nil && l.detour.dial == nil {
		l.cfg.Log.Info("away", "reason", err)
		l.setState(Failed, err, 0)
	} else {
		delay := min(l.cfg.RetryMax, l.cfg.RetryMin<<min(l.failures-1, 10))
		delay = delay/2 + rand.N(delay/2+1) // which panics without a range
		l.logFailure(err, delay)
		l.setState(Failed, err, delay) // after the log: callers wait for the state
		retry = time.After(delay)
	}
	select {
	case <-retry:
	case <-l.detour.over:
	case <-l.hurry:
	case <-l.ctx.Done():
	}
}

// logFailure logs why an attempt to connect has failed. That callers lack credentials is logged once.
func (l *link) logFailure(err error, retryIn time.Duration) {
	if !l.cfg.lacks(err) {
		l.cfg.Log.Warn("failed", "reason", detailed(err), "failures", l.failures, "retry_in", retryIn.Round(100*time.Millisecond))
		return
	}
	l.mu.Lock()
	before := l.reason
	l.mu.Unlock()
	level := slog.LevelInfo
	if l.cfg.lacks(before) {
		level = slog.LevelDebug
	}
	l.cfg.Log.Log(l.ctx, level, "waiting", "reason", err)
}
