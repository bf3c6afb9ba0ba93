package mcpserver

import (
	"sync"
	"time"
)

const (
	// streamAfter is when a request that has not been answered is answered with a
	// stream: something then keeps the connection alive, and the client can come back
	// to it.
	streamAfter = 2 * time.Second
	lateTick    = 500 * time.Millisecond
)

// late opens the stream of exchanges that take long. It ticks while there is traffic:
// a timer for each exchange would wake the network poller with most calls, which
// costs more than the rest of a small call's bookkeeping.
type late struct {
	mu          sync.Mutex // guards what follows
	first, last *exchange  // those under way, oldest first
	ticking     bool
	added       bool // since the last tick
}

func (l *late) add(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.since = time.Now()
	if x.older = l.last; x.older != nil {
		x.older.newer = x
	} else {
		l.first = x
	}
	l.last, l.added = x, true
	if !l.ticking {
		l.ticking = true
		time.AfterFunc(lateTick, l.tick)
	}
}

// remove takes an exchange off; it may have been taken off before.
func (l *late) remove(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x.older == nil && l.first != x {
		return
	}
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		l.first = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		l.last = x.older
	}
	x.older, x.newer = nil, nil
}

func (l *late) tick() {
	for {
		l.mu.Lock()
		x := l.first
		if x == nil || time.Since(x.since) < streamAfter {
			break
		}
		l.mu.Unlock()
		l.remove(x)
		x.open()
	}
	l.ticking = l.added || l.first != nil
	l.added = false
	if l.ticking {
		time.AfterFunc(lateTick, l.tick)
	}
	l.mu.Unlock()
}
