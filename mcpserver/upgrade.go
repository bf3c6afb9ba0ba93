package mcpserver

import (
	"sync"
	"time"
)

const (
	// streamAfter is how long a request may take before its answer becomes a stream, which keeps
	// the connection alive and which the client can resume.
	streamAfter = 2 * time.Second
	upgradeTick = 500 * time.Millisecond
)

// streamUpgrader opens the streams of exchanges that take long. It ticks while there is traffic: a
// timer for each exchange would wake the network poller with most calls, which costs more than
// the rest of a small call's bookkeeping.
type streamUpgrader struct {
	mu          sync.Mutex // guards the fields below
	first, last *exchange  // those that have no answer yet, oldest first
	ticking     bool
	added       bool // since the last tick
}

func (u *streamUpgrader) add(x *exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	x.since = time.Now()
	if x.older = u.last; x.older != nil {
		x.older.newer = x
	} else {
		u.first = x
	}
	u.last, u.added = x, true
	if !u.ticking {
		u.ticking = true
		time.AfterFunc(upgradeTick, u.tick)
	}
}

// remove removes an exchange, which need not be there.
func (u *streamUpgrader) remove(x *exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.older == nil && u.first != x {
		return
	}
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		u.first = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		u.last = x.older
	}
	x.older, x.newer = nil, nil
}

func (u *streamUpgrader) tick() {
	for {
		u.mu.Lock()
		x := u.first
		if x == nil || time.Since(x.since) < streamAfter {
			break
		}
		u.mu.Unlock()
		u.remove(x)
		x.openStream()
	}
	u.ticking = u.added || u.first != nil
	u.added = false
	if u.ticking {
		time.AfterFunc(upgradeTick, u.tick)
	}
	u.mu.Unlock()
}
