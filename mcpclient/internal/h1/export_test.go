package h1

import "time"

// AwaitLate waits until no connection is about to come back.
func (p *Pool) AwaitLate() { p.late.Wait() }

// Sleep lets a machine sleep for d: only the wall clock goes on.
func (p *Pool) Sleep(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		if c.since == c.since.Round(0) { // else it is the monotonic clock that counts
			c.since = c.since.Add(-d)
		}
	}
}
