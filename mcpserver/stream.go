package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
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

// exchange is the answer to one POST: JSON, or a stream once something belongs to the
// request before its response.
type exchange struct {
	server  *Server
	session *session // nil in the modern era
	w       http.ResponseWriter
	ctx     context.Context // ends with the client's connection
	accept  accepted
	id      []byte                  // raw id of the request in its session; nil for a batch
	cancel  context.CancelCauseFunc // ends the request of the modern era, which has no session

	since        time.Time // guarded by late
	older, newer *exchange // guarded by late

	mu     sync.Mutex // guards what follows
	ended  bool
	stream *stream
	served chan struct{} // closed when nothing is written to w any more
}

// begin makes the exchange ready for what belongs to its request.
func (x *exchange) begin() *exchange {
	if x.accept.events {
		x.server.late.add(x)
	}
	return x
}

// Notify sends what belongs to the request on its own stream. A client that takes only
// JSON gets none.
func (x *exchange) Notify(method string, params []byte) {
	if st := x.open(); st != nil {
		st.box.Notify(method, params)
	}
}

// abort ends a request whose client does not take what belongs to it. The other
// requests of a batch go on.
func (x *exchange) abort(why error) {
	switch {
	case x.cancel != nil:
		x.cancel(why)
	case x.id != nil:
		x.session.cancelRequest(string(x.id), why)
	}
}

// open begins the stream if that is still possible.
func (x *exchange) open() *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil && x.accept.events && !x.ended {
		x.served = make(chan struct{})
		if x.session != nil {
			x.stream = x.session.journal.open(x.session)
		} else {
			x.stream = &stream{box: newOutbox(x.server.opts.QueueBytes)}
		}
		go func() {
			defer close(x.served)
			if err := x.stream.serve(x.ctx, x.w, -1); errors.Is(err, errSlow) {
				x.abort(err)
			}
		}()
	}
	return x.stream
}

// withdraw takes back a header of the answer, unless that is being written already.
func (x *exchange) withdraw(header string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil {
		x.w.Header().Del(header)
	}
}

// answer is what ends an exchange: a response, or several in a batch.
type answer interface {
	encode() *wire.Buffer
	writeJSON(http.ResponseWriter)
}

// finish ends the exchange with its answer; nil when there is none.
func (x *exchange) finish(a answer) {
	x.server.late.remove(x)
	if !x.accept.json && a != nil {
		x.open()
	}
	x.mu.Lock()
	x.ended = true
	st := x.stream
	x.mu.Unlock()
	switch {
	case st == nil && a == nil:
		x.w.WriteHeader(http.StatusAccepted)
		return
	case st == nil:
		a.writeJSON(x.w)
		return
	case a != nil:
		st.box.send(a.encode())
	}
	st.box.end(io.EOF)
	<-x.served
	st.settle()
}

// get opens the stream on which the session itself speaks, or the rest of one that the
// client lost.
func (s *Server) get(w http.ResponseWriter, r *http.Request, who identity) {
	if accept, _ := accepts(r); !accept.events || r.Header.Get("Accept") == "" {
		w.Header().Set("Allow", "GET, POST, DELETE")
		writeError(w, http.StatusNotAcceptable, nil, "a GET opens an event stream: the client must accept text/event-stream")
		return
	}
	one := s.named(w, r, who)
	if one == nil {
		return
	}
	last := r.Header.Get(wire.HeaderLastEvent)
	if last == "" {
		one.voice().serve(r.Context(), w, -1)
		return
	}
	number, after, ok := parseEventID(last)
	if !ok {
		writeError(w, http.StatusBadRequest, nil, "Last-Event-ID is not one that this session gave out")
		return
	}
	st := one.journal.find(number)
	switch {
	case st != nil:
		st.serve(r.Context(), w, after)
	case number == 0:
		one.voice().serve(r.Context(), w, after)
	default:
		out := newEventWriter(w)
		for _, e := range one.journal.after(number, after) {
			out.write("message", eventID(number, e.seq), e.data)
		}
		out.flush()
	}
}

func parseEventID(id string) (number, seq int64, ok bool) {
	a, b, found := strings.Cut(id, "-")
	number, err1 := strconv.ParseInt(a, 10, 64)
	seq, err2 := strconv.ParseInt(b, 10, 64)
	return number, seq, found && errors.Join(err1, err2) == nil && number >= 0 && seq >= 0
}
