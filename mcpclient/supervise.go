package mcpclient

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// steady is how long a connection must have lived for its loss to be no failure of the
// server: it is then made again at once.
const steady = 5 * time.Second

// supervise makes the connection and makes it again until the link is cancelled.
func (l *link) supervise() {
	failures := 0
	for l.ctx.Err() == nil {
		if l.client.cfg.Lazy && !l.awaitDemand() {
			return
		}
		l.set(Connecting, nil, 0)
		c, err := l.connect()
		if err == nil {
			start := time.Now()
			if err = l.serve(c); err == nil {
				continue
			}
			if time.Since(start) >= steady {
				failures = 0
			}
			if failures == 0 {
				failures++
				l.client.cfg.Log.Warn("connection lost, connecting again", "reason", err)
				continue
			}
		}
		failures++
		if l.ctx.Err() != nil || !l.backOff(err, failures) {
			return
		}
	}
}

// awaitDemand waits until a call wants a lazy server. Who has wanted the last connection
// wants none now; who still does says so again when the state changes.
func (l *link) awaitDemand() bool {
	select {
	case <-l.demand:
	default:
	}
	l.set(Idle, nil, 0)
	select {
	case <-l.demand:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// serve keeps a connection until it is lost, idle or no longer wanted, and ends it. The
// error says why it was lost.
func (l *link) serve(c *conn) error {
	l.conn.Store(c)
	l.set(Ready, nil, 0)
	l.client.cfg.Log.Info("ready", "revision", c.revision, "tools", l.count(bridge.Tools))
	if l.client.cfg.Lazy {
		l.endWhenIdle(c)
	}
	var lost error
	select {
	case <-c.done:
		if lost = c.err; lost == errIdle {
			lost = nil
		}
	case <-l.ctx.Done():
	}
	l.conn.Store(nil)
	if lost != nil {
		l.set(Connecting, lost, 0)
	} else if l.client.cfg.Lazy {
		l.set(Idle, nil, 0)
	}
	c.close(errClosed)
	return lost
}

// errIdle is the reason of a lazy server's connection that nobody has used for the idle
// time.
var errIdle = errors.New("it was idle")

// endWhenIdle ends the connection of a lazy server that has had no call for the idle time.
// A call that comes meanwhile is either before the end or finds the connection lost.
func (l *link) endWhenIdle(c *conn) {
	l.used.Store(time.Now().UnixNano())
	var check func()
	check = func() {
		left := l.client.cfg.IdleTimeout - time.Since(time.Unix(0, l.used.Load()))
		switch {
		case !c.alive():
		case left <= 0 && !l.watching() && c.retire(errIdle):
		default:
			time.AfterFunc(max(left, time.Second), check)
		}
	}
	time.AfterFunc(l.client.cfg.IdleTimeout, check)
}

// backOff waits before the next attempt, longer with each failure and never in step
// with other links. A fault of the configuration is not tried again.
func (l *link) backOff(err error, failures int) bool {
	if l.client.cfg.Fault != nil {
		l.set(Failed, err, 0)
		l.client.cfg.Log.Error("cannot be started", "reason", err)
		<-l.ctx.Done()
		return false
	}
	delay := min(time.Minute, 500*time.Millisecond<<min(failures, 10))
	delay = delay/2 + rand.N(delay/2)
	l.set(Failed, err, delay)
	l.client.cfg.Log.Warn("failed", "reason", err, "retry_in", delay.Round(100*time.Millisecond))
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}
