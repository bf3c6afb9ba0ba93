package mcpserver

import (
	"errors"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// resource is something that all callers of a Server share and that is bounded.
type resource int

const (
	heldBytes      resource = iota // messages in flight: bodies, answers, what waits for clients
	journaledBytes                 // events kept for Last-Event-ID
	pendingCalls
	pendingListens // requests of subscriptions/listen, which last as long as their clients want
	openSessions
	openViews
	unusedTickets
	parkedCalls
	forwardedCalls   // to other nodes
	forwardedStreams // GETs of them, which may go on for ever
	resources
)

const (
	// minHeld bounds the memory of messages in flight, in bytes, unless Options.MessageBytes allows
	// such large ones that four of them need more.
	minHeld = 256 << 20
	// heldFree is the largest message, in bytes, that is not counted: those are bounded by the number
	// of calls and of connections.
	heldFree = 4 << 10
	// callsBySession times Options.CallsPerSession is the bound of all pending requests, and once more of those of
	// subscriptions/listen.
	callsBySession = 10
	// maxForwarded bounds the requests that wait for other nodes, and once more the streams of those: a link has room for
	// all of them beside what else it carries.
	maxForwarded = 2000
)

// errCrowded is why something is refused or ended for which its principal has no bytes left.
var errCrowded = errors.New("too many bytes are in flight")

// account counts what the callers of one principal use. Its methods may be called at once, and take
// no lock.
type account struct {
	whole *account     // that of all principals; nil in that itself
	lacks atomic.Int64 // requests for which there was no more of something; in that of all principals
	most  [resources]atomic.Int64
	used  [resources]atomic.Int64
	vain  [resources]atomic.Int64 // when there was last nothing to evict, in Unix ns

	hour   atomic.Int64 // since 1970
	stayed atomic.Int64 // sessions that mayStay has counted in it
}

// countedAs returns what a pending request is counted as.
func countedAs(m *wire.Message) resource {
	if m.Method == wire.MethodListen {
		return pendingListens
	}
	return pendingCalls
}

// take reports whether there are n more of a resource for the principal. give must return them.
func (a *account) take(r resource, n int) bool {
	if a.used[r].Add(int64(n)) <= a.most[r].Load() && (a.whole == nil || a.whole.take(r, n)) {
		return true
	}
	a.used[r].Add(-int64(n))
	return false
}

func (a *account) give(r resource, n int) {
	a.used[r].Add(-int64(n))
	if a.whole != nil {
		a.whole.give(r, n)
	}
}

// maySearch reports whether to look for something to evict: not where that was in vain a moment ago,
// since each look at thousands of sessions holds up all others.
func (a *account) maySearch(r resource) bool {
	return time.Since(time.Unix(0, a.vain[r].Load())) >= time.Second
}

func (a *account) searchedInVain(r resource) { a.vain[r].Store(time.Now().UnixNano()) }

// maxStaying is about how many sessions of a principal a node tells the others in an hour not to go on with, as it has gone
// on with them itself or they cannot move: what keeps that for 25 hours has room for a million, which one principal cannot fill at ten nodes.
const maxStaying = 4000

// mayStay reports whether the others are told of one more session, of at most so many in this hour.
func (a *account) mayStay(most int64) bool {
	if hour := time.Now().Unix() / 3600; a.hour.Swap(hour) != hour {
		a.stayed.Store(0)
	}
	if a.stayed.Load() >= most {
		return false
	}
	a.stayed.Add(1)
	return true
}

// exhausted is the error for a resource of which there is no more, named by a plural.
func (a *account) exhausted(what string, r resource) *toolformat.Error {
	limit := ""
	if r == openSessions || r == openViews {
		limit = " (limits.sessions in the config)"
	}
	a.whole.lacks.Add(1)
	own, whole := a.most[r].Load(), a.whole.most[r].Load()
	if own < whole {
		return unavailable("too many %s: at most %d, of which %d for each principal%s", what, whole, own, limit)
	}
	return unavailable("too many %s: at most %d%s", what, own, limit)
}

// hold counts a message of n bytes that is in flight, and reports false without room for it. free
// must be called in the end.
func (a *account) hold(n int) bool { return n <= heldFree || a.take(heldBytes, n) }

func (a *account) free(n int) {
	if n > heldFree {
		a.give(heldBytes, n)
	}
}

// accounts are those of all principals.
type accounts struct {
	whole *account
	rest  *account         // of principals beyond maxAccounts
	share [resources]int64 // of a principal

	adding sync.Mutex                                    // held to replace own
	own    atomic.Pointer[map[bridge.Principal]*account] // immutable maps
}

// maxAccounts bounds the principals with an account of their own.
const maxAccounts = 10_000

// newAccounts bounds each resource for all, and each principal where there are several to half of it: a
// single one, whatever it does, leaves room for the others. Principals keep the accounts that they have
// before, which may be nil.
func newAccounts(o *settings, before *accounts) *accounts {
	if before == nil {
		before = &accounts{whole: &account{}}
		before.rest = &account{whole: before.whole}
		before.own.Store(&map[bridge.Principal]*account{})
	}
	a := &accounts{whole: before.whole, rest: before.rest}
	most := [resources]int64{
		heldBytes:      max(minHeld, 4*int64(o.MessageBytes)),
		journaledBytes: journalsBytes,
		pendingCalls:   callsBySession * int64(o.CallsPerSession),
		pendingListens: callsBySession * int64(o.CallsPerSession),
		openSessions:   int64(o.Sessions),
		openViews:      int64(o.Sessions),
		unusedTickets:  maxTickets,
		parkedCalls:    maxParked,

		forwardedCalls:   maxForwarded,
		forwardedStreams: maxForwarded,
	}
	a.whole.limit(most)
	a.share = most
	for r := range a.share {
		if o.auth != nil && o.auth.Several() {
			a.share[r] = (a.share[r] + 1) / 2
		}
	}
	a.rest.limit(a.share)
	kept := map[bridge.Principal]*account{}
	for p, own := range *before.own.Load() {
		if own.inUse() {
			own.limit(a.share)
			kept[p] = own
		}
	}
	a.own.Store(&kept)
	return a
}

// inUse reports whether anything is counted in the account.
func (a *account) inUse() bool {
	for r := range a.used {
		if a.used[r].Load() != 0 {
			return true
		}
	}
	return false
}

// limit bounds what the account takes from now on.
func (a *account) limit(most [resources]int64) {
	for r := range most {
		a.most[r].Store(most[r])
	}
}

// of returns the account of a principal.
func (a *accounts) of(p bridge.Principal) *account {
	if own := (*a.own.Load())[p]; own != nil {
		return own
	}
	return a.add(p)
}

// add returns the account of a principal, which it adds.
func (a *accounts) add(p bridge.Principal) *account {
	a.adding.Lock()
	defer a.adding.Unlock()
	before := *a.own.Load()
	switch own := before[p]; {
	case own != nil:
		return own
	case len(before) >= maxAccounts:
		return a.rest
	}
	own := &account{whole: a.whole}
	own.limit(a.share)
	next := maps.Clone(before)
	next[p] = own
	a.own.Store(&next)
	return own
}

// message is a message of a client, counted in the account of its principal until it is freed.
type message struct {
	*wire.Buffer
	account *account
	held    int // bytes counted
}

// Free frees the message.
func (m message) Free() {
	m.Buffer.Free()
	if m.held > 0 {
		m.account.give(heldBytes, m.held)
	}
}

// counter reads messages, and counts the memory that they take in an account.
type counter struct {
	io.Reader // of a message
	account   *account
	done      <-chan struct{} // ends a wait for room
	patience  time.Duration   // bounds a wait for room; 0 means no wait
	length    int             // of the message as announced; negative means unknown
	arrived   int             // bytes of the message
	held      int             // bytes counted for it
}

// readMessage reads a message to the end of r, as wire.ReadBody does. The error is errCrowded when
// there is no room for its bytes. The message must be freed, whatever the error.
func (c *counter) readMessage(r io.Reader, length int64, limit int) (message, error) {
	c.Reader, c.length, c.arrived, c.held = r, int(length), 0, 0
	b, err := wire.ReadBody(c, length, limit, nil)
	c.Reader = nil
	return message{b, c.account, c.held}, err
}

// Read implements io.Reader. b is the free part of the memory that the message has. A long message
// is counted as a whole once its first part has come: one that cannot be held is refused soon.
func (c *counter) Read(b []byte) (int, error) {
	size := c.arrived + len(b)
	if size > firstPart {
		size = max(size, c.length)
	}
	if size > heldFree && size > c.held && !c.count(size) {
		return 0, errCrowded
	}
	n, err := c.Reader.Read(b)
	c.arrived += n
	return n, err
}

const (
	firstPart = 2 << 20 // bytes of a message

	roomTime = 10 * time.Second      // how long a message on a connection waits for room
	roomTick = 10 * time.Millisecond // how often it looks for room
)

// count makes the bytes counted size.
func (c *counter) count(size int) bool {
	for waited := time.Duration(0); ; waited += roomTick {
		if c.account.take(heldBytes, size-c.held) {
			c.held = size
			return true
		}
		if waited >= c.patience {
			return false
		}
		select {
		case <-time.After(roomTick):
		case <-c.done:
			return false
		}
	}
}
