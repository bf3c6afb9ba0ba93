package place

import "sync"

// A gate counts the calls that are under way, until no more may begin. The zero gate is open.
type gate struct {
	mu    sync.Mutex // guards the fields below
	calls int
	empty chan struct{} // nil before close; closed when no call is under way
}

// enter begins a call, which leave ends, and reports false if none may begin.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty != nil {
		return false
	}
	g.calls++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 && g.empty != nil {
		close(g.empty)
	}
}

// close refuses calls from now on. empty is closed when none is under way.
func (g *gate) close() (empty <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.empty == nil {
		g.empty = make(chan struct{})
		if g.calls == 0 {
			close(g.empty)
		}
	}
	return g.empty
}
