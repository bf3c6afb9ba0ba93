package observe

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// maxRecent is how many calls Counts keep.
const maxRecent = 1000

// Counts are numbers of the calls of a Stream, for each server and in all, and its latest calls.
type Counts struct {
	stream *Stream
	reader *Reader

	mu      sync.Mutex // guards what follows
	now     Snapshot
	recent  []Call // the latest, of which there may be twice as many as are shown
	dropped int    // before recent[0]
}

// A Snapshot is what has been counted at one time.
type Snapshot struct {
	All     Count
	Servers map[string]Count // by their names; of calls that went to one
	Lost    int              // calls that are not counted, as too many ended at once
}

// A Count is about the calls of one server, or of all.
type Count struct {
	Calls, Failed int       // Failed are those of them whose Outcome is
	In, Out       int       // bytes
	Last          time.Time // when the last call ended; zero without one
	Callers       int       // that have a session now; of a server those that have called it
}

// NewCounts counts the calls of a stream from now on, until Close.
func NewCounts(s *Stream) *Counts {
	c := &Counts{stream: s, now: Snapshot{Servers: map[string]Count{}}}
	c.reader = s.Read(Reading{Every: time.Second}, c.count)
	return c
}

// Close ends counting.
func (c *Counts) Close() { c.reader.Close() }

// Snapshot returns the counts with all calls that have ended.
func (c *Counts) Snapshot() Snapshot {
	c.reader.Flush()
	c.mu.Lock()
	now := c.now
	now.Servers = maps.Clone(now.Servers)
	c.mu.Unlock()
	for _, caller := range c.stream.Callers() {
		if caller.operator {
			continue
		}
		now.All.Callers++
		for server := range caller.used.calledServers() {
			if of, ok := now.Servers[server]; ok {
				of.Callers++
				now.Servers[server] = of
			}
		}
	}
	return now
}

// Recent returns the latest calls that have ended, without arguments and results, and where to go on: those
// that come after them are Recent(next). It begins with 0.
func (c *Counts) Recent(from int) (calls []Call, next int) {
	c.reader.Flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	next = c.dropped + len(c.recent)
	from = max(0, from-c.dropped, len(c.recent)-maxRecent)
	return slices.Clone(c.recent[min(from, len(c.recent)):]), next
}

func (c *Counts) count(calls []Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent = append(c.recent, calls...); len(c.recent) > 2*maxRecent {
		c.dropped += len(c.recent) - maxRecent
		c.recent = slices.Delete(c.recent, 0, len(c.recent)-maxRecent)
	}
	for i := range calls {
		call := &calls[i]
		c.now.Lost += call.Lost
		c.now.All.add(call)
		if call.Server != "" && !call.withheld {
			of := c.now.Servers[call.Server]
			of.add(call)
			c.now.Servers[call.Server] = of
		}
		call.Caller.used.add(call)
	}
}

func (c *Count) add(call *Call) {
	c.Calls++
	if call.Outcome.Failed() {
		c.Failed++
	}
	c.In += call.In
	c.Out += call.Out
	if end := call.Time.Add(call.Took); end.After(c.Last) {
		c.Last = end
	}
}

// used is what a caller has used of the source.
type used struct {
	mu      sync.Mutex     // guards what follows
	calls   int            // that have ended
	servers map[string]int // calls by server
	watched map[string]bool
}

// maxWatched bounds the resources that are known to be watched by a caller.
const maxWatched = 1000

// add adds a call that has ended.
func (u *used) add(c *Call) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls++
	if c.Server != "" && !c.withheld {
		if u.servers == nil {
			u.servers = map[string]int{}
		}
		u.servers[c.Server]++
	}
	switch {
	case c.Outcome != OK:
	case c.Method == wire.MethodSubscribe && len(u.watched) < maxWatched:
		if u.watched == nil {
			u.watched = map[string]bool{}
		}
		u.watched[c.Target] = true
	case c.Method == wire.MethodUnsubscribe:
		delete(u.watched, c.Target)
	}
}

// Used returns how many calls of the caller have been counted, and the resources that it is subscribed to.
func (c *Caller) Used() (calls int, watched []string) {
	c.used.mu.Lock()
	defer c.used.mu.Unlock()
	return c.used.calls, slices.Sorted(maps.Keys(c.used.watched))
}

func (u *used) calledServers() map[string]int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.servers)
}
