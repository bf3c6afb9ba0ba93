package wire

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

const (
	direct = 16 << 10 // messages above go to the stream as they are: copying costs more than another system call
	gather = 64 << 10 // what short ones are gathered up to: no pipe takes more at once
)

// LineWriter writes messages to a stream, a line each. It is a queue with a goroutine of its own: what has gathered while
// the stream was busy goes out at once. It may be used by several goroutines; messages leave in the order in which Write
// has queued them. Its owner calls Close, and ends the stream.
type LineWriter struct {
	w     io.Writer
	limit int
	wake  chan struct{} // holds one: the queue or closed has changed
	done  chan struct{}

	mu      sync.Mutex // guards what follows
	queue   []line
	size    int           // bytes queued or being written
	room    chan struct{} // closed when size shrinks or nothing will be queued any more; nil when nobody waits
	closed  bool          // no more writes
	dropped bool          // what has not been written is not to be
	err     error         // the stream's
}

// line is a message in the queue.
type line struct {
	b    *Buffer
	sent *atomic.Bool
}

// NewLineWriter returns a writer that queues up to limit bytes, and starts its goroutine, which ends with Close or with the
// stream's first error.
func NewLineWriter(w io.Writer, limit int) *LineWriter {
	l := &LineWriter{w: w, limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Write queues b, which must hold no line break, to be written with a line end. It takes b over, and frees it in the end
// whatever happens. While the queue is full it waits, until ctx ends; a message of any size fits into an empty queue. sent,
// when not nil, becomes true just before the stream is given the first byte of b: while it is false nothing has gone out.
//
// The error is that of ctx, the stream's, or [io.ErrClosedPipe] after Close; b has not been queued then. That there is none
// does not mean that b has been written.
func (l *LineWriter) Write(ctx context.Context, b *Buffer, sent *atomic.Bool) error {
	for {
		if err := ctx.Err(); err != nil {
			b.Free()
			return err
		}
		room, err := l.offer(line{b, sent})
		if err != nil {
			b.Free()
			return err
		}
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

// offer queues a message. When there is no room for it, it returns a channel that is closed when to try again.
func (l *LineWriter) offer(m line) (room <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(m.b.B) + 1
	switch {
	case l.err != nil:
		return nil, l.err
	case l.closed:
		return nil, io.ErrClosedPipe
	case l.size > 0 && l.size+size > l.limit:
		if l.room == nil {
			l.room = make(chan struct{})
		}
		return l.room, nil
	}
	l.queue = append(l.queue, m)
	l.size += size
	l.signal()
	return nil, nil
}

func (l *LineWriter) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Done is closed when nothing will be written any more: after the stream's first error, and after Close.
func (l *LineWriter) Done() <-chan struct{} { return l.done }

// Err returns the stream's error, nil while it has none.
func (l *LineWriter) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close refuses further writes, those that wait too, and returns when all that was queued has been written, with nil; when
// the stream has failed, with its error; or when ctx ends, with its error. In that last case what is left is dropped; a
// write to the stream may still be under way, and lasts until the stream's owner ends it. Close may be called again.
func (l *LineWriter) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.tellRoom()
	l.signal()
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		l.mu.Lock()
		l.dropped = true
		l.mu.Unlock()
		select {
		case <-l.done:
		default:
			return ctx.Err()
		}
	}
	return l.Err()
}

// tellRoom wakes the writes that wait; l.mu is held.
func (l *LineWriter) tellRoom() {
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
}

// run is the goroutine. Two slices take turns as the queue.
func (l *LineWriter) run() {
	defer close(l.done)
	var batch []line
	for goOn := true; goOn; {
		batch, goOn = l.next(batch[:0])
		for rest := batch; len(rest) > 0; {
			n, size := group(rest)
			if goOn = goOn && l.put(rest[:n], size); !goOn {
				free(rest)
				break
			}
			free(rest[:n])
			rest = rest[n:]
		}
		clear(batch)
	}
	l.mu.Lock()
	free(l.queue)
	l.queue = nil
	l.mu.Unlock()
}

// next waits for messages and exchanges the queue for an empty slice. It returns false when there will be none.
func (l *LineWriter) next(empty []line) ([]line, bool) {
	for {
		l.mu.Lock()
		batch := l.queue
		if len(batch) > 0 && !l.dropped {
			l.queue = empty
			l.mu.Unlock()
			return batch, true
		}
		closed := l.closed
		l.mu.Unlock()
		if closed {
			return nil, false
		}
		<-l.wake
	}
}

// group returns how many of the messages go out together, at least one, and their size with line ends.
func group(batch []line) (n, size int) {
	for n < len(batch) {
		next := len(batch[n].b.B) + 1
		if n > 0 && (next > direct || size+next > gather) {
			break
		}
		n++
		size += next
		if next > direct {
			break
		}
	}
	return n, size
}

// put writes messages with one call. It returns false when that failed or nothing more is wanted.
func (l *LineWriter) put(group []line, size int) bool {
	out := group[0].b
	if len(group) == 1 {
		out.B = append(out.B, '\n')
	} else {
		out = NewBuffer(size)
		defer out.Free()
		for _, m := range group {
			out.B = append(append(out.B, m.b.B...), '\n')
		}
	}
	if l.unwanted() {
		return false
	}
	for _, m := range group {
		if m.sent != nil {
			m.sent.Store(true)
		}
	}
	n, err := l.w.Write(out.B)
	if err == nil && n < len(out.B) {
		err = io.ErrShortWrite
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size -= size
	l.err = err
	l.tellRoom()
	return err == nil && !l.dropped
}

func (l *LineWriter) unwanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

func free(batch []line) {
	for _, m := range batch {
		m.b.Free()
	}
}
