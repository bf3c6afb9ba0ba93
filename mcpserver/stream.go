package mcpserver

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// primedFrom is the first revision whose clients expect a stream to begin with an
// event that has an id and no data, so that they can come back before the first
// message (SEP-1699).
const primedFrom = "2025-11-25"

// stream is a stream of events to an HTTP client: that of one POST, or number 0, on
// which a session itself speaks. A client of a session may lose its connection and come
// back for the rest.
type stream struct {
	session *session // nil in the modern era, which has none
	number  int64
	box     *outbox

	mu     sync.Mutex // guards what follows
	seq    int64
	leave  context.CancelFunc // sends the connected client away; nil: none is connected
	vacant chan struct{}      // closed when that one has gone
}

func (st *stream) eventID(seq int64) string { return eventID(st.number, seq) }

func eventID(number, seq int64) string {
	return strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(seq, 10)
}

// attach makes the caller the one client of the stream, which leave sends away; whoever
// was it before is sent away. detach must be called in the end.
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
		st.settle()
	}
}

// settle puts the rest of an ended stream that nobody reads into the journal, where a
// client that comes back finds it.
func (st *stream) settle() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.leave != nil || st.number == 0 || st.session == nil {
		return
	}
	select {
	case <-st.box.done:
	default:
		return
	}
	if batch, _ := st.box.take(); batch != nil {
		st.keep(batch)
	}
	st.session.journal.closed(st.number)
}

// keep numbers the messages of a batch and notes them in the journal; st.mu is held.
// It returns the number of the first.
func (st *stream) keep(batch []*wire.Buffer) int64 {
	first := st.seq + 1
	for _, msg := range batch {
		st.seq++
		if st.session != nil {
			st.session.journal.add(st.number, st.seq, msg.B)
		}
	}
	return first
}

// serve writes the stream to a client: what it missed after the event numbered after,
// then what comes, until the stream or the connection ends. It returns why.
func (st *stream) serve(ctx context.Context, w http.ResponseWriter, after int64) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer st.attach(leave)()
	out := newEventWriter(w)
	if st.session != nil {
		st.resume(out, after)
	}
	if err := out.flush(); err != nil {
		return err
	}
	return st.box.drain(ctx.Done(), func(batch []*wire.Buffer) error {
		st.mu.Lock()
		seq := st.keep(batch)
		st.mu.Unlock()
		for i, msg := range batch {
			id := ""
			if st.session != nil {
				id = st.eventID(seq + int64(i))
			}
			out.write("message", id, msg.B)
			msg.Free()
		}
		return out.flush()
	}, out.idle)
}

// resume begins what a client of a session sees of the stream: an id to come back to,
// or what it missed after the event numbered after.
func (st *stream) resume(out *eventWriter, after int64) {
	if st.session.revision() >= primedFrom && after < 0 {
		out.write("", st.eventID(0), nil)
	}
	for _, e := range st.session.journal.after(st.number, after) {
		out.write("message", st.eventID(e.seq), e.data)
	}
}

// eventWriter writes events to an HTTP response.
type eventWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
	err     error
}

// newEventWriter begins the response.
func newEventWriter(w http.ResponseWriter) *eventWriter {
	h := w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-cache, no-transform"}
	h["X-Accel-Buffering"] = []string{"no"} // proxies that would hold events back
	w.WriteHeader(http.StatusOK)
	return &eventWriter{w: w, control: http.NewResponseController(w)}
}

func (e *eventWriter) write(kind, id string, data []byte) {
	if e.err == nil {
		e.buf = wire.AppendEvent(e.buf[:0], kind, id, data)
		e.send()
	}
}

func (e *eventWriter) send() {
	e.control.SetWriteDeadline(time.Now().Add(writeTime))
	_, e.err = e.w.Write(e.buf)
}

func (e *eventWriter) flush() error {
	if e.err == nil {
		e.err = e.control.Flush()
	}
	return e.err
}

// idle keeps proxies from closing a quiet stream.
func (e *eventWriter) idle() error {
	e.buf = wire.AppendComment(e.buf[:0], "")
	e.send()
	return e.flush()
}

// voice is what the session itself says: it goes to the GET stream. Before the client
// has opened one only list changes are kept for it.
type voice struct{ session *session }

// Notify implements bridge.Back.
func (v voice) Notify(method string, params []byte) {
	st := v.session.journal.find(0)
	if st == nil && params == nil {
		st = v.session.voice()
	}
	if st != nil {
		st.box.Notify(method, params)
	}
}

// voice is the session's GET stream, a new one when there is none or the client was
// too slow for the last.
func (s *session) voice() *stream {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()
	st := s.journal.streams[0]
	if st == nil {
		return s.journal.begin(&stream{session: s, box: newOutbox(s.server.opts.QueueBytes)})
	}
	select {
	case <-st.box.done:
		return s.journal.begin(&stream{session: s, seq: st.seq, box: newOutbox(s.server.opts.QueueBytes)})
	default:
		return st
	}
}

// Ask sends the question on the session's GET stream, which the client may yet open.
func (v voice) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return v.session.ask(ctx, v.session.voice().box, method, params)
}
