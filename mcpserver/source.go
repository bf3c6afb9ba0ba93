package mcpserver

import (
	"context"
	"runtime/debug"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// open opens the source for a caller. Nothing else in this package calls the source but through
// the session that it returns.
func (c *core) open(ctx context.Context, caller *bridge.Caller) (_ bridge.Session, failure *toolformat.Error) {
	defer func() {
		if p := recover(); p != nil {
			failure = c.panicked("Open", p)
		}
	}()
	session, err := c.source.Open(ctx, caller)
	if err != nil {
		return nil, shuttingDown(err)
	}
	return &sourceSession{session, c}, nil
}

// sourceSession is a session of the source. It makes a panic in the source, which would end the
// process in most goroutines, an internal error of the call.
type sourceSession struct {
	bridge.Session
	core *core
}

func (s *sourceSession) List(ctx context.Context, kind bridge.ListKind) (_ *bridge.List, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.core.panicked("List", p)
		}
	}()
	return s.Session.List(ctx, kind)
}

func (s *sourceSession) Do(ctx context.Context, req *bridge.Request) (reply bridge.Reply) {
	defer func() {
		if p := recover(); p != nil {
			reply = bridge.Failed(s.core.panicked(req.Method, p))
		}
	}()
	return s.Session.Do(ctx, req)
}

func (s *sourceSession) Close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.core.panicked("Close", p)
		}
	}()
	return s.Session.Close()
}

func (c *core) panicked(call string, p any) *toolformat.Error {
	c.opts.Log.Error("the source has panicked", "in", call, "panic", p, "stack", string(debug.Stack()))
	return toolformat.Errorf(toolformat.Internal, "internal error")
}
