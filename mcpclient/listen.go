package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server of the modern era alone notifies of changes only on a subscriptions/listen that is
// open, from its acknowledgment on.

// listen keeps a subscriptions/listen open until ctx ends, which must end with the connection.
// Each time the server is asked, acked takes what it grants of the filter before it notifies of
// anything. acked must not block; its error counts as a refusal. If the first attempt is refused,
// listen returns why.
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
		case time.Since(start) >= steadyTime:
			delay = time.Second
		}
		if !sleep(ctx, delay) {
			return context.Cause(ctx)
		}
	}
}

// listenOnce keeps a subscriptions/listen open until it ends. The error is a refusal; nil means
// that it ended as any stream may.
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
