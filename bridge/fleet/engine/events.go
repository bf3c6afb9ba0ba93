package engine

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
)

// Publish sends an event to all nodes that subscribed to the subject, this one too. Nobody gets it later, and
// nobody says who got it. The error is ErrTooLarge, or ErrUnavailable if there is no connection.
func (e *Engine) Publish(to string, data []byte) error {
	err := error(nil)
	switch m := (&nats.Msg{Subject: e.prefix + "ev." + subject(to), Data: data}); {
	case len(data) > MaxSize:
		err = ErrTooLarge
	case !e.conn.IsConnected():
		err = ErrUnavailable
	default:
		err = e.conn.PublishMsg(m)
	}
	return failure(e.ctx, "publish "+to, err)
}

// Subscribe calls f with the data of the events of a subject, until stop; f must not change it. Those of a
// node come in the order in which it published them, one call at a time. Events are lost while the connection is,
// and if f is too slow for too long, which is logged.
func (e *Engine) Subscribe(to string, f func(data []byte)) (stop func(), err error) {
	sub, err := e.conn.SubscribeSync(e.prefix + "ev." + subject(to))
	if err != nil {
		return nil, failure(e.ctx, "subscribe to "+to, err)
	}
	if e.conn.IsConnected() {
		if err := e.conn.FlushTimeout(time.Second); err != nil { // so that what is published from now on comes
			e.log.Debug("a subscription was not confirmed", "subject", to, "error", err)
		}
	}
	ctx, cancel := context.WithCancel(e.ctx)
	e.start(func() {
		defer cancel()
		for {
			m, err := sub.NextMsgWithContext(ctx)
			switch {
			case ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrBadSubscription):
				return
			case err != nil:
				e.log.Warn("events were lost", "subject", to, "error", err)
			default:
				f(m.Data)
			}
		}
	})
	return func() {
		cancel()
		if err := sub.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			e.log.Debug("end of a subscription", "error", err)
		}
	}, nil
}
