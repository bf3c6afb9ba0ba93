package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Holder is who has a lease.
type Holder struct {
	Node  string // "" if nobody has it, or if it is not known who
	Epoch uint64
	Token uint64 // greater with each change of the holder, and each time that a node has it again
	Mine  bool
}

// Lease is something that one node of the cluster has at a time. This node tries to get it until Close.
type Lease struct {
	e      *Engine
	bucket *Bucket
	name   string
	claim  string // tells this Lease from all others
	cancel context.CancelFunc
	done   chan struct{}
	kick   chan struct{}

	term    atomic.Pointer[term] // nil when another has it
	holder  latest[Holder]
	yielded atomic.Bool

	mu    sync.Mutex // guards what follows
	seen  record     // what the bucket has
	since time.Time  // when it was first seen

	revision uint64    // of this node's record; used by run only, as the rest
	renew    time.Time // when to write it again
}

// term is a time in which this node has the lease.
type term struct {
	token uint64
	until time.Time // when it is over unless it is renewed
}

// record is what the bucket has of a lease.
type record struct {
	Node  string `json:"node,omitempty"` // empty once the holder gave it back
	Epoch uint64 `json:"epoch,omitempty"`
	Token uint64 `json:"token"`
	Claim string `json:"claim,omitempty"`
	TTL   int64  `json:"ttl,omitempty"` // ms

	revision uint64
}

// leaseKept is for how long the record of a lease that nobody wants any more is kept.
const leaseKept = 7 * 24 * time.Hour

// Lease begins to try to get the lease of a name, which is any text. Where several nodes try, one has it at a
// time: it renews it, and loses it when it did not succeed for 8 s, while the others wait for 10 s (or four fifths of
// Options.LeaseTTL and all of it) from when they last heard of it. In a cluster that is new, nobody gets one for
// that long, as its NATS may have lost who had it.
func (e *Engine) Lease(name string) *Lease {
	l := &Lease{e: e, bucket: e.Bucket("lease", leaseKept), name: name, claim: rand.Text(), done: make(chan struct{}), kick: make(chan struct{}, 1)}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(e.ctx)
	ready := l.bucket.Watch(ctx, name, l.observe)
	started := e.start(func() {
		defer close(l.done)
		defer l.cancel()
		select {
		case <-ready:
			l.run(ctx)
		case <-ctx.Done():
		}
	})
	if !started {
		close(l.done)
	}
	return l
}

// Held reports whether this node has the lease, and with which token. It is cheap, and right after the process was
// stopped or suspended: what it allows must be done at once, or be refused by what it is done to when that
// has seen a greater token.
func (l *Lease) Held() (token uint64, held bool) {
	t := l.term.Load()
	if t == nil || !t.lasts(time.Now()) {
		return 0, false
	}
	return t.token, true
}

// lasts compares by both clocks: one may stand still while the system is suspended, the other may be set.
func (t *term) lasts(now time.Time) bool {
	return now.Before(t.until) && now.Round(0).Before(t.until.Round(0))
}

// Margin returns for how long no other node has the lease when this one has lost it.
func (l *Lease) Margin() time.Duration { return l.e.options.LeaseTTL / 5 }

// OnHolder calls f with the holder of the lease, as this node last heard, and then whenever that changes, until stop.
// What this node does under the lease ends when Mine is false, or true with another token: f may not have seen what was
// between.
func (l *Lease) OnHolder(f func(Holder)) (stop func()) { return follow(l.e, &l.holder, f) }

// Yield gives the lease back as Close does, later than it returns, but OnHolder still says who has it.
func (l *Lease) Yield() {
	l.yielded.Store(true)
	signal(l.kick)
}

// Close gives the lease back, if this node has it, and tries no more to get it. What is done under it must have
// ended before.
func (l *Lease) Close() {
	l.cancel()
	<-l.done
}

// observe takes note of what the bucket has. A record that was deleted is not given back: its holder may not
// know yet.
func (l *Lease) observe(entry Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := record{revision: entry.Revision}
	if entry.Deleted {
		r = record{Node: "?", Token: l.seen.Token, TTL: l.e.options.LeaseTTL.Milliseconds()}
	} else if json.Unmarshal(entry.Value, &r) != nil {
		return
	}
	l.seen, l.since = r, time.Now()
	signal(l.kick)
}

func (l *Lease) run(ctx context.Context) {
	for {
		wait := l.step(ctx)
		select {
		case <-time.After(wait):
		case <-l.kick:
		case <-ctx.Done():
			l.release()
			return
		}
	}
}

// step does what is to be done now and returns for how long there is nothing more.
func (l *Lease) step(ctx context.Context) (wait time.Duration) {
	t := l.term.Load()
	if t != nil && l.yielded.Load() {
		l.release()
		t = nil
	}
	if t != nil && (!t.lasts(time.Now()) || l.e.superseded.Load()) {
		l.e.log.Warn("a lease was not renewed in time", "lease", l.name)
		l.lose()
		t = nil
	}
	if t == nil {
		return l.campaign(ctx)
	}
	if !time.Now().Before(l.renew) {
		l.extend(ctx, t)
	}
	if t = l.term.Load(); t == nil {
		return 0
	}
	return max(0, time.Until(earlier(l.renew, t.until)))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// extend renews the lease.
func (l *Lease) extend(ctx context.Context, t *term) {
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, earlier(t.until, start.Add(l.e.options.LeaseTTL/5)))
	defer cancel()
	revision, err := l.write(ctx, t.token, l.revision)
	switch {
	case err == nil:
		l.hold(t.token, revision, start)
		return
	case errors.Is(err, ErrConflict):
		is, err := l.bucket.Get(ctx, l.name)
		var r record
		if err == nil && json.Unmarshal(is.Value, &r) == nil && r.Claim == l.claim && r.Token == t.token {
			l.revision = is.Revision // a write whose answer did not come
		} else if err == nil || errors.Is(err, ErrNotFound) {
			l.e.log.Warn("a lease was taken by another", "lease", l.name, "node", r.Node)
			l.lose()
			return
		}
	}
	l.renew = time.Now().Add(l.retry())
}

func (l *Lease) retry() time.Duration { return l.e.options.LeaseTTL / 20 }

// campaign takes the lease if nobody has it. It returns for how long to wait before the next try.
func (l *Lease) campaign(ctx context.Context) time.Duration {
	l.mu.Lock()
	seen, since := l.seen, l.since
	l.mu.Unlock()
	l.tell(seen)
	if l.yielded.Load() {
		return time.Hour // or what is seen next
	}
	if !l.e.registered.Load() || l.e.superseded.Load() {
		return l.retry()
	}
	free := since // when it is
	if seen.Node != "" && seen.Claim != l.claim {
		free = since.Add(time.Duration(seen.TTL) * time.Millisecond)
	} else if settled, err := l.bucket.settled(ctx, l.e.options.LeaseTTL); err != nil {
		return l.retry()
	} else if seen.revision == 0 {
		free = settled
	}
	if wait := time.Until(free); wait > 0 {
		return wait
	}
	start, token := time.Now(), max(seen.Token+1, uint64(time.Now().UnixMilli()))
	if revision, err := l.write(ctx, token, seen.revision); err == nil {
		l.hold(token, revision, start)
		return 0
	}
	return l.retry()
}

// write writes that this node has the lease, if the record's revision is that of the parameter; 0 is none.
func (l *Lease) write(ctx context.Context, token, revision uint64) (uint64, error) {
	value, err := json.Marshal(record{Node: l.e.options.Node, Epoch: l.e.Epoch(), Token: token, Claim: l.claim, TTL: l.e.options.LeaseTTL.Milliseconds()})
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		return l.bucket.Create(ctx, l.name, value, 0)
	}
	return l.bucket.Update(ctx, l.name, value, revision, 0)
}

// hold begins or prolongs a term. The others count from after start, so that they wait for longer.
func (l *Lease) hold(token, revision uint64, start time.Time) {
	ttl := l.e.options.LeaseTTL
	l.revision, l.renew = revision, start.Add(ttl*3/10)
	l.term.Store(&term{token, start.Add(ttl * 4 / 5)})
	l.set(Holder{Node: l.e.options.Node, Epoch: l.e.Epoch(), Token: token, Mine: true})
}

// lose ends a term.
func (l *Lease) lose() {
	l.term.Store(nil)
	l.set(Holder{})
}

// tell says who has the lease when this node has not.
func (l *Lease) tell(r record) {
	h := Holder{Node: r.Node, Epoch: r.Epoch, Token: r.Token}
	if r.Claim == "" || r.Claim == l.claim {
		h = Holder{}
	}
	l.set(h)
}

func (l *Lease) set(h Holder) {
	if h != l.holder.load() {
		l.holder.store(h)
	}
}

// release gives the lease back.
func (l *Lease) release() {
	t := l.term.Load()
	if t == nil {
		return
	}
	l.lose()
	ctx, cancel := context.WithTimeout(context.Background(), farewellTimeout)
	defer cancel()
	value, err := json.Marshal(record{Token: t.token})
	if err == nil {
		_, err = l.bucket.Update(ctx, l.name, value, l.revision, 0)
	}
	if err != nil {
		l.e.log.Debug("a lease was not given back", "lease", l.name, "error", err)
	}
}
