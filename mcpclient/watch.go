package mcpclient

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/scope"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// watch is a resource of which callers of a link want updates. One goroutine at a time, which
// holds the turn, asks the server for them. Others wait for the outcome, and ask themselves if
// the server refused.
type watch struct {
	uri  string
	turn chan struct{} // full while a goroutine holds the turn

	// The fields below are guarded by link.mu.
	users    int // goroutines that hold the turn or wait for it
	sessions map[*session]struct{}
	at       *conn              // whose server sends updates; nil if it does not
	end      context.CancelFunc // ends the listen at a server of the modern era alone
}

const (
	// maxWatches bounds the resources of which a caller wants updates.
	maxWatches = 1000
	// maxWatchedURI bounds the URI of such a resource, and maxWatchedBytes those of a caller together.
	maxWatchedURI, maxWatchedBytes = 8 << 10, 256 << 10
)

// watch carries out a caller's resources/subscribe or unsubscribe. It returns when the server has
// agreed; of several callers, only the request of the first and the last is sent.
func (l *link) watch(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	if len(req.Target) > maxWatchedURI && req.Method == wire.MethodSubscribe {
		return bridge.Failed(l.cfg.errorf(toolformat.Invalid, "%s: the URI has %d bytes, more than %d", req.Method, len(req.Target), maxWatchedURI))
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.cfg.Timeout, errTimeout)
	defer cancel()
	w, err := l.takeTurn(limited, req.Target, s)
	if err != nil {
		return l.notWatched(err, req)
	}
	defer l.endTurn(w)
	if req.Method == wire.MethodUnsubscribe {
		return l.endWatch(ctx, req, s, w)
	}
	watched, full := l.addWatcher(w, s)
	switch {
	case full:
		return bridge.Failed(l.cfg.errorf(toolformat.Unavailable, "the client is subscribed to too many: at most %d resources, with URIs of %d bytes together: unsubscribe from some", maxWatches, maxWatchedBytes))
	case watched:
		return empty()
	}
	reply := l.beginWatch(ctx, limited, req, s, w)
	if reply.Err != nil {
		l.removeWatcher(w, s)
	}
	return reply
}

// beginWatch asks the server for updates. limited is ctx with the timeout that a call has of its
// own. The caller holds the turn.
func (l *link) beginWatch(ctx, limited context.Context, req *bridge.Request, s *session, w *watch) bridge.Reply {
	for attempt := 1; ; attempt++ {
		c, _, unready := l.awaitBriefly(ctx)
		if unready != nil {
			return bridge.Failed(unready)
		}
		if c.legacy {
			reply := l.call(ctx, req, s)
			if reply.Err == nil && l.conn.Load() == c { // a later connection is asked by rewatch
				l.setWatched(w, c)
			}
			return reply
		}
		err := l.listenForUpdates(limited, c, w, s.done)
		switch {
		case err == nil:
			return empty()
		case c.alive() || limited.Err() != nil || attempt == maxAttempts:
			return l.notWatched(err, req)
		}
	}
}

// notWatched returns the reply for a caller whose request about a watch came to nothing.
func (l *link) notWatched(err error, req *bridge.Request) bridge.Reply {
	var refused *toolformat.Error
	switch {
	case errors.As(err, &refused):
		return bridge.Failed(refused)
	case errors.Is(err, errTimeout):
		return bridge.Failed(l.cfg.errorf(toolformat.Timeout, tookLonger, subject(req), l.cfg.Timeout, "timeout"))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errClosed):
		return bridge.Failed(canceled(err))
	}
	return bridge.Failed(l.cfg.errorf(toolformat.Unavailable, "the connection was lost while %s was under way", subject(req)).Because(err))
}

// endWatch removes a session, and tells the server if it was the last one. The caller holds the
// turn.
func (l *link) endWatch(ctx context.Context, req *bridge.Request, s *session, w *watch) bridge.Reply {
	if !l.removeWatcher(w, s) {
		return empty()
	}
	c := l.conn.Load()
	if c == nil || !c.alive() || !c.legacy {
		return empty() // the next connection is not asked for it; endTurn ends a listen
	}
	l.setWatched(w, nil)
	var end time.Time
	for attempt := 1; ; attempt++ {
		reply, lost := c.do(ctx, req, s)
		if lost == nil {
			return reply
		}
		again := l.outlast(ctx, c, &end)
		switch {
		case !c.alive():
			return empty() // with the connection
		case !again || attempt == maxAttempts:
			return l.notWatched(lost.cause, req)
		}
	}
}

// takeTurn waits for the turn to ask the server about a resource; endTurn ends it. It fails when
// ctx ends before that, or the session that waits; s may be nil.
func (l *link) takeTurn(ctx context.Context, uri string, s *session) (*watch, error) {
	var closed chan struct{}
	if s != nil {
		closed = s.done
	}
	l.mu.Lock()
	w := l.watched[uri]
	if w == nil {
		w = &watch{uri: uri, turn: make(chan struct{}, 1), sessions: map[*session]struct{}{}}
		l.watched[uri] = w
	}
	w.users++
	l.mu.Unlock()
	var err error
	select {
	case w.turn <- struct{}{}:
		return w, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-closed:
		err = errClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveWatch(w)
	return nil, err
}

// endTurn ends the turn. If no caller wants updates any more it tells the server first.
func (l *link) endTurn(w *watch) {
	l.mu.Lock()
	var c *conn
	if len(w.sessions) == 0 {
		c, w.at = w.at, nil
	}
	l.mu.Unlock()
	switch {
	case c == nil || !c.alive():
	case !c.legacy:
		w.end()
	default:
		ctx, cancel := context.WithTimeout(&c.life, backgroundTime)
		c.replay(ctx, wire.MethodUnsubscribe, "uri", w.uri)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	<-w.turn
	l.leaveWatch(w)
}

// leaveWatch removes a watch that has neither users nor sessions. l.mu is held.
func (l *link) leaveWatch(w *watch) {
	if w.users--; w.users == 0 && len(w.sessions) == 0 {
		delete(l.watched, w.uri)
	}
}

// addWatcher adds a caller to a watch, unless it has gone or has too many. It reports whether the
// server sends updates already.
func (l *link) addWatcher(w *watch, s *session) (watched, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := w.sessions[s]; !ok && !s.closed.Load() {
		if s.watches.Load() >= maxWatches || s.watchedBytes.Load()+int64(len(w.uri)) > maxWatchedBytes {
			return false, true
		}
		s.watches.Add(1)
		s.watchedBytes.Add(int64(len(w.uri)))
		w.sessions[s] = struct{}{}
	}
	return w.at != nil && w.at == l.conn.Load() && w.at.alive(), false
}

// removeWatcher removes a caller from a watch. It reports whether it was the last one.
func (l *link) removeWatcher(w *watch, s *session) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return w.remove(s)
}

// remove is removeWatcher with link.mu held.
func (w *watch) remove(s *session) (last bool) {
	if _, ok := w.sessions[s]; ok {
		s.watches.Add(-1)
		s.watchedBytes.Add(-int64(len(w.uri)))
		delete(w.sessions, s)
	}
	return len(w.sessions) == 0
}

// setWatched notes whose server sends updates.
func (l *link) setWatched(w *watch, c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.at = c
}

// listenForUpdates opens a listen for a resource, and returns when the server has acknowledged
// it. After an error, which is that of the server, ctx or the connection, or errClosed, the
// listen is not open. The caller holds the turn.
func (l *link) listenForUpdates(ctx context.Context, c *conn, w *watch, closed <-chan struct{}) error {
	life := scope.Under(&c.life)
	end := func() { life.Cancel(nil) }
	outcome := make(chan error, 1)
	settle := func(err error) {
		select {
		case outcome <- err:
		default: // settled before
		}
	}
	filter := string(wire.AppendString([]byte(`{"resourceSubscriptions":[`), w.uri)) + "]}"
	c.start(func() {
		settle(c.listen(life, filter, func(granted []byte) error {
			for raw := range wire.Elements(wire.Lookup(granted, "resourceSubscriptions")) {
				if uri, _ := wire.Text(raw); uri == w.uri {
					settle(nil)
					return nil
				}
			}
			return toolformat.Errorf(toolformat.Denied, "%s does not notify of updates of %s", l.cfg.Name, w.uri)
		}))
	})
	var err error
	select {
	case err = <-outcome:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-closed:
		err = errClosed
	case <-c.life.Done():
		err = c.reason()
	}
	if err != nil {
		end()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w.at, w.end = c, end
	return nil
}

// rewatch asks a new connection for the updates that callers want of a resource. The error is that of a listen.
func (l *link) rewatch(c *conn, uri string) error {
	ctx, cancel := context.WithTimeoutCause(&c.life, l.cfg.Timeout, errTimeout)
	defer cancel()
	w, err := l.takeTurn(ctx, uri, nil)
	if err != nil {
		return err
	}
	defer l.endTurn(w)
	l.mu.Lock()
	wanted := len(w.sessions) > 0 && w.at != c
	l.mu.Unlock()
	switch {
	case !wanted:
	case !c.legacy:
		if err = l.listenForUpdates(ctx, c, w, nil); err != nil && c.alive() {
			l.cfg.throttle.Log(slog.LevelWarn, "a subscription could not be repeated on the new connection", "uri", uri, "reason", err)
		}
	case c.replay(ctx, wire.MethodSubscribe, "uri", uri):
		l.setWatched(w, c)
	}
	return err
}

// rewatchAll does rewatch for all resources in the background: at once in the modern era, where
// it ends when the server acknowledges, else one by one.
func (l *link) rewatchAll(c *conn) {
	l.mu.Lock()
	var uris []string
	for uri, w := range l.watched {
		if len(w.sessions) > 0 {
			uris = append(uris, uri)
		} else if w.users == 0 {
			delete(l.watched, uri)
		}
	}
	l.mu.Unlock()
	if !c.legacy {
		for _, uri := range uris {
			c.start(func() { insist(&c.life, func() error { return l.rewatch(c, uri) }) })
		}
		return
	}
	c.start(func() {
		for _, uri := range uris {
			l.rewatch(c, uri)
		}
	})
}

// unwatchAll ends the subscriptions of a caller that has gone.
func (l *link) unwatchAll(s *session) {
	l.mu.Lock()
	var unwanted []string
	for uri, w := range l.watched {
		if _, ok := w.sessions[s]; ok && w.remove(s) {
			unwanted = append(unwanted, uri)
		}
	}
	l.mu.Unlock()
	c := l.conn.Load()
	if c == nil || len(unwanted) == 0 {
		return // the next connection is not asked for them
	}
	c.start(func() {
		for _, uri := range unwanted {
			if w, err := l.takeTurn(&c.life, uri, nil); err == nil {
				l.endTurn(w)
			}
		}
	})
}

// watching reports whether callers of the link want updates of any resource.
func (l *link) watching() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watched {
		if len(w.sessions) > 0 { // others may have the turn to unsubscribe
			return true
		}
	}
	return false
}

// updated passes the update of a resource to the callers that want it. The caller of a link of its
// own gets all of them: some servers send updates without subscriptions. On a link of one principal
// the update of a part goes to the subscribers of the whole too, else only to those of that very
// resource: its URI may be known to another principal alone.
func (l *link) updated(params []byte) {
	if l.key.own {
		l.notifyAll(wire.NotificationResourceUpdated, params)
		return
	}
	uri, _ := wire.Text(wire.Lookup(params, "uri"))
	l.mu.Lock()
	defer l.mu.Unlock()
	for watched, w := range l.watched {
		if uri != watched && (l.mixed || !wire.Within(uri, watched)) {
			continue
		}
		for s := range w.sessions {
			s.notify(wire.NotificationResourceUpdated, params)
		}
	}
}
