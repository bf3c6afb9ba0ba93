package mcpclient

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
)

// call is one request under way.
type call struct {
	id             int64
	owner          *session          // whose request it is; nil: the link's own
	method, target string            // of its request
	modern         bool              // it is a request of the modern era
	headers        map[string]string // what an HTTP server wants to be repeated of the arguments
	acked          func([]byte)      // takes what the server grants to a subscriptions/listen, which has no time limit; nil: it is none
	back           bridge.Back
	token          []byte          // the caller's own progress token, raw JSON; nil: it gave none
	timer          bridge.Timer    // held while conn.asks is not empty
	ctx            context.Context // ends with the call
	end            context.CancelCauseFunc
	sent           atomic.Bool       // its first byte has left
	queued         bool              // the carrier has taken it
	reply          chan bridge.Reply // holds one
}

func (c *conn) newCall(method string) *call {
	k := &call{id: c.ids.Add(1), method: method, modern: c.modern && !c.legacy, reply: make(chan bridge.Reply, 1)}
	k.timer.Start(c.cfg.Timeout, c.cfg.MaxTimeout, nil)
	return k
}

func (c *conn) enter(k *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost {
		return false
	}
	if len(c.asks) > 0 {
		k.timer.Hold()
	}
	c.under[k.id], c.busy = k, true
	if k.owner != nil {
		name := k.owner.caller.Principal.Name
		if c.servedOne && c.served != name {
			c.servedMany = true
		}
		c.served, c.servedOne = name, true
	}
	if !c.ticking {
		c.ticking = true
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
	return true
}

// expire ends the calls whose time is over. It runs now and then while there are
// calls: a timer for each would cost more than the rest of its bookkeeping.
func (c *conn) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.under {
		if k.acked == nil && k.timer.Expired() {
			k.end(errTimeout)
		}
	}
	c.ticking = len(c.under) > 0 || !c.lost && c.busy // over HTTP a call may outlive its connection
	c.busy = false
	if c.ticking {
		time.AfterFunc(c.cfg.tick(), c.expire)
	}
}

// tick is how exactly calls are timed.
func (cfg *Config) tick() time.Duration {
	return min(max(cfg.Timeout/16, time.Millisecond), time.Second/2)
}

func (c *conn) leave(k *call) {
	c.mu.Lock()
	delete(c.under, k.id)
	c.mu.Unlock()
}

// take finds the call that an answer belongs to and takes it off, so that a second
// answer finds none.
func (c *conn) take(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.under[id]
	delete(c.under, id)
	return k
}

func (c *conn) find(id int64) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.under[id]
}

// only is the one call under way, nil when there is none or more than one. It is nil also
// on a connection that has served several principals: what a server says late, of a call
// that has ended, is not for the next caller.
func (c *conn) only() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	var only *call
	if c.servedMany {
		return nil
	}
	for _, k := range c.under {
		if k.acked != nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = k
	}
	return only
}

// newest is the call that was begun last, nil when there is none, and whether it is the
// only one.
func (c *conn) newest() (newest *call, only bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, k := range c.under {
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

// cancel ends the calls of a caller that has gone.
func (c *conn) cancel(owner *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.under {
		if k.owner == owner {
			k.end(errClosed)
		}
	}
}
