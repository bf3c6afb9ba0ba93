package output

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A Queue writes lines to a stream that may be read late or not at all, such as standard error. Its Write
// does not wait for that: lines are left out while too many are waiting, and a line says how many.
type Queue struct {
	to io.Writer

	mu      sync.Mutex    // guards what follows
	lines   []byte        // the lines that wait
	lost    int           // lines that came after those and were left out
	writing chan struct{} // closed when the goroutine that writes has ended; nil without one
}

const (
	maxQueued = 1 << 20     // bytes of lines that wait
	queueTime = time.Second // how long Close waits
)

// NewQueue returns a Queue of a stream.
func NewQueue(to io.Writer) *Queue { return &Queue{to: to} }

// Write queues a line.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.lines)+len(line) > maxQueued {
		q.lost++
	} else {
		q.lines = append(q.lines, line...)
	}
	if q.writing == nil {
		q.writing = make(chan struct{})
		go q.write()
	}
	return len(line), nil
}

// write writes lines until none is left.
func (q *Queue) write() {
	for {
		q.mu.Lock()
		lines, lost := q.lines, q.lost
		q.lines, q.lost = nil, 0
		if len(lines) == 0 && lost == 0 {
			close(q.writing)
			q.writing = nil
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		if len(lines) > 0 {
			_, _ = q.to.Write(lines) // a log that cannot be written is lost
		}
		switch lost {
		case 0:
		case 1:
			fmt.Fprint(q.to, "mcpbridge: a line of the log is left out here: it was too long, or not read in time\n")
		default:
			fmt.Fprintf(q.to, "mcpbridge: %d lines of the log are left out here: they were not read in time\n", lost)
		}
	}
}

// Close waits until all lines are written, or for a second. Lines may still be queued after it.
func (q *Queue) Close() {
	q.mu.Lock()
	writing := q.writing
	q.mu.Unlock()
	if writing == nil {
		return
	}
	select {
	case <-writing:
	case <-time.After(queueTime):
	}
}
