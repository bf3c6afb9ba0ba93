package bridge

import "time"

// workers are goroutines that run functions, one at a time each. An idle one is kept for
// the next function, since a goroutine begins with a small stack that is copied each time it
// grows: in a new one that takes SQLite, whose calls go deep, as long as a small query.
type workers struct {
	next  chan func()   // an idle worker takes from it
	ended chan struct{} // closed: nobody idles any more
}

// idleTime is how long a worker waits for the next function.
const idleTime = 10 * time.Second

func newWorkers() *workers {
	return &workers{next: make(chan func()), ended: make(chan struct{})}
}

// run runs f beside its caller. f may end its goroutine.
func (w *workers) run(f func()) {
	select {
	case w.next <- f:
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	f()
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	for {
		select {
		case f = <-w.next:
			f()
			idle.Reset(idleTime)
		case <-idle.C:
			return
		case <-w.ended:
			return
		}
	}
}
