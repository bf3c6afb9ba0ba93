package mcpclient

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// conn is one live connection. It matches the server's messages to calls.
type conn struct {
	cfg           *Config
	link          *link
	clientInfo    []byte  // MCP's Implementation
	capabilities  []byte  // MCP's ClientCapabilities, for requests of callers that state none
	offered       []byte  // MCP's ClientCapabilities that initialize states
	clientSamples bool    // the caller offers sampling, so that Config.Sampling is not needed
	carrier       carrier // to be used once dialed is closed
	waits         bool    // its send may wait for the response
	peer

	dialed chan struct{}
	ready  chan struct{} // closed when the lists have been read

	ids    atomic.Int64
	life   scope.Scope    // ends when the connection is lost, for the reason of the loss
	work   sync.WaitGroup // what ends with life
	open   scope.Scope    // ends a moment after close has begun
	late   sync.WaitGroup // what ends with open: over HTTP calls may outlive life, and what belongs to them
	sender chan struct{}  // bounds the messages sent in the background

	refetches [bridge.ListKinds]refetch
	changing  atomic.Int32           // refetches of which the server has notified
	called    atomic.Uint32          // lists, a bit each, that a call may have changed since they were fetched
	notified  atomic.Uint32          // lists, a bit each, of whose changes the server has notified
	granted   atomic.Pointer[[]byte] // of listChanges, by a server of the modern era

	mu        sync.Mutex // guards the fields below
	lost      bool
	closing   bool                // close has begun
	output    string              // last lines of a process that has ended
	calls     map[int64]*call     // without a response
	drained   chan struct{}       // closed once a lost connection has no calls; nil unless that is waited for
	questions map[string]question // without an answer, by raw id
	asked     int                 // bytes of the questions
	answers   int                 // to questions, that are being sent
	ticking   bool                // expire will run
	busy      bool                // a call has begun since expire ran last

	served    bool   // a caller has begun a call
	principal string // of the latest one
	mixed     bool   // there have been calls of several principals
}

// peer is what the handshake has found out about the server. It does not change after that.
type peer struct {
	legacy    bool   // the server has answered initialize
	modern    bool   // it has answered server/discover, and takes requests of the modern era
	bound     bool   // it may have bound the connection to the legacy era: it refused server/discover
	about     []byte // its InitializeResult, or its DiscoverResult with a serverInfo
	described []byte // about without what belongs to one era
	revision  string // of the protocol, as negotiated
}

func newConn(l *link) *conn {
	offered := l.key.offered()
	c := &conn{
		cfg: l.cfg, link: l, capabilities: l.cfg.offer([]byte(l.key.capabilities)), offered: l.cfg.offer(offered),
		clientInfo:    l.clientInfo(),
		clientSamples: wire.Lookup(offered, "sampling") != nil,
		dialed:        make(chan struct{}), ready: make(chan struct{}), sender: make(chan struct{}, 16),
		calls: map[int64]*call{}, questions: map[string]question{},
		waits: len(l.cfg.Command) == 0 && !l.cfg.overWebSocket(),
		life:  scope.Scope{Context: context.Background()}, open: scope.Scope{Context: context.Background()},
	}
	return c
}

// start runs f in a goroutine that close waits for, unless the connection is lost.
func (c *conn) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lost {
		c.work.Go(f)
	}
}

// startLate runs f in a goroutine that close waits for, unless that has begun. It reports whether it does.
func (c *conn) startLate(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		c.late.Go(f)
	}
	return !c.closing
}

const (
	// answerTime bounds the sending of what no caller waits for, such as an answer, which may be long, to a server that
	// may be slow.
	answerTime = time.Minute
	// backgroundTime bounds it where somebody waits for its end, as when the connection is closed.
	backgroundTime = 2 * time.Second
)

// respond sends a message in the background, unless too many are being sent. What is
// dropped then are answers to a server that floods the bridge with requests, and cancellations
// of calls to a server that reads nothing.
func (c *conn) respond(msg []byte) {
	select {
	case c.sender <- struct{}{}:
	default:
		c.cfg.throttle.Log(slog.LevelDebug, "dropped an answer: too many are waiting to be sent")
		return
	}
	started := c.startLate(func() {
		c.sendLate(msg)
		<-c.sender
	})
	if !started {
		<-c.sender
	}
}

// sendLate sends a message once the carrier can be used: a server may speak before that.
func (c *conn) sendLate(msg []byte) error {
	ctx, cancel := context.WithTimeout(&c.open, answerTime)
	defer cancel()
	select {
	case <-c.dialed:
		return c.carrier.send(ctx, &wire.Buffer{B: msg}, nil)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *conn) alive() bool { return c.life.Err() == nil }

// reason returns why the connection was lost.
func (c *conn) reason() error { return c.life.Ended() }

// lose implements receiver: it marks the connection as lost, which ends what waits for it. Only
// the first reason counts; what a process has printed is kept in any case.
func (c *conn) lose(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output = outputOf(reason)
	c.loseLocked(reason)
}

// retire loses the connection, because it is idle, unless a call is under way; a listen does not
// count. It reports whether it has.
func (c *conn) retire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.acked == nil {
			return false
		}
	}
	c.loseLocked(errIdle)
	return true
}

// loseLocked is lose with c.mu held.
func (c *conn) loseLocked(reason error) {
	if c.lost {
		return
	}
	c.lost = true
	for id, q := range c.questions {
		if !q.outlives {
			c.removeQuestion(id)
		}
	}
	c.life.Cancel(reason)
	if c.waits {
		return // a call goes on until its send returns
	}
	for _, k := range c.calls {
		k.lost = true
		c.endCall(k, reason)
	}
}

// close ends the calls and the connection, and waits until nothing is left of them.
func (c *conn) close() {
	c.mu.Lock()
	for _, k := range c.calls { // over HTTP also of a lost connection
		if k.lost = c.lost; k.lost {
			c.endCall(k, c.reason())
		} else {
			c.endCall(k, errClosed)
		}
	}
	c.loseLocked(errClosed)
	for id := range c.questions {
		c.removeQuestion(id)
	}
	c.closing = true
	c.mu.Unlock()
	end := time.AfterFunc(backgroundTime, func() { c.open.Cancel(errClosed) })
	defer end.Stop()
	c.work.Wait()
	c.late.Wait()
	c.carrier.close()
}

// endCalls ends the calls of a lost connection, which over HTTP would go on.
func (c *conn) endCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		k.lost = true
		c.endCall(k, c.reason())
	}
}

// outlived returns a channel that is closed when no call is under way any more. Over HTTP calls go on when the connection is
// lost: one that could not be sent does not mean that those before it have ended.
func (c *conn) outlived() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	drained := make(chan struct{})
	c.drained = drained
	c.removeCall(0)
	return drained
}

// removeCall removes a call, if it is there. c.mu is held.
func (c *conn) removeCall(id int64) {
	delete(c.calls, id)
	if c.drained != nil && len(c.calls) == 0 {
		close(c.drained)
		c.drained = nil
	}
}

// newCall returns a call for a request of a caller.
func (c *conn) newCall(method string) *call {
	return c.bounded(method, c.cfg.Timeout, c.cfg.MaxTimeout)
}

// newOwn returns a call for a request of the bridge's own: a server may take longer to connect than for a call.
func (c *conn) newOwn(method string) *call {
	return c.bounded(method, c.cfg.ConnectTimeout, c.cfg.ConnectTimeout)
}

func (c *conn) bounded(method string, timeout, most time.Duration) *call {
	k := &call{conn: c, id: c.ids.Add(1), method: method, modern: c.modern && !c.legacy}
	k.timer.Start(timeout, most, nil)
	return k
}

// addCall adds a call to those that wait for a reply; false means that it has ended before that.
func (c *conn) addCall(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lost:
		k.cause, k.lost = c.reason(), true
		return false
	case k.owner != nil && k.owner.closed.Load():
		k.cause = errClosed
		return false
	case k.ctx.Err() != nil:
		k.cause = context.Cause(k.ctx)
		return false
	}
	if len(c.questions) > 0 {
		k.timer.Hold()
	}
	c.calls[k.id], c.busy = k, true
	if k.owner != nil {
		name := k.owner.caller.Principal.Name
		c.mixed = c.mixed || c.served && c.principal != name
		c.principal, c.served = name, true
	}
	if !c.ticking {
		c.ticking = true
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
	return true
}

// endCall ends a call that waits for its reply: it gets an empty one. c.mu is held.
func (c *conn) endCall(k *call, cause error) {
	c.removeCall(k.id)
	k.cause = cause
	if k.scope != nil {
		k.scope.Cancel(cause)
	}
	k.reply <- bridge.Reply{}
}

// expire ends the calls whose time is over. It runs at intervals while there are calls: a timer
// for each would cost more than the rest of its bookkeeping.
func (c *conn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.acked == nil && k.timer.Expired() {
			c.endCall(k, errTimeout)
		}
	}
	c.ticking = len(c.calls) > 0 || !c.lost && c.busy // over HTTP a call may outlive its connection
	c.busy = false
	if c.ticking {
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
}

// tick is the interval at which calls are checked.
func (cfg *Config) tick() time.Duration {
	return min(max(cfg.Timeout/16, time.Millisecond), time.Second/2)
}

// callID returns the id of a call; 0, which no call has, for any other id.
func callID(raw []byte) int64 {
	id, _ := strconv.ParseInt(string(raw), 10, 64)
	return id
}

// takeCall removes a call, so that a second reply is not matched; nil means that the id is unknown. Who
// has taken a call sends its reply.
func (c *conn) takeCall(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[id]
	c.removeCall(id)
	return k
}

func (c *conn) findCall(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// onlyCall returns the call that waits for a reply, nil unless there is exactly one. It is nil
// too on a connection that has served several principals: what a server sends late, for a call
// that has ended, is not for the next caller.
func (c *conn) onlyCall() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mixed {
		return nil
	}
	var only *call
	for _, k := range c.calls {
		switch {
		case k.acked != nil:
		case only != nil:
			return nil
		default:
			only = k
		}
	}
	return only
}

// newestCall returns the call that a caller began last, nil if no caller has one, and whether it is
// the only one.
func (c *conn) newestCall() (newest *call, only bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.calls {
		if k.back != nil {
			n++
			if newest == nil || k.id > newest.id {
				newest = k
			}
		}
	}
	return newest, n == 1
}

// cancelCalls ends the calls of a caller that has gone.
func (c *conn) cancelCalls(owner *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.owner == owner {
			c.endCall(k, errClosed)
		}
	}
}

// life returns a context that ends with the call.
func (k *call) life() context.Context {
	k.conn.mu.Lock()
	defer k.conn.mu.Unlock()
	switch {
	case k.conn.calls[k.id] != k:
		ended, cancel := context.WithCancel(k.ctx)
		cancel()
		return ended
	case k.scope == nil:
		k.setScope()
	}
	return k.ctx
}

// setScope makes k.ctx one that ends with the call.
func (k *call) setScope() {
	k.scope = scope.Under(k.ctx)
	k.ctx = k.scope
}

// A carrier moves whole messages to and from one server.
type carrier interface {
	// send sends a message, which it then owns. It returns when the message is on its way; over
	// HTTP, when its response has been received. It does not wait after ctx has ended, which is that
	// of the caller where a send rarely waits: one that does waits until k.life has ended. k is the
	// call whose request the message is, nil for any other message; k.sent is set before the
	// first byte leaves.
	send(ctx context.Context, msg *wire.Buffer, k *call) error
	// established tells the carrier that the handshake is done.
	established(revision string)
	// close ends the connection and returns when nothing of it is left. It is called once.
	close()
}

// receiver takes what a carrier receives, in order.
type receiver interface {
	// receive takes a message. from is the call on whose own stream it came, nil if the carrier
	// has one stream for all calls.
	receive(msg *wire.Buffer, from *call)
	// tooLong takes what is known of a message over the limit, which the carrier has skipped.
	tooLong(long *wire.TooLongError, from *call)
	// lose reports that the connection is lost.
	lose(reason error)
}

// dialer makes a carrier.
type dialer func(ctx context.Context, cfg *Config, r receiver) (carrier, error)

// call is a request to the server that waits for its reply.
type call struct {
	conn           *conn
	id             int64
	owner          *session // whose request it is; nil means the bridge's own
	method, target string
	modern         bool              // a request of the modern era
	headers        map[string]string // that repeat arguments, over HTTP
	acked          func([]byte)      // takes what a listen is granted; only a listen has it, and no timeout
	back           bridge.Back
	task           *task             // to be remembered if the reply announces one; nil if it cannot
	token          []byte            // raw progress token of the caller; nil without one
	digits         [20]byte          // of the id
	parts          [][]byte          // of a long message, which lies in several places; nil if it is a whole
	timer          bridge.Timer      // held while the conn has questions
	ctx            context.Context   // of the caller; with scope, ends with the call
	scope          *scope.Scope      // is ctx; nil if nothing needs that
	sent           atomic.Bool       // its first byte has left
	queued         bool              // the carrier has taken it
	forNow         bool              // an HTTP status has refused it that passes
	leftOut        []leftOut         // of a list; set before the reply
	cause          error             // why the call has ended without a reply; set before an empty one
	lost           bool              // the cause is that of the connection's loss
	passing                          // of a long result
	late           *time.Timer       // ends a send that goes on after the reply; set before the reply, nil if the send has brought it
	reply          chan bridge.Reply // has room for one; there is never another
}

// lateTime is how long the send of a call may go on whose reply has come on another stream: its own response
// may never end.
const lateTime = time.Second

// answer replies to a call that has been taken. from is the call on whose stream the reply came, if any.
func (k *call) answer(r bridge.Reply, from *call) {
	if k != from && k.conn.waits {
		k.late = time.AfterFunc(lateTime, k.endContext)
	}
	k.reply <- r
}

// setSent notes that the first byte may have left; k may be nil.
func (k *call) setSent() {
	if k != nil {
		k.sent.Store(true)
	}
}
