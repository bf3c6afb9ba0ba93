package providers

import (
	"sync"
	"sync/atomic"
)

// hands carry out calls. They are the goroutines of one run and stay for its next calls:
// what checks arguments needs a deep stack, which a new one would have to grow again.
type hands struct {
	work chan func()
	all  sync.WaitGroup
	deaf atomic.Bool // one may never come back
}

// do has one of them carry something out: one that is free, or a new one.
func (h *hands) do(f func()) {
	select {
	case h.work <- f:
	default:
		h.all.Go(func() {
			f()
			for f := range h.work {
				f()
			}
		})
	}
}

// end lets them go, and waits for those that come back.
func (h *hands) end() {
	close(h.work)
	if !h.deaf.Load() {
		h.all.Wait()
	}
}
