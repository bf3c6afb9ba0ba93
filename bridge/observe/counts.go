package observe

import (
	"maps"
	"slices"
	"sync"
	"time"
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
		for server := range caller.called.all() {
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
		if call.Server != "" {
			of := c.now.Servers[call.Server]
			of.add(call)
			c.now.Servers[call.Server] = of
			call.Caller.called.add(call.Server)
		}
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

// called is the servers that a caller has called.
type called struct {
	mu      sync.Mutex // guards servers
	servers map[string]bool
}

func (c *called) add(server string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers == nil {
		c.servers = map[string]bool{}
	}
	c.servers[server] = true
}

func (c *called) all() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.servers)
}
