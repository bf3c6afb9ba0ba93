package mcpserver

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
)

// journalsBytes bounds the events kept in all journals together, in bytes.
const journalsBytes = 64 << 20

// journal keeps the last events of a session's streams, within a bound, for a client that lost
// its connection (2025-11-25, transports, resumability).
type journal struct {
	session *session
	limit   int           // bytes of events
	total   *atomic.Int64 // bytes in all journals

	mu      sync.Mutex // guards the fields below
	entries []event
	bytes   int
	last    int64             // number of a stream
	streams map[int64]*stream // those that have not ended, by number
	ended   bool
}

type event struct {
	number, seq int64 // of the stream, and of the event in it
	data        []byte
}

// newStream begins the stream of a POST.
func (j *journal) newStream() *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return j.register(&stream{session: j.session, number: j.last})
}

// sessionStream returns the session's GET stream: a new one when there is none yet, or the client
// was too slow for the last one.
func (j *journal) sessionStream() *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := &stream{session: j.session}
	if st := j.streams[0]; st != nil && !st.box.isClosed() {
		return st
	} else if st != nil {
		next.seq.Store(st.seq.Load())
	}
	return j.register(next)
}

// register makes a stream one that find returns. In a session that has ended it is closed from the
// start. j.mu is held.
func (j *journal) register(st *stream) *stream {
	st.box = newOutbox(st.session.core.opts.QueueBytes)
	j.streams[st.number] = st
	if j.ended {
		st.box.end(errEnded)
	}
	return st
}

// find returns the stream of that number, nil when it has ended.
func (j *journal) find(number int64) *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.streams[number]
}

// forget removes a stream that has ended. Its events stay.
func (j *journal) forget(number int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.streams, number)
}

// addEvent keeps an event and evicts the oldest ones beyond the bound. The newest event is kept
// whatever its size, as long as all journals together have room for it.
func (j *journal) addEvent(number, seq int64, data []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended {
		return
	}
	j.entries = append(j.entries, event{number, seq, bytes.Clone(data)})
	j.bytes += len(data)
	total := j.total.Add(int64(len(data)))
	for len(j.entries) > 1 && j.bytes > j.limit || len(j.entries) > 0 && total > journalsBytes {
		total = j.evict()
	}
}

// evict removes the oldest event; j.mu is held.
func (j *journal) evict() (total int64) {
	size := len(j.entries[0].data)
	j.entries[0].data = nil
	j.entries = j.entries[1:]
	j.bytes -= size
	return j.total.Add(-int64(size))
}

// replay writes the kept events of a stream that follow event seq. A client that names no event
// has a negative seq and gets none.
func (j *journal) replay(out *eventWriter, number, seq int64) {
	if seq < 0 {
		return
	}
	j.mu.Lock()
	entries := slices.Clone(j.entries)
	j.mu.Unlock()
	for _, e := range entries {
		if e.number == number && e.seq > seq {
			out.write("message", eventID(number, e.seq), e.data)
		}
	}
}

// end removes all events and ends the streams.
func (j *journal) end(reason error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.entries) > 0 {
		j.evict()
	}
	j.entries, j.ended = nil, true
	for _, st := range j.streams {
		st.box.end(reason)
	}
}
