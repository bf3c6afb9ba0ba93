package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A server of the modern era alone tells only those of changes who keep a
// subscriptions/listen open, from its acknowledgment on.

// listChanges is what a link wants to be told of by such a server.
const listChanges = `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`

// ackTime bounds how long the lists are not read because the server has not said yet
// whether it will tell of their changes.
const ackTime = 2 * time.Second

// hear has the server tell of list changes, and returns when it has agreed: lists that
// are read from then on miss none. One that does not agree, or not in time, is not
// waited for; the lists are read again when it does late, or anew.
func (l *link) hear(ctx context.Context, c *conn) {
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	settled, reading := make(chan struct{}), make(chan struct{})
	defer close(reading)
	settle := sync.OnceFunc(func() { close(settled) })
	c.start(func() {
		defer settle()
		c.listen(c.life, listChanges, func(granted []byte) error {
			if !grantsAny(granted) {
				return toolformat.Errorf(toolformat.Denied, "%s does not tell of list changes", c.cfg.Name)
			}
			select {
			case <-reading:
				for kind := range bridge.ListKinds {
					l.refresh(c, kind)
				}
			default:
				settle()
			}
			return nil
		})
	})
	select {
	case <-settled:
	case <-ctx.Done():
	case <-c.done:
	}
}

// grantsAny reports whether a server tells of any list changes.
func grantsAny(granted []byte) bool {
	for _, raw := range wire.Members(granted) {
		if string(raw) == "true" {
			return true
		}
	}
	return false
}

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
