package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Event is what a node published. Its data must not be changed.
type Event struct {
	From    string // the node's id
	Subject string
	Data    []byte
}

const fromHeader = "Mb-Node"

// Publish sends an event to all nodes that subscribed to the subject, this one too. Nobody gets it later, and
// nobody says who got it. The error is ErrTooLarge, or ErrUnavailable if there is no connection.
func (e *Engine) Publish(to string, data []byte) error {
	err := error(nil)
	switch m := (&nats.Msg{Subject: e.prefix + "ev." + subject(to), Header: nats.Header{fromHeader: {e.options.Node}}, Data: data}); {
	case len(data) > MaxSize:
		err = ErrTooLarge
	case !e.conn.IsConnected():
		err = ErrUnavailable
	default:
		err = e.conn.PublishMsg(m)
	}
	return failure(e.ctx, "publish "+to, err)
}

// Subscribe calls f with the events whose subjects match a pattern, as in Bucket.Watch, until stop. Those of a
// node come in the order in which it published them, one call at a time. Events are lost while the connection is,
// and if f is too slow for too long, which is logged.
func (e *Engine) Subscribe(to string, f func(Event)) (stop func(), err error) {
	sub, err := e.conn.SubscribeSync(e.prefix + "ev." + pattern(to))
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
				name, _ := key(strings.TrimPrefix(m.Subject, e.prefix+"ev."))
				f(Event{From: m.Header.Get(fromHeader), Subject: name, Data: m.Data})
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
