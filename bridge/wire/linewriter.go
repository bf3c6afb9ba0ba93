package wire

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	copyBelow = 16 << 10 // bytes: a longer message has a system call of its own
	batchSize = 64 << 10 // bytes: no pipe takes more at once
)

// A LineWriter writes messages to a stream, one a line. A goroutine of its own writes the queue:
// short messages that are queued at the same time go out together. It may be used from many
// goroutines; messages leave in the order of Write. The owner calls Close and ends the stream.
type LineWriter struct {
	w     io.Writer
	limit int           // of size
	done  chan struct{} // closed when the goroutine ends

	mu      sync.Mutex // guards what follows
	more    *sync.Cond // queue or closed has changed
	queue   []line
	size    int           // bytes queued or being written
	freed   chan struct{} // closed when size shrinks or closed is set; nil when no Write waits
	closed  bool          // Close was called
	dropped bool          // the queue is not to be written any more
	err     error         // the stream's
}

// line is a message in the queue.
type line struct {
	b    *Buffer
	sent *atomic.Bool // see Write; may be nil
}

// NewLineWriter returns a writer that queues at most limit bytes. Its goroutine ends with Close or
// with the stream's first error.
func NewLineWriter(w io.Writer, limit int) *LineWriter {
	l := &LineWriter{w: w, limit: limit, done: make(chan struct{})}
	l.more = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// Write queues b, which must not contain a line break, to be written with a line end, and takes it
// over in any case. While the queue is full it waits until the context ends that life returns; a
// message of any size fits into an empty queue. sent, unless nil, becomes true just before the first
// byte of b is written, and false again if that has failed: while it is false no byte has left.
//
// The error is that of the context, the stream's, or [io.ErrClosedPipe] after Close; b has not been
// queued then. A nil error does not mean that b has been written.
func (l *LineWriter) Write(life func() context.Context, b *Buffer, sent *atomic.Bool) error {
	full, err := l.enqueue(line{b, sent})
	if full != nil {
		for ctx := life(); full != nil && err == nil; {
			select {
			case <-full:
				full, err = l.enqueue(line{b, sent})
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
	}
	if err != nil {
		b.Free()
	}
	return err
}

// enqueue queues a message. When the queue is full it returns a channel that is closed when it is
// time to try again.
func (l *LineWriter) enqueue(m line) (full <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := len(m.b.B) + 1
	switch {
	case l.err != nil:
		return nil, l.err
	case l.closed:
		return nil, io.ErrClosedPipe
	case l.size > 0 && l.size+size > l.limit:
		if l.freed == nil {
			l.freed = make(chan struct{})
		}
		return l.freed, nil
	}
	l.queue = append(l.queue, m)
	l.size += size
	l.more.Signal()
	return nil, nil
}

// Close refuses further writes, also those that wait. It returns nil when the queue has been
// written, the stream's error when that has failed, or the error of ctx when that ends first. In
// the last case the rest of the queue is dropped; a write to the stream may still be under way,
// until the stream's owner ends it. Close may be called again.
func (l *LineWriter) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.wakeWriters()
	l.more.Signal()
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
	return l.err
}

// wakeWriters wakes the calls of Write that wait. l.mu is held.
func (l *LineWriter) wakeWriters() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// run writes the queue until the writer ends. Two slices take turns as the queue.
func (l *LineWriter) run() {
	defer close(l.done)
	for batch := l.nextBatch(nil); batch != nil; batch = l.nextBatch(batch[:0]) {
		for rest := batch; len(rest) > 0; {
			n, size := group(rest)
			if !l.writeGroup(rest[:n], size) {
				return
			}
			rest = rest[n:]
		}
		clear(batch)
		runtime.Gosched() // what else is ready to be sent goes out together
	}
}

// nextBatch waits for messages and exchanges the queue for an empty slice. It returns nil when the
// writer has ended.
func (l *LineWriter) nextBatch(empty []line) []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.more.Wait()
	}
	batch := l.queue
	l.queue = empty
	if len(batch) == 0 || l.dropped {
		return nil
	}
	return batch
}

// group returns how many messages of a batch are written together, at least one, and their size
// with line ends.
func group(batch []line) (n, size int) {
	for n < len(batch) {
		next := len(batch[n].b.B) + 1
		if n > 0 && (next > copyBelow || size+next > batchSize) {
			break
		}
		n++
		size += next
		if next > copyBelow {
			break
		}
	}
	return n, size
}

func markSent(group []line, sent bool) {
	for _, m := range group {
		if m.sent != nil {
			m.sent.Store(sent)
		}
	}
}

// writeGroup writes messages with one call of the stream, and frees them. It returns false when
// that has failed or the rest of the queue is dropped.
func (l *LineWriter) writeGroup(group []line, size int) bool {
	out := group[0].b
	if len(group) > 1 {
		out = NewBuffer(size)
		for _, m := range group {
			out.B = append(append(out.B, m.b.B...), '\n')
			m.b.Free()
		}
	} else {
		out.B = append(out.B, '\n')
	}
	defer out.Free()
	l.mu.Lock()
	dropped := l.dropped
	l.mu.Unlock()
	if dropped {
		return false
	}
	markSent(group, true)
	n, err := l.w.Write(out.B)
	if err == nil && n < len(out.B) {
		err = io.ErrShortWrite
	}
	if err != nil && n == 0 {
		markSent(group, false)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size -= size
	l.err = err
	l.wakeWriters()
	return err == nil && !l.dropped
}
