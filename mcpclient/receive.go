package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxBatch bounds the messages of a batch that a server sends.
const maxBatch = 1000

// receive implements receiver. What cannot be used is logged and skipped: it harms only the call
// that it was the response to.
func (c *conn) receive(buf *wire.Buffer, from *call) {
	members, isBatch, err := wire.SplitBatch(buf.B, maxBatch) // which revision 2025-03-26 allows
	if !isBatch {
		c.receiveOne(buf, from)
		return
	}
	defer buf.Free()
	if err != nil {
		c.malformed(err, buf.B, from)
		return
	}
	for _, raw := range members {
		member := wire.NewBuffer(len(raw))
		member.B = append(member.B, raw...)
		c.receiveOne(member, from)
	}
}

// receiveOne takes a message that is not a batch.
func (c *conn) receiveOne(buf *wire.Buffer, from *call) {
	m, err := wire.Split(buf.B)
	if err != nil {
		c.malformed(err, buf.B, from)
		buf.Free()
		return
	}
	switch m.Kind() {
	case wire.Response:
		c.answered(&m, buf, from)
	case wire.Request:
		c.requested(&m, buf, from)
	default:
		c.cfg.hideNotification(&m)
		c.received(&m, from)
		buf.Free()
	}
}

// answered hands a response, and the memory it lies in, to its call. from is the call on whose stream it
// came, if any.
func (c *conn) answered(m *wire.Message, buf *wire.Buffer, from *call) {
	k, size := c.takeCall(callID(m.ID)), len(buf.B)
	switch {
	case k == nil:
		c.cfg.throttle.Log(slog.LevelDebug, "skipped a response that no call waits for", "id", string(m.ID))
		buf.Free()
	case m.Error != nil:
		e := c.cfg.remoteError(m.Error)
		buf.Free()
		if k.method == wire.MethodTasksResult {
			c.link.resultFailed(k, e)
		}
		k.answer(withSize(bridge.Failed(e), size), from)
	default:
		if k.task != nil { // before what the server says of it next
			c.link.rememberTask(c, k.task, m.Result)
		}
		if k == from { // else another goroutine may have it
			k.own = true
		}
		reply := withSize(bridge.Result(m.Result, buf), size)
		reply.Usual = m.Usual
		k.answer(reply, from)
	}
}

// withSize returns the reply that a response of some bytes has brought.
func withSize(r bridge.Reply, size int) bridge.Reply {
	r.Received = size
	return r
}

// received takes a notification: progress for the call of its token, a log message for the call
// on whose stream it came or the only one.
func (c *conn) received(m *wire.Message, from *call) {
	switch m.Method {
	case wire.NotificationProgress:
		c.progressed(m)
		return
	case wire.NotificationCancelled:
		c.withdrawn(m, from)
		return
	case wire.NotificationSubscribed:
		c.acknowledged(m, from)
		return
	case wire.NotificationMessage:
		if from == nil {
			from = c.onlyCall()
		}
		if from != nil && from.back != nil {
			if from.owner.wants(m.Params.Raw) {
				from.notify(m.Method, m.Params.Raw)
			}
			return
		}
	}
	c.link.notified(c, m, from)
}

// withdrawn takes the notification that the server has ended a listen, which answers that (2026-07-28,
// cancellation), or that it does not wait for the answer to a question any more.
func (c *conn) withdrawn(m *wire.Message, from *call) {
	id := m.Params.Get(wire.RequestID)
	k := c.findCall(callID(id))
	switch {
	case k == nil || k.acked == nil:
		c.endQuestion(string(id))
	case c.takeCall(k.id) != nil:
		k.answer(empty(), from)
	}
}

// progressed extends the call and passes the progress to its caller under the caller's own token.
func (c *conn) progressed(m *wire.Message) {
	id := callID(m.Params.Get(wire.ProgressToken))
	k := c.findCall(id)
	if k == nil {
		if task, ok := c.link.taskProgressed(c, id, m); ok {
			c.extendResults(task)
		} else {
			c.cfg.throttle.Log(slog.LevelDebug, "skipped progress of a call that is not under way")
		}
		return
	}
	k.timer.Extend()
	if k.token == nil || k.back == nil {
		return
	}
	buf := wire.NewBuffer(len(m.Params.Raw) + len(k.token))
	buf.B = m.Params.Append(buf.B, wire.Edit{Key: wire.ProgressToken, Value: k.token})
	k.notify(m.Method, buf.B)
	buf.Free()
}

// notify passes a notification to the caller.
func (k *call) notify(method string, params []byte) {
	defer k.conn.cfg.recovered(nil)
	k.back.Notify(method, params)
}

// notified passes a notification to the callers that it is for. from is the call on whose stream it
// came, if any.
func (l *link) notified(c *conn, m *wire.Message, from *call) {
	if m.Params.Get(wire.MetaSubscriptionID) != nil { // of a listen of the bridge
		m.Params, _ = wire.SplitParams(m.Params.Append(nil, wire.Edit{Key: wire.MetaSubscriptionID})) // cannot fail: a member less
	}
	params := m.Params.Raw
	switch m.Method {
	case wire.NotificationMessage:
		l.logged(params)
	case wire.NotificationTaskStatus:
		l.taskChanged(m)
	case wire.NotificationResourceUpdated:
		l.updated(params)
	default:
		switch {
		case l.listChanged(c, m.Method):
		case from != nil && from.back != nil:
			from.notify(m.Method, params)
		case l.key.own:
			l.notifyAll(m.Method, params)
		default:
			l.cfg.throttle.Log(slog.LevelDebug, "skipped a notification", "method", m.Method)
		}
	}
}

// notifyAll passes a notification to the caller of a link of its own.
func (l *link) notifyAll(method string, params []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		s.notify(method, params)
	}
}

// logged takes a log message. On a shared link it goes to the bridge's own log.
func (l *link) logged(params []byte) {
	if !l.key.own {
		l.cfg.throttle.Log(slog.LevelInfo, "log message of the server", "params", l.cfg.snippet(params))
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		if s.wants(params) {
			s.notify(wire.NotificationMessage, params)
		}
	}
}

// ask puts a question that belongs to no known call to the caller of a link of its own.
func (l *link) ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	var ask asker
	l.mu.Lock()
	for s := range l.sessions {
		ask = s.caller.Ask
	}
	l.mu.Unlock()
	if ask == nil {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the client has gone")
	}
	return ask(ctx, method, params)
}

// A server of the modern era alone notifies of changes only on a subscriptions/listen that is
// open, from its acknowledgment on.

// steadyListen is how long a listen must have been open for the next one to be sent soon.
const steadyListen = 5 * time.Second

// listen keeps a subscriptions/listen open until ctx ends, which must end with the connection.
// Each time the server is asked, acked takes what it grants of the filter before it notifies of
// anything. acked must not block; its error counts as a refusal. If the first attempt is refused,
// listen returns why.
func (c *conn) listen(ctx context.Context, filter string, acked func(granted []byte) error) error {
	ever := false
	for delay := time.Second; ; delay = min(2*delay, time.Minute) {
		start := time.Now()
		agreed, err := c.listenOnce(ctx, filter, acked)
		ever = ever || agreed
		switch {
		case ctx.Err() != nil:
			return scope.Cause(ctx)
		case err != nil && !ever:
			return err
		case time.Since(start) >= steadyListen:
			delay = time.Second
		}
		if !sleep(ctx, delay) {
			return scope.Cause(ctx)
		}
	}
}

// insist runs f, which listens, until it is not refused for a moment only, or ctx has ended.
func insist(ctx context.Context, f func() error) {
	for delay := time.Second; refusedNow(f()) && sleep(ctx, delay); delay = min(2*delay, time.Minute) {
	}
}

// A forNowError is the refusal of a listen with a status that passes, by a server that has its method.
type forNowError struct{ error }

func (e *forNowError) Unwrap() error { return e.error }

// refusedNow reports whether a listen was refused with a status that passes.
func refusedNow(err error) bool {
	var e *forNowError
	return errors.As(err, &e)
}

// listenOnce keeps a subscriptions/listen open until it ends, and reports whether the server and
// acked have agreed to it. The error is a refusal; nil means that it ended as any stream may.
func (c *conn) listenOnce(ctx context.Context, filter string, acked func(granted []byte) error) (agreed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := c.newOwn(wire.MethodListen)
	var answered atomic.Bool
	k.acked = func(granted []byte) {
		if answered.Swap(true) {
			return
		}
		if err := acked(granted); err != nil {
			cancel(err)
		}
	}
	reply, err := c.requestCall(ctx, k, []byte(`{"notifications":`+filter+`}`))
	if err == nil {
		reply.Free()
	}
	var refused *toolformat.Error
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return false, cause
	case errors.As(err, &refused) && k.forNow && refused.Code != toolformat.Unsupported:
		return answered.Load(), &forNowError{refused}
	case errors.As(err, &refused):
		return answered.Load(), refused
	case err == nil && !answered.Load():
		return false, toolformat.Errorf(toolformat.Unavailable, "%s ended a %s that it had not acknowledged", c.cfg.Name, wire.MethodListen)
	}
	return answered.Load(), nil
}

// acknowledged takes what the server grants to the listen on whose stream it came, else to the
// listen that it names.
func (c *conn) acknowledged(m *wire.Message, from *call) {
	if from == nil || from.acked == nil {
		from = c.findCall(callID(m.Params.Get(wire.MetaSubscriptionID)))
	}
	if from == nil || from.acked == nil {
		c.cfg.throttle.Log(slog.LevelDebug, "skipped an acknowledgment of a listen that is not open")
		return
	}
	from.acked(wire.Lookup(m.Params.Raw, "notifications"))
}
