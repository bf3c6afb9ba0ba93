package mcpserver

import (
	"context"
	"net/http"
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
	seq     atomic.Int64 // of the last event; mu guards additions

	mu     sync.Mutex         // guards the fields below
	leave  context.CancelFunc // disconnects the reader; nil while there is none
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
// resumes it finds it.
func (st *stream) saveRest() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.leave != nil || st.number == 0 || st.session == nil || !st.box.isClosed() {
		return
	}
	if batch, _ := st.box.take(); batch != nil {
		st.record(batch)
	}
	st.session.journal.forget(st.number)
}

// record numbers the messages of a batch, adds them to the journal and returns the number of the
// first; st.mu is held.
func (st *stream) record(batch []*wire.Buffer) int64 {
	first := st.seq.Load() + 1
	for _, msg := range batch {
		seq := st.seq.Add(1)
		if st.session != nil {
			st.session.journal.addEvent(st.number, seq, msg.B)
		}
	}
	return first
}

// serve writes the stream to a client: what it missed after the event numbered after, then what is
// sent, until the stream or the connection ends. It returns why.
func (st *stream) serve(ctx context.Context, w http.ResponseWriter, after int64) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	defer st.attach(leave)()
	out := newEventWriter(w)
	if st.session != nil {
		if after < 0 && st.session.revision() >= primedFrom {
			out.write("", eventID(st.number, 0), nil)
		}
		st.session.journal.replay(out, st.number, after)
	}
	if err := out.flush(); err != nil {
		return err
	}
	return st.box.drain(ctx.Done(), func(batch []*wire.Buffer) error {
		st.mu.Lock()
		seq := st.record(batch)
		st.mu.Unlock()
		for i, msg := range batch {
			id := ""
			if st.session != nil {
				id = eventID(st.number, seq+int64(i))
			}
			out.write("message", id, msg.B)
			msg.Free()
		}
		return out.flush()
	}, out.idle)
}

// unrelated delivers what belongs to no request of an HTTP session: on its GET stream. Before the
// client has opened that, only list changes are kept for it.
type unrelated struct{ session *session }

// Notify implements bridge.Back.
func (u unrelated) Notify(method string, params []byte) {
	st := u.session.journal.find(0)
	if st == nil && params == nil {
		st = u.session.journal.sessionStream()
	}
	if st != nil {
		st.box.Notify(method, params)
	}
}

// Ask implements bridge.Back. The client may yet open the stream.
func (u unrelated) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	return u.session.ask(ctx, u.session.journal.sessionStream().box, method, params)
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
	h["X-Accel-Buffering"] = []string{"no"} // for proxies that would hold events back
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

// eventID names the event number seq of a stream.
func eventID(number, seq int64) string {
	return strconv.FormatInt(number, 10) + "-" + strconv.FormatInt(seq, 10)
}
