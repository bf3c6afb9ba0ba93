package place

import (
	"context"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
)

// join begins to try for the lease if the cluster is there. Places.mu is held, as by the functions below.
func (p *place) join() {
	if p.of.engine == nil {
		return
	}
	p.lease = p.of.engine.Lease("single." + p.name)
	p.change()
	p.of.work.Go(p.run)
}

// change tells those who link to the server that something has changed.
func (p *place) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// close ends the place.
func (p *place) close() {
	p.closed = true
	if p.term != nil {
		p.term.cancel()
	}
	p.wake()
}

func (p *place) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// run runs the server whenever this node has the lease, until the place is closed.
func (p *place) run() {
	defer p.lease.Close()
	defer p.lease.OnHolder(p.follow)()
	for range p.kick {
		for t := p.begin(); t != nil; t = p.begin() {
			p.of.work.Go(func() {
				defer t.Ended()
				t.run(t.ctx, t)
			})
			<-t.ended
			p.end()
		}
		p.of.mu.Lock()
		leaving, closed := p.leaving, p.closed
		p.of.mu.Unlock()
		if closed {
			return
		}
		if leaving {
			p.lease.Yield()
		}
	}
}

// follow takes note of who has the lease.
func (p *place) follow(h engine.Holder) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.term != nil && (!h.Mine || h.Token != p.term.token) {
		p.term.cancel()
	}
	p.holder = h
	p.change()
	p.wake()
}

// begin begins a term if this node may run the server now.
func (p *place) begin() *Term {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	token, held := p.lease.Held()
	if !held || token != p.holder.Token || p.leaving || p.closed {
		return nil
	}
	t := &Term{lease: p.lease, token: token, run: p.server.Run, ended: make(chan struct{})}
	t.listen(context.Background())
	p.term = t
	p.change()
	return t
}

// end ends the term.
func (p *place) end() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.term.cancel()
	p.term = nil
	p.change()
}

// A Term is a time for which this node runs a server. It is the listener of the connections to that.
type Term struct {
	listener
	lease *engine.Lease
	token uint64
	run   func(context.Context, *Term)
	ended chan struct{} // closed by Ended
	end   sync.Once
	calls gate
}

// End returns how long the server may take to end when ctx of Run has ended, as another node may run it soon after.
func (t *Term) End() time.Duration { return t.lease.Margin() * 3 / 4 }

// Ended says that nothing of the server is left: another may run.
func (t *Term) Ended() { t.end.Do(func() { close(t.ended) }) }

// Enter begins a call, and reports false if none may begin: then it is not to run. leave ends it.
func (t *Term) Enter() (leave func(), ok bool) {
	if !t.calls.enter() {
		return nil, false
	}
	if token, held := t.lease.Held(); !held || token != t.token || t.ctx.Err() != nil {
		t.calls.leave()
		return nil, false
	}
	return t.calls.leave, true
}

// finish ends the term when no call is under way any more, or ctx has ended.
func (t *Term) finish(ctx context.Context) {
	select {
	case <-t.calls.close():
	case <-ctx.Done():
	case <-t.ctx.Done():
	}
	t.cancel()
}
