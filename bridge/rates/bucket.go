package rates

import (
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// bucket says when the next calls may come.
type bucket struct {
	every time.Duration // between two calls in the long run
	ahead time.Duration // how much earlier than that calls may come: for all but one of a burst
	due   atomic.Int64  // when a call would come in the long run; in the past the bucket is full
	used  atomic.Int64  // calls that Buckets.Used has not told of yet
	first func()        // called when there is one of these; may be nil
}

// take takes the room of a call at a time, or returns how long to wait for it.
func (b *bucket) take(now time.Duration) (wait time.Duration, _ *toolformat.Error) {
	for {
		before := b.due.Load()
		due := max(time.Duration(before), now)
		if wait = due - b.ahead - now; wait > 0 {
			return wait, nil
		}
		if b.due.CompareAndSwap(before, int64(due+b.every)) {
			if b.used.Add(1) == 1 && b.first != nil {
				b.first()
			}
			return 0, nil
		}
	}
}

// give gives the room of a call back that take has taken.
func (b *bucket) give() {
	b.due.Add(-int64(b.every))
	b.used.Add(-1)
}

// full reports whether the bucket is as good as a new one.
func (b *bucket) full(now time.Duration) bool { return time.Duration(b.due.Load()) <= now }
