package observe

import (
	"slices"
	"sync"
	"time"
)

// Reading says how a reader gets the calls. The zero value works.
type Reading struct {
	Arguments bool          // the calls have their arguments, up to 64 KiB
	Results   bool          // the calls have their results, up to 64 KiB
	Every     time.Duration // how often calls are handed over while there are some; 0 means 20 ms
	All       bool          // no call is lost: while the reader has too many, those that end wait
}

// The calls, and the bytes of their arguments and results, that wait for a reader at most, and the calls for which it
// is woken before its time.
const (
	maxQueue  = 8 << 10
	maxHeld   = 8 << 20
	wakeQueue = 1 << 10
)

// A Reader gets the calls of a Stream.
type Reader struct {
	stream *Stream
	opts   Reading
	read   func([]Call)
	wake   chan struct{} // holds a token when there is something to read
	ended  chan struct{} // closed by Close
	done   chan struct{} // closed when the goroutine has ended

	reading sync.Mutex // held during read
	spare   []Call     // for the next queue; guarded by reading

	mu      sync.Mutex // guards what follows
	room    sync.Cond  // of mu; what waits for room in queue
	waiting int        // calls that do
	queue   []Call
	held    int  // bytes of arguments and results in queue
	lost    int  // calls since the last one in queue
	idle    bool // the goroutine waits for the next call, however long
	over    bool // no more calls are taken
}

// Read gives the calls that end from now on to a function, in batches and one at a time. It is called
// on another goroutine than the calls, and owns a batch until it returns. The Reader must be closed.
func (s *Stream) Read(opts Reading, read func([]Call)) *Reader {
	if opts.Every == 0 {
		opts.Every = 20 * time.Millisecond
	}
	r := &Reader{
		stream: s, opts: opts, read: read, idle: true,
		wake: make(chan struct{}, 1), ended: make(chan struct{}), done: make(chan struct{}),
	}
	r.room.L = &r.mu
	go r.run()
	s.change(func(all []*Reader) []*Reader { return append(all, r) })
	return r
}

// change replaces the readers.
func (s *Stream) change(f func([]*Reader) []*Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Reader
	if old := s.readers.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = f(all); len(all) == 0 {
		s.readers.Store(nil)
		return
	}
	s.readers.Store(&all)
}

// closeTime bounds the wait of Close for a reader that does not return.
const closeTime = 5 * time.Second

// Close ends the reader when it has got the calls that have ended so far, or after 5 s. It may be
// called once.
func (r *Reader) Close() {
	r.stream.change(func(all []*Reader) []*Reader {
		return slices.DeleteFunc(all, func(other *Reader) bool { return other == r })
	})
	close(r.ended)
	select {
	case <-r.done:
	case <-time.After(closeTime):
	}
}

// add queues a call, unless too many are waiting.
func (r *Reader) add(c *Call) {
	size := 0
	if r.opts.Arguments {
		size = len(c.Arguments)
	}
	if r.opts.Results {
		size += len(c.Result)
	}
	r.mu.Lock()
	over := r.over
	for r.opts.All && !over && r.isFull(size) {
		r.waiting++
		r.room.Wait()
		r.waiting--
	}
	if over || r.isFull(size) {
		r.lost++
		r.mu.Unlock()
		return
	}
	r.queue = append(r.queue, *c)
	last := &r.queue[len(r.queue)-1]
	if last.Lost, r.lost = r.lost, 0; !r.opts.Arguments {
		last.Arguments = nil
	}
	if !r.opts.Results {
		last.Result = nil
	}
	r.held += size
	wake := r.idle || len(r.queue) == wakeQueue
	if r.idle = false; r.over {
		r.room.Broadcast() // wakes hasMore
	}
	r.mu.Unlock()
	if wake {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// isFull reports whether a call with arguments and results of a size finds no room. r.mu is held.
func (r *Reader) isFull(size int) bool {
	return len(r.queue) == maxQueue || size > 0 && r.held+size > maxHeld
}

// run reads until the reader is closed.
func (r *Reader) run() {
	defer close(r.done)
	var next <-chan time.Time // nil while the reader is idle
	for {
		select {
		case <-next:
		case <-r.wake:
		case <-r.ended:
			r.mu.Lock()
			r.over = true
			r.mu.Unlock()
			for r.Flush() || r.hasMore() {
			}
			return
		}
		if next = nil; r.Flush() {
			next = time.After(r.opts.Every)
		}
	}
}

// hasMore waits for calls that have waited for room, and reports whether there are some.
func (r *Reader) hasMore() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) == 0 && r.waiting > 0 {
		r.room.Wait()
	}
	return len(r.queue) > 0
}

// Flush reads the calls that have ended so far, and reports whether there were some.
func (r *Reader) Flush() bool {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.mu.Lock()
	calls := r.queue
	r.queue, r.held, r.spare = r.spare, 0, nil
	if r.idle = len(calls) == 0; r.idle {
		r.queue = nil
	}
	r.room.Broadcast()
	r.mu.Unlock()
	if len(calls) == 0 {
		return false
	}
	r.read(calls)
	clear(calls)
	r.spare = calls[:0]
	return true
}
