package mcpclient

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// notified implements handler: it passes a notification that belongs to no call to the callers
// that it is for.
func (l *link) notified(c *conn, method string, params []byte) {
	switch method {
	case wire.NotificationMessage:
		l.logged(params)
	case wire.NotificationTaskStatus:
		l.taskChanged(params)
	case wire.NotificationResourceUpdated:
		l.updated(withoutSubscription(params))
	default:
		for kind := range bridge.ListKinds {
			if kind.Changed() == method {
				l.refresh(c, kind)
				return
			}
		}
		l.cfg.throttle.Log(slog.LevelDebug, "skipped a notification", "method", method)
	}
}

// logged takes a log message. On a shared link it goes to the bridge's own log.
func (l *link) logged(params []byte) {
	if !l.key.own {
		l.cfg.throttle.Log(slog.LevelInfo, "log message of the server", "params", snippet(params))
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

// withoutSubscription removes the id of the listen on whose stream params came.
func withoutSubscription(params []byte) []byte {
	if !bytes.Contains(params, []byte("subscriptionId")) {
		return params
	}
	p, err := wire.SplitParams(bytes.Clone(params))
	if err != nil {
		return params
	}
	return p.Append(nil, wire.Edit{Key: wire.MetaSubscriptionID})
}

// ask implements handler: it puts a question that belongs to no known call to the link's only
// caller.
func (l *link) ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	caller := l.onlyCaller()
	if caller == nil || caller.Ask == nil {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the client has gone")
	}
	return caller.Ask(ctx, method, params)
}

// onlyCaller returns the caller of a link of its own; nil if it has gone.
func (l *link) onlyCaller() *bridge.Caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.sessions {
		return s.caller
	}
	return nil
}
