package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

const (
	// refetchDelay gathers a burst of notifications into one fetch, unless a caller waits for it.
	refetchDelay = 100 * time.Millisecond
	// refetchTime bounds how long a caller waits for a list that is being fetched again.
	refetchTime = 2 * time.Second
	// listAge is how old a list of a server that does not notify of its changes may be when a caller
	// lists.
	listAge = time.Second
	// announcedAge is the same for a server that announces that it notifies: some never do.
	announcedAge = 10 * time.Second
)

// allLists has the bits of all lists.
const allLists = 1<<bridge.ListKinds - 1

func listBit(kind bridge.ListKind) uint32 { return 1 << kind }

// refetch is the repeated fetching of one list of a connection.
type refetch struct {
	mu      sync.Mutex
	active  bool   // a goroutine runs
	running *fetch // nil without one
	due     *fetch // follows running; nil if none is needed
}

// fetch is one reading of a list.
type fetch struct {
	announced bool          // the server has notified of a change
	told      bool          // Relist alone wants it
	want      func()        // makes it begin at once
	wanted    chan struct{} // closed by want
	done      chan struct{} // closed when err is set
	err       error
}

// pending returns the fetch that is due, else the one that is running, else nil. announced admits
// only those of a change of which the server has notified.
func (r *refetch) pending(announced bool) *fetch {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range []*fetch{r.due, r.running} {
		if f != nil && (f.announced || !announced) {
			return f
		}
	}
	return nil
}

// next returns the fetch that is due; nil ends the goroutine.
func (r *refetch) next() *fetch {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = r.due != nil
	return r.due
}

// begin begins the fetch that is due: what changes from now on needs another one.
func (r *refetch) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.due = r.due, nil
}

// end ends the fetch that is running.
func (r *refetch) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running.err = err
	close(r.running.done)
	r.running = nil
}

// cause is why a list is fetched again.
type cause int

const (
	unannounced cause = iota // it may have changed
	announced                // the server has notified of a change
	told                     // Relist
)

// refetch returns a fetch of a list that has not begun yet.
func (l *link) refetch(c *conn, kind bridge.ListKind, why cause) *fetch {
	r := &c.refetches[kind]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due == nil {
		f := &fetch{told: true, wanted: make(chan struct{}), done: make(chan struct{})}
		f.want = sync.OnceFunc(func() { close(f.wanted) })
		r.due = f
	}
	r.due.told = r.due.told && why == told
	if why == announced && !r.due.announced {
		r.due.announced = true
		c.changing.Add(1)
	}
	if !r.active {
		r.active = true
		c.start(func() { l.refetchDue(c, kind) })
	}
	return r.due
}

// refetchDue carries out the fetches of a list that are due, until none is.
func (l *link) refetchDue(c *conn, kind bridge.ListKind) {
	select {
	case <-c.ready: // a server may notify before the handshake
	case <-c.life.Done():
		return
	}
	r := &c.refetches[kind]
	for f := r.next(); f != nil; f = r.next() {
		delay := time.NewTimer(refetchDelay)
		select {
		case <-f.wanted:
		case <-delay.C:
		case <-c.life.Done():
			return
		}
		delay.Stop()
		r.begin()
		r.end(l.fetchAgain(c, kind, f))
		if f.announced {
			c.changing.Add(-1)
		}
	}
}

func (l *link) fetchAgain(c *conn, kind bridge.ListKind, f *fetch) error {
	if (f.announced || f.told) && kind != bridge.Tools && !c.has(kind) {
		return nil
	}
	ctx, cancel := l.cfg.withConnectTimeout(&c.life)
	defer cancel()
	err := l.fetch(ctx, c, &reading{link: l, kind: kind, all: f.announced, told: f.told})
	if err == nil {
		l.saveLists()
	} else if f.announced && c.alive() {
		l.cfg.Log.Warn("a changed list could not be read, the old one stays", "reason", err)
	}
	return err
}

// awaitFetch waits for a fetch, no longer than refetchTime, and reports whether it has ended.
func (c *conn) awaitFetch(ctx context.Context, f *fetch) bool {
	f.want()
	limit := time.NewTimer(refetchTime)
	defer limit.Stop()
	select {
	case <-f.done:
		return true
	case <-ctx.Done():
	case <-c.life.Done():
	case <-limit.C:
	}
	return false
}

// awaitChanges waits for the lists of which the server has notified that they have changed: a caller
// learns of a change that its call has caused before the result of that call.
func (c *conn) awaitChanges(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refetchTime)
	defer cancel()
	for kind := range c.refetches {
		if f := c.refetches[kind].pending(true); f != nil {
			c.awaitFetch(ctx, f)
		}
	}
}

// announces reports whether the server notifies of changes of a list.
func (c *conn) announces(kind bridge.ListKind) bool {
	if c.legacy {
		return string(wire.Lookup(c.about, "capabilities", kind.Capability(), "listChanged")) == "true"
	}
	granted := c.granted.Load()
	return granted != nil && string(wire.Lookup(*granted, kind.Capability()+"ListChanged")) == "true"
}

// freshen waits for a fetch of a list that is due or running. It begins one if what is known may be
// out of date.
func (l *link) freshen(ctx context.Context, kind bridge.ListKind) {
	c := l.conn.Load()
	if c == nil || !c.alive() {
		return
	}
	f := c.refetches[kind].pending(false)
	if f == nil && l.outdated(c, kind) {
		f = l.refetch(c, kind, unannounced)
	}
	if f != nil {
		c.awaitFetch(ctx, f)
	}
}

// outdated reports whether a list may have changed without a notification since it was fetched: a
// server that announces that it notifies need not, until it has.
func (l *link) outdated(c *conn, kind bridge.ListKind) bool {
	age, notifies := l.age(kind), c.announces(kind)
	switch {
	case l.faults[kind].Load() != nil:
		return age >= listAge
	case kind != bridge.Tools && !c.has(kind):
		return false
	case c.called.Load()&listBit(kind) != 0 && !(notifies && c.notified.Load()&listBit(kind) != 0):
		return true
	case notifies:
		return age >= announcedAge
	}
	return age >= listAge
}

// age returns how long ago the latest fetch of a list began.
func (l *link) age(kind bridge.ListKind) time.Duration {
	return time.Since(l.born) - time.Duration(l.fetched[kind].Load())
}

// reread asks the server for a list, unless it is away or has just been asked. The reply is the
// server's error, or empty. A lazy server is started if it is to be reached.
func (l *link) reread(ctx context.Context, kind bridge.ListKind, reach bool) bridge.Reply {
	if reach && l.cfg.Lazy {
		if _, _, err := l.awaitBriefly(ctx); err != nil {
			return bridge.Failed(notRun(err))
		}
	}
	c := l.conn.Load()
	if c == nil || !c.alive() {
		return empty()
	}
	if l.fetched[kind].Load() > 0 && c.called.Load()&listBit(kind) == 0 && l.age(kind) < refetchDelay && l.faults[kind].Load() == nil {
		return empty()
	}
	if f := l.refetch(c, kind, unannounced); c.awaitFetch(ctx, f) {
		if e := answeredError(f.err); e != nil {
			return bridge.Failed(e)
		}
	}
	if ctx.Err() != nil {
		return bridge.Failed(canceled(ctx.Err()))
	}
	return empty()
}

// listChanged takes a notification, and reports whether it is that of a changed list.
func (l *link) listChanged(c *conn, method string) (known bool) {
	for kind := range bridge.ListKinds {
		if kind.Changed() == method {
			known = true
			c.notified.Or(listBit(kind))
			l.refetch(c, kind, announced)
		}
	}
	return known
}

// Relist fetches a list again on the links of an owner that have another one, as Config.Changed has told another program.
// What has changed is told to callers, and not to Config.Changed: programs that tell each other come to an end.
func (c *Client) Relist(owner string, kind bridge.ListKind, digest string) {
	for _, l := range c.allLinks() {
		conn := l.conn.Load()
		if conn != nil && !l.key.own && l.key.owner == owner && digestOf(l.lists[kind].Load()) != digest {
			l.refetch(conn, kind, told)
		}
	}
}

// digestOf returns the digest of a list, "" without one.
func digestOf(list *bridge.List) string {
	if list == nil {
		return ""
	}
	h := sha256.New()
	for _, it := range list.Items {
		fmt.Fprintf(h, "%d ", len(it.Raw))
		h.Write(it.Raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}
