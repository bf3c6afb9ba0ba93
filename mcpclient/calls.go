package mcpclient

import (
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

func (c *conn) newCall(method string) *call {
	k := &call{id: c.ids.Add(1), method: method, modern: c.modern && !c.legacy, reply: make(chan bridge.Reply, 1)}
	k.timer.Start(c.cfg.Timeout, c.cfg.MaxTimeout, nil)
	return k
}

// addCall adds a call to those that wait for a reply; false means that the connection is lost.
func (c *conn) addCall(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return false
	}
	if len(c.questions) > 0 {
		k.timer.Hold()
	}
	c.calls[k.id], c.busy = k, true
	if k.owner != nil {
		switch name := k.owner.caller.Principal.Name; {
		case c.principals == 0:
			c.principal, c.principals = name, 1
		case c.principal != name:
			c.principals = 2
		}
	}
	if !c.ticking {
		c.ticking = true
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
	return true
}

// expire ends the calls whose time is over. It runs at intervals while there are calls: a timer
// for each would cost more than the rest of its bookkeeping.
func (c *conn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.acked == nil && k.timer.Expired() {
			k.end(errTimeout)
		}
	}
	c.ticking = len(c.calls) > 0 || !c.lost && c.busy // over HTTP a call may outlive its connection
	c.busy = false
	if c.ticking {
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
}

// tick is the interval at which calls are checked.
func (cfg *Config) tick() time.Duration {
	return min(max(cfg.Timeout/16, time.Millisecond), time.Second/2)
}

// callID returns the id of a call; 0, which none has, for any other id.
func callID(raw []byte) int64 {
	id, _ := strconv.ParseInt(string(raw), 10, 64)
	return id
}

// takeCall removes a call, so that a second reply is not matched; nil means that the id is unknown.
func (c *conn) takeCall(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[id]
	delete(c.calls, id)
	return k
}

func (c *conn) findCall(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// onlyCall returns the call that waits for a reply, nil unless there is exactly one. It is nil
// too on a connection that has served several principals: what a server sends late, for a call
// that has ended, is not for the next caller.
func (c *conn) onlyCall() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.principals > 1 {
		return nil
	}
	var only *call
	for _, k := range c.calls {
		switch {
		case k.acked != nil:
		case only != nil:
			return nil
		default:
			only = k
		}
	}
	return only
}

// newestCall returns the call that a caller began last, nil if no caller has one, and whether it is
// the only one.
func (c *conn) newestCall() (newest *call, only bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.calls {
		if k.back == nil {
			continue
		}
		n++
		if newest == nil || k.id > newest.id {
			newest = k
		}
	}
	return newest, n == 1
}

// cancelCalls ends the calls of a caller that has gone.
func (c *conn) cancelCalls(owner *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.calls {
		if k.owner == owner {
			k.end(errClosed)
		}
	}
}
