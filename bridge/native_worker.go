package bridge

import "time"

// workers are goroutines that run functions. An idle one is kept for the next function, since a new
// goroutine has a small stack, which is copied as it grows: for the deep calls of SQLite that takes
// as long as a small query.
type workers struct {
	next  chan func()   // to an idle worker
	ended chan struct{} // closed when idle workers shall end
}

// idleTime bounds the wait of a worker for the next function.
const idleTime = 10 * time.Second

func newWorkers() *workers {
	return &workers{next: make(chan func()), ended: make(chan struct{})}
}

// run runs f in a goroutine, which f may end.
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
