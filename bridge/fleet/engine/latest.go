package engine

import (
	"sync"
	"sync/atomic"
)

// latest is a value that is read without waiting, and told to functions when it changes.
type latest[T any] struct {
	value   atomic.Pointer[T]
	mu      sync.Mutex
	readers map[chan struct{}]bool // each has room for one signal
}

func (l *latest[T]) load() (v T) {
	if p := l.value.Load(); p != nil {
		v = *p
	}
	return v
}

func (l *latest[T]) store(v T) {
	l.value.Store(&v)
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.readers {
		signal(r)
	}
}

// follow calls f with the value and then with each later one until stop or the end of the engine, one
// call at a time. A value that is replaced while f runs is left out.
func follow[T any](e *Engine, l *latest[T], f func(T)) (stop func()) {
	changed, done := make(chan struct{}, 1), make(chan struct{})
	l.mu.Lock()
	if l.readers == nil {
		l.readers = map[chan struct{}]bool{}
	}
	l.readers[changed] = true
	l.mu.Unlock()
	stop = sync.OnceFunc(func() {
		close(done)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.readers, changed)
	})
	e.start(func() {
		defer stop()
		for {
			f(l.load())
			select {
			case <-changed:
			case <-done:
				return
			case <-e.ctx.Done():
				return
			}
		}
	})
	return stop
}

// signal makes a reader of c look, now or when it is ready. c has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
