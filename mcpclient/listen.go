package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server of the modern era alone tells only those of changes who keep a
// subscriptions/listen open, from its acknowledgment on.

// listen keeps a subscriptions/listen open until ctx, which ends with the connection,
// ends. acked takes what the server grants of the filter, each time that it has been
// asked, before it tells of anything; it must not block, and its error is a refusal. When
// the server refuses the first time, listen gives up and returns why.
func (c *conn) listen(ctx context.Context, filter string, acked func(granted []byte) error) error {
	var agreed atomic.Bool
	for delay := time.Second; ; delay = min(2*delay, time.Minute) {
		start := time.Now()
		err := c.listenOnce(ctx, filter, func(granted []byte) error {
			err := acked(granted)
			if err == nil {
				agreed.Store(true)
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !agreed.Load():
			return err
		case time.Since(start) >= steady:
			delay = time.Second
		}
		if !sleep(ctx, delay) {
			return context.Cause(ctx)
		}
	}
}

// listenOnce keeps a subscriptions/listen open until it ends. The error is a refusal;
// without one it ended as any stream may.
func (c *conn) listenOnce(ctx context.Context, filter string, acked func(granted []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k := c.newCall(wire.MethodListen)
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
		return cause
	case errors.As(err, &refused):
		return refused
	case err == nil && !answered.Load():
		return toolformat.Errorf(toolformat.Unavailable, "%s ended a %s that it had not acknowledged", c.cfg.Name, wire.MethodListen)
	}
	return nil
}

// acknowledged takes what the server grants to the listen on whose stream it came, else
// to the one that it names.
func (c *conn) acknowledged(m *wire.Message, from *call) {
	if from == nil || from.acked == nil {
		id, err := strconv.ParseInt(string(m.Params.Get(wire.MetaSubscriptionID)), 10, 64)
		if from = nil; err == nil {
			from = c.find(id)
		}
	}
	if from == nil || from.acked == nil {
		c.flood.Log(slog.LevelDebug, "skipped an acknowledgment of no listen that is open")
		return
	}
	from.acked(wire.Lookup(m.Params.Raw, "notifications"))
}
