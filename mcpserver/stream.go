package mcpserver

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// primedFrom is the first revision whose clients expect a stream to begin with an event that has
// an id and no data: with it they can resume before the first message (SEP-1699).
const primedFrom = "2025-11-25"

// stream is a stream of events to an HTTP client: that of a POST, or number 0, which carries what
// belongs to no request. The client of a session may lose its connection and resume the stream.
type stream struct {
	session *session // nil in the modern era, which has no sessions
	number  int64
	box     *outbox
	seq     *atomic.Int64 // of the last event; stream 0 and those that follow it share one

	mu     sync.Mutex         // guards the fields below
	leave  context.CancelFunc // disconnects the reader; nil without one
	vacant chan struct{}      // closed when the reader has gone
}

// attach makes the caller the stream's only reader, disconnecting the previous one; leave
// disconnects it. detach must be called in the end.
func (st *stream) attach(leave context.CancelFunc) (detach func()) {
	st.mu.Lock()
	for st.leave != nil {
		st.leave()
		vacant := st.vacant
		st.mu.Unlock()
		<-vacant
		st.mu.Lock()
	}
	vacant := make(chan struct{})
	st.leave, st.vacant = leave, vacant
	st.mu.Unlock()
	if st.session != nil {
		st.session.readers.Add(1)
	}
	return func() {
		st.mu.Lock()
		st.leave = nil
		st.mu.Unlock()
		close(vacant)
		if st.session != nil {
			st.session.touch()
			st.session.readers.Add(-1)
		}
		st.saveRest()
	}
}

// saveRest moves the rest of an ended stream without a reader to the journal, where a client that
// resumes it finds it. List changes of a session's GET stream are also for the next one, and the rest of a stream
// that cannot be resumed is dropped.
func (st *stream) saveRest() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.leave != nil || !st.box.isClosed() {
		return
	}
	if st.session != nil {
		if st.number == 0 {
			st.session.journal.openSessionStream() // with the list changes
		}
		for batch, _ := st.box.take(); batch != nil; batch, _ = st.box.take() {
			st.record(batch)
		}
		if st.number != 0 {
			st.session.journal.forget(st.number)
		}
	}
	st.box.discard()
}

// record numbers the messages of a batch, adds them to the journal and returns the number of the
// first; st.mu is held.
func (st *stream) record(batch []*wire.Buffer) int64 {
	first := st.seq.Add(int64(len(batch))) - int64(len(batch)) + 1
	if st.session != nil {
		for i, msg := range batch {
			st.session.journal.addEvent(st.number, first+int64(i), msg.B)
		}
	}
	return first
}

// serve writes the stream to a client: what it missed after the event numbered after, then what is
// sent, until the stream or the connection ends. It returns why.
func (st *stream) serve(ctx context.Context, w http.ResponseWriter, after int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := newEventWriter(w)
	defer st.attach(func() { cancel(); out.leave() })()
	if st.session != nil {
		if after < 0 && st.session.revision() >= primedFrom {
			out.write("", st.session.journal.eventID(st.number, st.seq.Load()), nil) // who resumes has got what is before
		}
		st.session.journal.replay(out, st.session.journal.after(st.number, after))
	}
	if err := out.flush(); err != nil {
		return err
	}
	err := st.box.drain(ctx.Done(), func(batch []*wire.Buffer) error {
		st.mu.Lock()
		seq := st.record(batch)
		st.mu.Unlock()
		for i, msg := range batch {
			id := ""
			if st.session != nil {
				id = st.session.journal.eventID(st.number, seq+int64(i))
			}
			out.write("message", id, msg.B)
			msg.Free()
		}
		return out.flush()
	}, out.idle)
	if out.hasLeft() && !st.box.isClosed() {
		return errDetached // for another reader: it has been given no time to be too slow
	}
	return err
}

// leaveTime is how long the reader of a stream may go on writing when another one comes: enough for a client that reads.
const leaveTime = 100 * time.Millisecond

// eventWriter writes events to an HTTP response.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error

	mu   sync.Mutex // guards left
	left bool       // writes get no more time
}

// newEventWriter begins the response.
func newEventWriter(w http.ResponseWriter) *eventWriter {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // for proxies that would hold events back
	w.WriteHeader(http.StatusOK)
	return &eventWriter{w: w, control: http.NewResponseController(w)}
}

// copiedEvent is how many bytes of data an event may have to be copied, so that it is one write: what
// fits into a pooled buffer.
const copiedEvent = 64<<10 + 1<<10

func (e *eventWriter) write(kind, id string, data []byte) {
	copied := data
	if len(data) > copiedEvent {
		copied = nil
	}
	buf := wire.NewBuffer(len(copied) + len(kind) + len(id) + 64)
	defer buf.Free()
	buf.B = wire.AppendEvent(buf.B, kind, id, copied)
	if len(data) <= copiedEvent {
		e.send(buf.B)
		return
	}
	end := len(buf.B) - len("\n\n")
	e.send(buf.B[:end])
	for part := range slices.Chunk(data, largePart) {
		e.send(part)
	}
	e.send(buf.B[end:])
}

func (e *eventWriter) send(b []byte) {
	if e.err == nil {
		e.extend()
		_, e.err = e.w.Write(b)
	}
}

// extend gives the next write its time.
func (e *eventWriter) extend() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.left {
		e.control.SetWriteDeadline(time.Now().Add(writeTime))
	}
}

// leave ends the writes after leaveTime, also one that waits for its client. Any goroutine may call it until the handler of the
// request returns.
func (e *eventWriter) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.left {
		e.left = true
		e.control.SetWriteDeadline(time.Now().Add(leaveTime))
	}
}

func (e *eventWriter) hasLeft() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left
}

func (e *eventWriter) flush() error {
	if e.err == nil {
		e.err = e.control.Flush()
	}
	return e.err
}

// idle keeps proxies from closing a quiet stream: clients skip the comment.
func (e *eventWriter) idle() error {
	e.send([]byte(": \n\n"))
	return e.flush()
}

// eventID names the event number seq of a stream.
func (j *journal) eventID(number, seq int64) string {
	return j.mark + strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(seq, 10)
}

// journalsBytes bounds the events kept in all journals together, in bytes.
const journalsBytes = 64 << 20

// journal keeps the last events of a session's streams, within a bound, for a client that lost
// its connection (2025-11-25, transports, resumability).
type journal struct {
	session *session
	mark    string // begins the ids of events, which say which node has a guest's; else ""

	mu      sync.Mutex // guards the fields below
	entries []event
	bytes   int               // of the events
	before  int64             // number of a stream that this node has not begun
	last    int64             // number of a stream
	streams map[int64]*stream // those that have not ended, by number
	listens bool              // the client has opened the session's GET stream
	results []*exchange       // requests for the result of a task, whose clients accept streams
	ended   bool
}

type event struct {
	number, seq int64 // of the stream, and of the event in it
	data        []byte
}

// Notify implements bridge.Back for what belongs to no request: on the session's GET stream. Before
// the client has opened that, only list changes are kept for it, and what is said of a task goes to those who wait for the
// result of one. After a stream for which it was too slow the next one begins.
func (j *journal) Notify(method string, params []byte) {
	if method == wire.NotificationProgress || method == wire.NotificationTaskStatus {
		if st := j.resultStream(); st != nil {
			st.box.Notify(method, params)
			return
		}
	}
	st := j.find(0)
	if st == nil && params == nil || st != nil && st.box.isClosed() {
		st = j.sessionStream()
	}
	if st != nil {
		st.box.Notify(method, params)
	}
}

// Ask implements bridge.Back. The client may yet open the stream.
func (j *journal) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return j.session.ask(ctx, j.sessionStream().box, method, params)
}

// awaitsResult notes a request for the result of a task until done is called.
func (j *journal) awaitsResult(x *exchange) (done func()) {
	if !x.accept.events {
		return func() {}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.results = append(j.results, x)
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.results = slices.DeleteFunc(j.results, func(other *exchange) bool { return other == x })
	}
}

// resultStream returns the stream of the latest request for the result of a task, for a client that has not opened the GET
// stream: clients expect what is said of tasks on any stream (2025-11-25, tasks). It is nil without one.
func (j *journal) resultStream() *stream {
	j.mu.Lock()
	var latest *exchange
	if n := len(j.results); n > 0 && !j.listens {
		latest = j.results[n-1]
	}
	j.mu.Unlock()
	if latest == nil {
		return nil
	}
	return latest.openStream()
}

// setListens notes that the client has opened the GET stream.
func (j *journal) setListens() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.listens = true
}

// newStream begins the stream of a POST.
func (j *journal) newStream() *stream {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	return j.register(&stream{session: j.session, number: j.last, seq: new(atomic.Int64)})
}

// began reports whether this node has begun the stream of that number.
func (j *journal) began(number int64) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.before < number && number <= j.last
}

// sessionStream returns the session's GET stream: a new one if it is the first, or the client was
// too slow for the last one.
func (j *journal) sessionStream() *stream {
	st, last := j.openSessionStream()
	if last != nil {
		last.saveRest() // or its reader does, which may still be taking it
	}
	return st
}

// openSessionStream is sessionStream that also returns the last stream if there is a new one, which takes over its list
// changes.
func (j *journal) openSessionStream() (st, last *stream) {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := &stream{session: j.session, seq: new(atomic.Int64)}
	var changes []string
	if last = j.streams[0]; last != nil {
		if !last.box.isClosed() {
			return last, nil
		}
		next.seq, changes = last.seq, last.box.listChanges()
	}
	j.register(next)
	for _, method := range changes {
		next.box.Notify(method, nil)
	}
	return next, last
}

// register makes a stream one that find returns. j.mu is held.
func (j *journal) register(st *stream) *stream {
	st.box = newOutbox(st.session.server.opts().QueueBytes, st.session.account)
	st.box.left = true // until its client has come
	j.streams[st.number] = st
	if j.ended && st.number == 0 {
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
	for len(j.entries) > 0 && j.bytes+len(data) > j.session.server.opts().ResumeBytes {
		j.evict()
	}
	for !j.session.account.take(journaledBytes, len(data)) {
		if len(j.entries) == 0 {
			return
		}
		j.evict()
	}
	j.entries = append(j.entries, event{number, seq, bytes.Clone(data)})
	j.bytes += len(data)
}

// evict removes the oldest event; j.mu is held.
func (j *journal) evict() {
	size := len(j.entries[0].data)
	j.entries[0].data = nil
	j.entries = j.entries[1:]
	j.bytes -= size
	j.session.account.give(journaledBytes, size)
}

// after returns the kept events of a stream that follow event seq. A client that names no event
// has a negative seq and gets no events.
func (j *journal) after(number, seq int64) (kept []event) {
	if seq < 0 {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.entries {
		if e.number == number && e.seq > seq {
			kept = append(kept, e)
		}
	}
	return kept
}

// replay writes kept events.
func (j *journal) replay(out *eventWriter, kept []event) {
	for _, e := range kept {
		out.write("message", j.eventID(e.number, e.seq), e.data)
	}
}

// end removes all events and ends the session's stream. The streams of POSTs end with their answers.
func (j *journal) end(reason error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.entries) > 0 {
		j.evict()
	}
	j.entries, j.ended = nil, true
	if st := j.streams[0]; st != nil {
		st.box.end(reason)
		st.box.discard() // or its reader does
	}
}
