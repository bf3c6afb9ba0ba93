package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// A LinkStatus describes one link of a server.
type LinkStatus struct {
	Status
	Since   time.Time // of the state
	PID     int       // of the process; 0 without one
	Callers int       // with a session on the link, but for the operator
}

// Links returns the states of all links, the oldest first.
func (c *Client) Links() []LinkStatus {
	links := c.allLinks()
	slices.SortFunc(links, func(a, b *link) int { return cmp.Compare(a.born.UnixNano(), b.born.UnixNano()) })
	all := make([]LinkStatus, len(links))
	for i, l := range links {
		all[i] = LinkStatus{Status: l.status()}
		l.mu.Lock()
		all[i].Since = l.since
		if l.isWaiting() {
			all[i].Since = l.waits
		}
		for s := range l.sessions {
			if !s.caller.Operator {
				all[i].Callers++
			}
		}
		l.mu.Unlock()
		if conn := l.conn.Load(); conn != nil {
			if s, ok := conn.carrier.(*stdio); ok {
				all[i].PID = s.child.PID()
			}
		}
	}
	return all
}

func (c *Client) allLinks() (links []*link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.links {
		links = append(links, l)
	}
	return links
}

var (
	errStopped   = errors.New("it was stopped (mcpbridge restart starts it again)")
	errRestarted = errors.New("it was restarted")
)

// Restart ends the connections of all links, and their attempts to make one, with their processes. It makes new
// ones at once, for which it waits 10 s at most. It also ends Stop.
func (c *Client) Restart() {
	c.mu.Lock()
	resumed := c.resumed
	c.resumed = nil
	c.mu.Unlock()
	var left []<-chan struct{}
	links := c.allLinks()
	for _, l := range links {
		left = append(left, l.restart())
	}
	if resumed != nil {
		close(resumed) // now, or a link that has connected at once would be restarted
	}
	late := time.After(restartTime)
	for i, l := range links {
		l.awaitSettled(left[i], late)
	}
}

// restartTime bounds how long Restart waits for connections.
const restartTime = 10 * time.Second

// Recheck calls changed with the Auth of each link that has one. It returns when the credentials came, and since when they are
// another's; zero means never. Links that failed before the former try again at once. Those that connected, or began to,
// before the latter make their connections anew.
func (c *Client) Recheck(changed func(auth any) (came, switched time.Time)) {
	for _, l := range c.allLinks() {
		if l.cfg.Auth == nil {
			continue
		}
		came, switched := changed(l.cfg.Auth)
		l.mu.Lock()
		failed := l.state == Failed && l.since.Before(came)
		others := (l.state == Ready || l.state == Connecting) && l.since.Before(switched)
		l.mu.Unlock()
		if failed || others {
			l.interrupt(errRestarted)
		}
	}
}

// restart ends the connection of the link, its attempt to make one, or its wait for the next attempt. The channel is closed when the
// link has left the state that it was in; nil means that it need not.
func (l *link) restart() (left <-chan struct{}) {
	l.mu.Lock()
	if l.state != Connecting && l.state != Idle {
		left = l.changed
	}
	l.mu.Unlock()
	l.halt(errRestarted)
	return left
}

// awaitSettled waits until the link has left a state and is connected, or has failed to, or it is too late.
func (l *link) awaitSettled(left <-chan struct{}, late <-chan time.Time) {
	if l.cfg.Fault != nil || l.cfg.Once { // they do not connect again
		return
	}
	for next := left; ; {
		if next != nil {
			select {
			case <-next:
			case <-late:
				return
			case <-l.ctx.Done():
				return
			}
		}
		l.mu.Lock()
		state := l.state
		next = l.changed
		l.mu.Unlock()
		if state != Connecting {
			return
		}
	}
}

// stopTime bounds how long Stop waits for processes to end.
const stopTime = 10 * time.Second

// Stop ends the connections of all links, and their attempts to make one, and waits for the end of their
// processes. Calls fail until Restart.
func (c *Client) Stop() {
	c.mu.Lock()
	if c.resumed == nil {
		c.resumed = make(chan struct{})
	}
	c.mu.Unlock()
	links := c.allLinks()
	for _, l := range links {
		l.halt(errStopped)
	}
	late := time.After(stopTime)
	for _, l := range links {
		l.awaitStopped(late)
	}
}

// awaitStopped waits until the link is stopped, the client is restarted or it is too late.
func (l *link) awaitStopped(late <-chan time.Time) {
	for l.client.stopped() != nil {
		l.mu.Lock()
		state, changed := l.state, l.changed
		l.mu.Unlock()
		if state == Stopped || state == Idle {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// stopped returns a channel that Restart closes, if the client was stopped; else nil.
func (c *Client) stopped() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resumed
}

// interrupt ends the connection of the link, its attempt to make one, or its wait for the next attempt.
func (l *link) interrupt(reason error) {
	if c := l.conn.Load(); c != nil {
		c.lose(reason)
		return
	}
	l.mu.Lock()
	end := l.attempt
	l.mu.Unlock()
	if end != nil {
		end(reason)
		return
	}
	select {
	case l.hurry <- struct{}{}:
	default:
	}
}

// halt is interrupt that also ends the calls of connections that were lost before.
func (l *link) halt(reason error) {
	l.interrupt(reason)
	for _, c := range l.conns() {
		if !c.alive() {
			c.endCalls()
		}
	}
}

// interrupted reports whether a connection was ended by Restart or Stop.
func interrupted(err error) bool { return err == errRestarted || err == errStopped }

// awaitResumed waits while the client is stopped; false means that the link has ended.
func (l *link) awaitResumed() bool {
	for {
		resumed := l.client.stopped()
		if resumed == nil {
			return true
		}
		l.setState(Stopped, errStopped, 0)
		select {
		case <-resumed:
		case <-l.ctx.Done():
			return false
		}
	}
}

// Reconnect makes the connections of a principal anew, as after a login, and waits for them.
func (c *Client) Reconnect(ctx context.Context, principal bridge.Principal) {
	for _, l := range c.allLinks() {
		if l.principal == principal.Name {
			l.reconnect(ctx)
		}
	}
}

func (l *link) reconnect(ctx context.Context) {
	for begun := false; ; begun = true {
		l.mu.Lock()
		state, changed := l.state, l.changed
		l.mu.Unlock()
		switch {
		case begun && state != Connecting, state == Idle, state == Stopped:
			return
		case !begun && state != Connecting:
			l.interrupt(errRestarted)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-l.ctx.Done():
			return
		}
	}
}
