package mcpclient

import (
	"context"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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
