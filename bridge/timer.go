package bridge

import (
	"sync"
	"time"
)

// A Timer bounds how long an operation may take. Its timeout starts anew with each progress
// (Extend), up to a maximum. Time in which a person is asked (Hold) counts towards neither. Start
// makes the zero value ready. It may be used from many goroutines.
type Timer struct {
	timeout time.Duration

	mu       sync.Mutex    // guards what follows
	timer    *time.Timer   // nil without expire, and after Stop
	start    time.Time     // later by the time for which it was held
	deadline time.Duration // since start
	maximum  time.Duration // since start
	held     time.Duration // since start, when the first of the holds began
	holds    int
}

// Start starts the timer, once. When the timeout or the maximum has passed it calls expire in a
// goroutine of its own, and again if it was extended after that. expire may be nil: an owner of
// many operations that needs no precision polls Expired instead.
func (t *Timer) Start(timeout, maximum time.Duration, expire func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timeout, t.maximum, t.deadline = timeout, maximum, min(timeout, maximum)
	t.start = time.Now()
	if expire != nil {
		t.timer = time.AfterFunc(t.deadline, expire)
	}
}

// Extend starts the timeout anew, within the maximum.
func (t *Timer) Extend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deadline = min(t.elapsed()+t.timeout, t.maximum)
	t.reset()
}

// Hold stops the time until Release has been called as often as Hold.
func (t *Timer) Hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds == 0 {
		t.held = t.elapsed()
	}
	t.holds++
	t.reset()
}

// Release ends a Hold. After the last one the time goes on where it stopped.
func (t *Timer) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holds--; t.holds == 0 {
		t.start = time.Now().Add(-t.held)
	}
	t.reset()
}

// Stop ends the timer: it does not call expire any more.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// Expired reports whether the timeout or the maximum has passed.
func (t *Timer) Expired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.elapsed() >= t.deadline
}

// AtMaximum reports whether the maximum has passed, so that progress would not have helped.
func (t *Timer) AtMaximum() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.elapsed() >= t.maximum
}

// elapsed is the time since the start less that of all holds. t.mu is held.
func (t *Timer) elapsed() time.Duration {
	if t.holds > 0 {
		return t.held
	}
	return time.Since(t.start)
}

// reset sets the timer to the deadline. t.mu is held.
func (t *Timer) reset() {
	switch {
	case t.timer == nil:
	case t.holds > 0:
		t.timer.Stop()
	default:
		t.timer.Reset(t.deadline - t.elapsed())
	}
}
