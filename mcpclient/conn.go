package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// conn is one live connection: it matches answers and notifications to calls.
type conn struct {
	link    *link
	cfg     *Config
	carrier carrier   // to be used once dialled is closed
	flood   *throttle // the log, for what a server can cause at will
	told    []byte    // what the server is told of its callers where they do not say it: MCP's ClientCapabilities
	offered []byte    // what of it the server may ask for at any time

	legacy   bool   // initialize was answered
	modern   bool   // server/discover was answered: requests of the modern era are understood
	greeting []byte // the server's InitializeResult
	revision string // the protocol revision negotiated

	dialled chan struct{}
	ready   chan struct{} // closed when the lists have been read

	ids    atomic.Int64
	life   context.Context // ends when the connection is lost, by the reason
	end    context.CancelCauseFunc
	done   <-chan struct{} // of life
	err    error           // why it was lost; set before life ends
	work   sync.WaitGroup
	answer chan struct{} // bounds what is sent in the background

	refreshing [bridge.ListKinds]atomic.Bool // a list is about to be read again
	reading    [bridge.ListKinds]sync.Mutex  // held while a list is read again

	mu      sync.Mutex // guards what follows
	lost    bool
	under   map[int64]*call
	asks    map[string]context.CancelFunc // the server's questions by their raw id
	ticking bool                          // expire will run
	busy    bool                          // a call has begun since it ran last

	served     string // the principal of the last call, when servedOne
	servedOne  bool
	servedMany bool // there have been calls of several principals
}

func newConn(l *link) *conn {
	cfg := &l.client.cfg
	c := &conn{link: l, cfg: cfg, flood: cfg.flood, told: cfg.offer([]byte(l.key.capabilities)), offered: cfg.offer(l.key.offered()), dialled: make(chan struct{}), ready: make(chan struct{}), under: map[int64]*call{}, asks: map[string]context.CancelFunc{}, answer: make(chan struct{}, 16)}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.done = c.life.Done()
	return c
}

// loss says that the connection was lost under a request.
type loss struct {
	cause        error
	surelyNotRun bool
}

var errTimeout = errors.New("timeout")

// tookLonger tells a caller of the limit of the configuration that has ended its request.
const tookLonger = "%s: %s took longer than %s (%s in its config)"

// do sends a caller's request and waits for its reply. The loss is not nil when the
// connection was lost first.
func (c *conn) do(ctx context.Context, req *bridge.Request, owner *session) (bridge.Reply, *loss) {
	k := c.newCall(req.Method)
	k.owner, k.back, k.target = owner, req.Back, req.Target
	k.modern = c.modern && (!c.legacy || owner.caller.Modern && !legacyAlone(req.Method))
	switch {
	case k.modern && req.Method == wire.MethodToolsCall:
		k.headers = c.paramHeaders(req)
	case k.modern && k.target == "" && req.Params != nil: // tasks go where their id leads
		k.target, _ = req.Params.Text(wire.TaskID)
	}
	reply, l := c.roundTrip(ctx, k, c.encode(k, req))
	reply.Modern = k.modern
	if reply.Err != nil && reply.Err.Code == toolformat.Timeout && reply.Err.Raw == nil {
		limit, key := c.cfg.Timeout, "timeout"
		if k.timer.AtMaximum() && c.cfg.MaxTimeout > limit {
			limit, key = c.cfg.MaxTimeout, "maxTimeout"
		}
		reply.Err.Message = fmt.Sprintf(tookLonger, c.cfg.Name, subject(req), limit, key)
	}
	return reply, l
}

// request sends a request of our own.
func (c *conn) request(ctx context.Context, method string, params []byte) (bridge.Reply, error) {
	return c.requestCall(ctx, c.newCall(method), params)
}

func (c *conn) requestCall(ctx context.Context, k *call, params []byte) (bridge.Reply, error) {
	buf := wire.NewBuffer(len(params) + 128)
	if k.modern {
		split, err := wire.SplitParams(params)
		if err != nil {
			return bridge.Reply{}, err
		}
		buf.B = wire.AppendRequest(buf.B, k.id, k.method, &split, c.modernEdits(nil, nil)...)
	} else {
		buf.B = wire.AppendCall(buf.B, k.id, k.method, params)
	}
	reply, l := c.roundTrip(ctx, k, buf)
	switch {
	case l != nil:
		return bridge.Reply{}, l.cause
	case reply.Err != nil:
		return bridge.Reply{}, reply.Err
	}
	return reply, nil
}

// roundTrip sends the message of a call and waits for its reply, the end of ctx, or
// the call's timeout.
func (c *conn) roundTrip(ctx context.Context, k *call, msg *wire.Buffer) (bridge.Reply, *loss) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k.ctx, k.end = ctx, cancel
	if !c.enter(k) {
		msg.Free()
		return bridge.Reply{}, &loss{cause: c.err, surelyNotRun: true}
	}
	defer c.leave(k)
	if k.owner != nil && k.owner.closed.Load() { // Close may not have seen this call
		cancel(errClosed)
	}
	if ctx.Err() != nil {
		msg.Free()
		return bridge.Failed(c.abandon(context.Cause(ctx), k)), nil
	}
	err := c.carrier.send(ctx, msg, k)
	if err != nil && ctx.Err() == nil {
		select {
		case r := <-k.reply: // it came all the same
			return r, nil
		default:
			return c.failed(err, k)
		}
	}
	k.queued = err == nil
	select {
	case r := <-k.reply:
		return r, nil
	case <-ctx.Done():
		return bridge.Failed(c.abandon(context.Cause(ctx), k)), nil
	case <-c.done:
		select {
		case r := <-k.reply:
			return r, nil
		default:
		}
		if ctx.Err() != nil { // a caller that goes may take the connection with it
			return bridge.Failed(c.abandon(context.Cause(ctx), k)), nil
		}
		return bridge.Reply{}, &loss{cause: c.err, surelyNotRun: !k.sent.Load()}
	}
}

// failed is what becomes of a request that the carrier could not send: an error that
// the carrier made for the caller, or a loss.
func (c *conn) failed(err error, k *call) (bridge.Reply, *loss) {
	var e *toolformat.Error
	if errors.As(err, &e) {
		return bridge.Failed(e), nil
	}
	return bridge.Reply{}, &loss{cause: err, surelyNotRun: !k.sent.Load() || errors.Is(err, errSessionGone)}
}

// abandon gives up a call whose caller has gone or whose time is over, and tells the
// server when it knows of it.
func (c *conn) abandon(cause error, k *call) *toolformat.Error {
	if k.sent.Load() || k.queued {
		c.background(func(ctx context.Context) {
			buf := wire.NewBuffer(96)
			params := append(strconv.AppendInt([]byte(`{"requestId":`), k.id, 10), '}')
			buf.B = wire.AppendNotification(buf.B, wire.NotificationCancelled, params)
			c.carrier.send(ctx, buf, nil)
		})
	}
	if errors.Is(cause, errTimeout) {
		return toolformat.Errorf(toolformat.Timeout, "%s took too long", c.cfg.Name)
	}
	return toolformat.Errorf(toolformat.Canceled, "cancelled").Because(cause)
}

// backgroundTime bounds what is sent for nobody's call.
const backgroundTime = 2 * time.Second

// background sends something that no caller waits for. What exceeds its bound is
// dropped: it is answers to a server that floods us with requests, and cancellations
// of calls to a server that takes nothing any more.
func (c *conn) background(f func(context.Context)) {
	select {
	case c.answer <- struct{}{}:
	default:
		c.flood.Log(slog.LevelDebug, "dropped an answer: too many are waiting to be sent")
		return
	}
	c.start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), backgroundTime)
		defer cancel()
		select {
		case <-c.dialled: // a server may speak before that
			f(ctx)
		case <-ctx.Done():
		}
		<-c.answer
	})
}

// start runs f in a goroutine that close waits for, unless the connection is lost.
func (c *conn) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.lost {
		c.work.Go(f)
	}
}

func (c *conn) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// lose marks the connection as lost; calls under way learn of it. Only the first
// reason counts.
func (c *conn) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loseLocked(err)
}

// retire loses the connection unless a call is under way; what only listens is none. It
// reports whether it has.
func (c *conn) retire(why error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.under {
		if k.acked == nil {
			return false
		}
	}
	c.loseLocked(why)
	return true
}

// loseLocked is lose with c.mu held.
func (c *conn) loseLocked(err error) {
	if c.lost {
		return
	}
	c.lost, c.err = true, err
	for id, cancel := range c.asks {
		cancel()
		c.removeAsk(id)
	}
	c.end(err)
}

// close ends the connection and waits until nothing of it is left.
func (c *conn) close(why error) {
	c.mu.Lock()
	if !c.lost { // nobody wants it any more: what is under way ends too
		for _, k := range c.under {
			k.end(why)
		}
	}
	c.mu.Unlock()
	c.lose(why)
	c.work.Wait()
	c.carrier.close()
}
