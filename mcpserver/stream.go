package mcpserver

import (
	"context"
	"net/http"
	"sync"

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

	mu     sync.Mutex         // guards the fields below
	seq    int64              // of the last event
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
	if st.leave != nil || st.number == 0 || st.session == nil {
		return
	}
	select {
	case <-st.box.done:
	default:
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
	first := st.seq + 1
	for _, msg := range batch {
		st.seq++
		if st.session != nil {
			st.session.journal.add(st.number, st.seq, msg.B)
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
		st.resume(out, after)
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

// resume writes what the client of a session sees first: an id to resume from, or the events it
// missed after the event numbered after.
func (st *stream) resume(out *eventWriter, after int64) {
	if st.session.revision() >= primedFrom && after < 0 {
		out.write("", eventID(st.number, 0), nil)
	}
	st.session.journal.replay(out, st.number, after)
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
