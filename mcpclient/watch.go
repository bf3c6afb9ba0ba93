package mcpclient

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// watch is a resource that callers of a link want to be told of. The server is asked
// about it by one at a time: whoever comes meanwhile waits for the outcome, and asks
// itself when that was no.
type watch struct {
	uri  string
	turn chan struct{} // holds one, which is its holder's who may ask the server

	// What follows is guarded by link.mu.
	users    int // who has the turn, and who waits for it
	sessions map[*session]struct{}
	at       *conn              // whose server tells of it; nil: none
	end      context.CancelFunc // ends the listen at a server of the modern era alone
}

// subscribe has the server tell a caller of a resource, and returns when it has agreed.
func (l *link) subscribe(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	limited, cancel := context.WithTimeoutCause(ctx, l.client.cfg.Timeout, errTimeout)
	defer cancel()
	w, err := l.hold(limited, req.Target, s)
	if err != nil {
		return l.gaveUp(err, req)
	}
	defer l.release(w)
	told, full := l.joined(w, s)
	switch {
	case full:
		return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%s: the client is told of %d resources already: unsubscribe from some", l.client.cfg.Name, maxWatched))
	case told:
		return bridge.Result([]byte("{}"), nil)
	}
	reply := l.begin(ctx, limited, req, s, w)
	if reply.Err != nil {
		l.mu.Lock()
		w.part(s)
		l.mu.Unlock()
	}
	return reply
}

// begin asks the server to tell of a resource, on behalf of a caller who is told from
// then on. limited is ctx with the time limit of the request, which a call keeps itself.
func (l *link) begin(ctx, limited context.Context, req *bridge.Request, s *session, w *watch) bridge.Reply {
	const attempts = 3
	for n := 1; ; n++ {
		c, unready := l.readyFor(ctx)
		if unready != nil {
			return bridge.Failed(unready)
		}
		if c.legacy {
			reply := l.call(ctx, req, s)
			if reply.Err == nil && l.conn.Load() == c { // else a later connection asks again
				l.mu.Lock()
				w.at = c
				l.mu.Unlock()
			}
			return reply
		}
		err := l.watchModern(limited, c, w, s.done)
		switch {
		case err == nil:
			return bridge.Result([]byte("{}"), nil)
		case c.alive() || limited.Err() != nil || n == attempts:
			return l.gaveUp(err, req)
		}
	}
}

// gaveUp is the reply for a caller whose subscription came to nothing.
func (l *link) gaveUp(err error, req *bridge.Request) bridge.Reply {
	name := l.client.cfg.Name
	var refused *toolformat.Error
	switch {
	case errors.As(err, &refused):
		return bridge.Failed(refused)
	case errors.Is(err, errTimeout):
		return bridge.Failed(toolformat.Errorf(toolformat.Timeout, tookLonger, name, subject(req), l.client.cfg.Timeout, "timeout"))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errClosed):
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "cancelled").Because(err))
	}
	return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "%s: the connection was lost while %s was under way", name, subject(req)).Because(err))
}

// unsubscribe is the reverse: only the last caller's is sent.
func (l *link) unsubscribe(ctx context.Context, req *bridge.Request, s *session) bridge.Reply {
	limited, cancel := context.WithTimeoutCause(ctx, l.client.cfg.Timeout, errTimeout)
	defer cancel()
	w, err := l.hold(limited, req.Target, s)
	if err != nil {
		return l.gaveUp(err, req)
	}
	defer l.release(w)
	l.mu.Lock()
	w.part(s)
	last := len(w.sessions) == 0
	l.mu.Unlock()
	if !last {
		return bridge.Result([]byte("{}"), nil)
	}
	c, unready := l.readyFor(ctx)
	if unready != nil {
		return bridge.Failed(unready)
	}
	if !c.legacy {
		return bridge.Result([]byte("{}"), nil) // release ends its listen
	}
	l.mu.Lock()
	w.at = nil
	l.mu.Unlock()
	return l.call(ctx, req, s)
}

// hold waits for the turn to ask the server about a resource, which release gives back.
// It fails when ctx, or the session that waits, ends before; nil is no session.
func (l *link) hold(ctx context.Context, uri string, s *session) (*watch, error) {
	var gone chan struct{}
	if s != nil {
		gone = s.done
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
	case <-gone:
		err = errClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaveLocked(w)
	return nil, err
}

// release gives the turn back. When nobody wants to be told of the resource any more,
// the server learns of it.
func (l *link) release(w *watch) {
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
		ctx, cancel := context.WithTimeout(c.life, backgroundTime)
		c.quietly(ctx, wire.MethodUnsubscribe, "uri", w.uri)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	<-w.turn
	l.leaveLocked(w)
}

// leaveLocked forgets a watch that nobody has anything to do with; l.mu is held.
func (l *link) leaveLocked(w *watch) {
	if w.users--; w.users == 0 && len(w.sessions) == 0 {
		delete(l.watched, w.uri)
	}
}

// maxWatched bounds the resources that a caller is told of by one server.
const maxWatched = 1000

// joined makes a caller one of those who are told of a resource, unless it has gone or is
// told of too many. It reports whether the server has agreed to tell of it.
func (l *link) joined(w *watch, s *session) (told, full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := w.sessions[s]; !ok && !s.closed.Load() {
		if s.watches == maxWatched {
			return false, true
		}
		s.watches++
		w.sessions[s] = struct{}{}
	}
	return w.at != nil && w.at == l.conn.Load() && w.at.alive(), false
}

// part takes a caller off those who are told of the resource; link.mu is held.
func (w *watch) part(s *session) {
	if _, ok := w.sessions[s]; ok {
		s.watches--
		delete(w.sessions, s)
	}
}

// watchModern keeps a listen open for a resource, and returns when the server has
// acknowledged it. An error, which is the server's, the end's of ctx or gone, or the
// connection's, leaves nothing open. The caller has the turn.
func (l *link) watchModern(ctx context.Context, c *conn, w *watch, gone <-chan struct{}) error {
	life, end := context.WithCancel(c.life)
	outcome := make(chan error, 1)
	settle := func(err error) {
		select {
		case outcome <- err:
		default: // it has been settled before
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
			return toolformat.Errorf(toolformat.Denied, "%s does not tell of changes of %s", c.cfg.Name, w.uri)
		}))
	})
	var err error
	select {
	case err = <-outcome:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-gone:
		err = errClosed
	case <-c.done:
		err = c.err
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

// rewatch asks a new connection for what callers had asked the last one for.
func (l *link) rewatch(c *conn, uri string) {
	ctx, cancel := context.WithTimeoutCause(c.life, c.cfg.Timeout, errTimeout)
	defer cancel()
	w, err := l.hold(ctx, uri, nil)
	if err != nil {
		return
	}
	defer l.release(w)
	l.mu.Lock()
	wanted := len(w.sessions) > 0 && w.at != c
	l.mu.Unlock()
	switch {
	case !wanted:
	case !c.legacy:
		if err := l.watchModern(ctx, c, w, nil); err != nil && c.alive() {
			c.flood.Log(slog.LevelWarn, "a subscription could not be repeated on the new connection", "uri", uri, "reason", err)
		}
	case c.quietly(ctx, wire.MethodSubscribe, "uri", uri):
		l.mu.Lock()
		w.at = c
		l.mu.Unlock()
	}
}

// rewatchAll is rewatch of all resources that callers want to be told of, in the
// background.
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
			c.start(func() { l.rewatch(c, uri) })
		}
		return
	}
	c.start(func() {
		for _, uri := range uris {
			l.rewatch(c, uri)
		}
	})
}

// unwatchAll is the end of a caller's subscriptions.
func (l *link) unwatchAll(s *session) {
	l.mu.Lock()
	var last []string // which nobody else wants
	for uri, w := range l.watched {
		if _, ok := w.sessions[s]; ok && len(w.sessions) == 1 {
			last = append(last, uri)
		}
		w.part(s)
	}
	l.mu.Unlock()
	c := l.conn.Load()
	if c == nil || len(last) == 0 {
		return // a new connection is asked for nothing of it
	}
	c.start(func() {
		for _, uri := range last {
			if w, err := l.hold(c.life, uri, nil); err == nil {
				l.release(w)
			}
		}
	})
}

// watching reports whether a caller wants to be told of a resource.
func (l *link) watching() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watched) > 0
}

// updated tells the callers who asked for it that a resource has changed.
func (l *link) updated(params []byte) {
	uri, _ := wire.Text(wire.Lookup(params, "uri"))
	l.mu.Lock()
	defer l.mu.Unlock()
	for watched, w := range l.watched {
		if !wire.Within(uri, watched) {
			continue
		}
		for s := range w.sessions {
			s.notify(wire.NotificationResourceUpdated, params)
		}
	}
}
