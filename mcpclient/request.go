package mcpclient

import (
	"context"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// maxAttempts bounds how often a request is sent.
const maxAttempts = 3

// call carries out a request of a caller. If the connection is lost it repeats the request on
// the next one where that is safe.
func (l *link) call(ctx context.Context, req *bridge.Request, owner *session) bridge.Reply {
	for attempt := 1; ; attempt++ {
		c, err := l.awaitBriefly(ctx)
		if err != nil {
			return bridge.Failed(err)
		}
		if owner.closed.Load() {
			return bridge.Failed(canceled(errClosed))
		}
		if req.Method == wire.MethodDiscover {
			return bridge.Result(c.about, nil)
		}
		reply, lost := c.do(ctx, req, owner)
		if lost == nil && reply.Modern && (!owner.caller.Modern || l.cfg.Sampling != nil) {
			reply, lost = c.provideInput(ctx, req, owner, reply)
		}
		if l.cfg.Lazy {
			l.used.Store(time.Now().UnixNano())
		}
		switch {
		case lost == nil:
			l.rememberTask(req, &reply, owner)
			return reply
		case attempt < maxAttempts && (lost.surelyNotRun || l.repeatable(req)):
			l.cfg.Log.Info("repeating a request on a new connection", "method", req.Method, "target", req.Target, "reason", lost.cause)
		case lost.surelyNotRun:
			return bridge.Failed(l.cfg.errorf(toolformat.Unavailable, "the connection was lost before %s could be sent", subject(req)).Because(lost.cause))
		default:
			return bridge.Failed(l.cfg.errorf(toolformat.Unavailable,
				"the connection was lost while %s was under way: it is unknown whether it ran", subject(req)).Because(lost.cause))
		}
	}
}

// awaitBriefly returns the live connection, waiting for it no longer than connecting may take.
func (l *link) awaitBriefly(ctx context.Context) (*conn, *toolformat.Error) {
	if c := l.conn.Load(); c != nil && c.alive() {
		return c, nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.ConnectTimeout)
	defer cancel()
	return l.await(ctx)
}

// repeatable reports whether running the request twice has no more effect than once.
func (l *link) repeatable(req *bridge.Request) bool {
	if req.Method != wire.MethodToolsCall {
		return true
	}
	it, ok := l.tool(req.Target)
	return ok && it.Repeatable
}

// empty returns an empty result.
func empty() bridge.Reply { return bridge.Result([]byte("{}"), nil) }
