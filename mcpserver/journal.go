package mcpserver

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// journalsBytes bounds what all sessions together keep for clients that come back.
const journalsBytes = 64 << 20

// journal keeps the last events of a session's streams, within a bound, for a client
// that lost its connection (2025-11-25, transports, resumability).
type journal struct {
	limit int
	total *atomic.Int64 // of all journals

	mu      sync.Mutex // guards what follows
	entries []event
	bytes   int
	last    int64
	streams map[int64]*stream // those that have not ended
	ended   bool              // nothing is noted any more
}

type event struct {
	number, seq int64
	data        []byte
}

// open begins a stream of one POST.
func (j *journal) open(s *session) *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return j.begin(&stream{session: s, number: j.last, box: newOutbox(s.server.opts.QueueBytes)})
}

// begin makes a stream one of those that can be found; in a session that has ended it is
// over before it begins. j.mu is held.
func (j *journal) begin(st *stream) *stream {
	j.streams[st.number] = st
	if j.ended {
		st.box.end(errEnded)
	}
	return st
}

func (j *journal) find(number int64) *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.streams[number]
}

func (j *journal) closed(number int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.streams, number)
}

// add notes an event; the oldest ones make room. The newest one is kept however large it
// is, as long as all journals together have room for it.
func (j *journal) add(number, seq int64, data []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	j.entries = append(j.entries, event{number, seq, bytes.Clone(data)})
	j.bytes += len(data)
	total := j.total.Add(int64(len(data)))
	for len(j.entries) > 1 && j.bytes > j.limit || len(j.entries) > 0 && total > journalsBytes {
		total = j.drop()
	}
}

// drop forgets the oldest event; j.mu is held.
func (j *journal) drop() (total int64) {
	size := len(j.entries[0].data)
	j.entries[0].data = nil
	j.entries = j.entries[1:]
	j.bytes -= size
	return j.total.Add(-int64(size))
}

// after returns the events of a stream with a higher number than seq; none for a
// negative one.
func (j *journal) after(number, seq int64) []event {
	if seq < 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []event
	for _, e := range j.entries {
		if e.number == number && e.seq > seq {
			out = append(out, e)
		}
	}
	return out
}

// end forgets everything and ends the streams.
func (j *journal) end(why error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.entries) > 0 {
		j.drop()
	}
	j.entries, j.ended = nil, true
	for _, st := range j.streams {
		st.box.end(why)
	}
}
