package mcpclient

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// supervise makes the link's connection, again whenever it is lost, until the link ends. It runs
// in the link's goroutine, and is the only function that changes the link's state.
func (l *link) supervise() {
	failures := 0
	for l.ctx.Err() == nil {
		if l.cfg.Lazy && !l.awaitDemand() {
			return
		}
		l.setState(Connecting, nil, 0)
		c, err := l.connect()
		if err == nil {
			start := time.Now()
			if err = l.serve(c); err == nil {
				continue
			}
			if time.Since(start) >= steadyTime {
				failures = 0
			}
			if failures == 0 {
				failures++
				l.cfg.Log.Warn("connection lost, connecting again", "reason", err)
				continue
			}
		}
		failures++
		if l.ctx.Err() != nil || !l.backOff(err, failures) {
			return
		}
	}
}

// awaitDemand waits until a call needs a lazy server; false means that the link has ended. Demand
// left over from the previous connection is dropped: calls still waiting repeat theirs when the
// state changes.
func (l *link) awaitDemand() bool {
	select {
	case <-l.demand:
	default:
	}
	l.setState(Idle, nil, 0)
	select {
	case <-l.demand:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// serve hands the connection to callers until it is lost, idle or no longer wanted, and closes
// it. The error is the reason of a loss.
func (l *link) serve(c *conn) error {
	l.conn.Store(c)
	l.setState(Ready, nil, 0)
	l.cfg.Log.Info("ready", "revision", c.revision, "tools", l.count(bridge.Tools))
	if l.cfg.Lazy {
		l.retireWhenIdle(c)
	}
	var lost error
	select {
	case <-c.life.Done():
		if lost = c.reason(); lost == errIdle {
			lost = nil
		}
	case <-l.ctx.Done():
	}
	l.conn.Store(nil)
	if lost != nil {
		l.setState(Connecting, lost, 0)
	} else if l.cfg.Lazy {
		l.setState(Idle, nil, 0)
	}
	c.close(errClosed)
	return lost
}

// errIdle ends the connection of a lazy server that has had no call for the idle time.
var errIdle = errors.New("it was idle")

// retireWhenIdle ends the connection of a lazy server after the idle time. A call that begins
// meanwhile either keeps the connection or finds it lost.
func (l *link) retireWhenIdle(c *conn) {
	l.used.Store(time.Now().UnixNano())
	var check func()
	check = func() {
		left := l.cfg.IdleTimeout - time.Since(time.Unix(0, l.used.Load()))
		switch {
		case !c.alive():
		case left <= 0 && !l.watching() && c.retire(errIdle):
		default:
			time.AfterFunc(max(left, time.Second), check)
		}
	}
	time.AfterFunc(l.cfg.IdleTimeout, check)
}

// backOff waits before the next attempt, longer with each failure and out of step with other
// links; false means that the link has ended. A fault of the configuration is not tried again.
func (l *link) backOff(err error, failures int) bool {
	if l.cfg.Fault != nil {
		l.setState(Failed, err, 0)
		l.cfg.Log.Error("cannot be started", "reason", err)
		<-l.ctx.Done()
		return false
	}
	delay := min(time.Minute, 500*time.Millisecond<<min(failures, 10))
	delay = delay/2 + rand.N(delay/2)
	l.setState(Failed, err, delay)
	l.cfg.Log.Warn("failed", "reason", err, "retry_in", delay.Round(100*time.Millisecond))
	return sleep(l.ctx, delay)
}
