package providers

import (
	"sync"
	"time"
)

// A fuse ends something when its time is over. Time in which it is held, since a person
// is being asked, does not count.
type fuse struct {
	mu    sync.Mutex // guards what follows
	timer *time.Timer
	last  time.Time     // no renewal goes beyond
	until time.Time     // when it is over, unless it is held
	left  time.Duration // what remains, while it is held
	since time.Time     // when it was held
	holds int
	over  bool
}

// newFuse lights one that lasts for d, and for most however often it is renewed.
func newFuse(d, most time.Duration, end func()) *fuse {
	now := time.Now()
	d = min(d, most)
	return &fuse{timer: time.AfterFunc(d, end), until: now.Add(d), last: now.Add(most)}
}

// renew gives it the time anew.
func (f *fuse) renew(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.over:
	case f.holds > 0:
		f.left = d
	default:
		f.burn(d)
	}
}

// burn is renew with f.mu held.
func (f *fuse) burn(d time.Duration) {
	d = max(0, min(d, time.Until(f.last)))
	f.until = time.Now().Add(d)
	f.timer.Reset(d)
}

// hold stops the time until release.
func (f *fuse) hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds++; f.holds == 1 && !f.over {
		f.timer.Stop()
		f.since = time.Now()
		f.left = f.until.Sub(f.since)
	}
}

func (f *fuse) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.holds--; f.holds == 0 && !f.over {
		f.last = f.last.Add(time.Since(f.since))
		f.burn(f.left)
	}
}

// stop puts it out.
func (f *fuse) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.timer.Stop()
}
