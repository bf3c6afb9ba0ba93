package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// accepted says which kinds of answer a client accepts.
type accepted struct{ json, events bool }

// accepts reads the Accept header. A client without the header accepts both kinds.
func accepts(r *http.Request) (a accepted) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "application/json, text/event-stream" || header == "" {
		return accepted{true, true}
	}
	for part := range strings.SplitSeq(header, ",") {
		kind, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "*/*":
			a = accepted{true, true}
		case "application/json", "application/*":
			a.json = true
		case "text/event-stream", "text/*":
			a.events = true
		}
	}
	return a
}

// readBody reads the whole body of a request; ok is false when the request has been answered with an
// error.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, sender identity, own *account) (msg message, ok bool) {
	if t := r.Header.Get("Content-Type"); t != "application/json" {
		if kind, _, _ := mime.ParseMediaType(t); kind != "application/json" {
			writeError(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
			return message{}, false
		}
	}
	msg, err := s.readMessage(w, r, own)
	if err == nil {
		http.NewResponseController(w).SetReadDeadline(time.Time{})
		if len(msg.B) > 0 {
			return msg, true
		}
	}
	msg.Free()
	var long *wire.TooLongError
	switch {
	case errors.As(err, &long):
		s.failQuestion(r, sender, long.Head, long.Tail, long)
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message is larger than %d bytes (limits.messageBytes in the config)", s.opts().MessageBytes))
	case err == errCrowded:
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		writeError(w, http.StatusServiceUnavailable, own.exhausted("bytes in flight", heldBytes).Message)
	default:
		writeError(w, http.StatusBadRequest, "the request body is empty or incomplete")
	}
	return message{}, false
}

// beginTime is how long a body that is too long may take to begin. Its client may send nothing until it
// has been told.
const beginTime = 100 * time.Millisecond

// readMessage reads a body. One that is short is not counted.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request, own *account) (message, error) {
	body, limit := io.Reader(r.Body), s.opts().MessageBytes
	switch {
	case r.ContentLength <= int64(limit):
	case r.Header.Get("Expect") != "":
		body = http.NoBody // it has not been sent
	default:
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(beginTime))
	}
	if r.ContentLength >= 0 && r.ContentLength < heldFree/2 {
		msg, err := wire.ReadBody(body, r.ContentLength, limit, nil)
		return message{Buffer: msg}, err
	}
	c := &counter{account: own}
	return c.readMessage(body, r.ContentLength, limit)
}

// isBatch reports whether a message begins like a JSON-RPC batch.
func isBatch(msg []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(msg, " \t\r\n"), []byte("[")) }

// exchange is the answer to one POST: JSON, or a stream of events if something belongs to the
// request before its response, or it takes long.
type exchange struct {
	server   *Server
	session  *session // nil in the modern era, which has no sessions
	account  *account // of the sender's principal
	w        http.ResponseWriter
	ctx      context.Context // ends with the client's connection
	accept   accepted
	id       []byte                  // raw id of the request; nil for a batch
	key      string                  // of the request, by which it is known when it is sent again; "" without one
	repeated bool                    // it may have run before, on another node
	cancel   context.CancelCauseFunc // ends a request of the modern era; nil in a session
	early    earlyAnswer

	mu     sync.Mutex // guards the fields below
	ended  bool
	stream *stream
	served chan struct{} // closed when nothing writes to w any more
}

// headerKey has the idempotency key of a request (draft-ietf-httpapi-idempotency-key-header).
const headerKey = "Idempotency-Key"

// keyIn returns the idempotency key in headers. The draft has it as a string of structured fields (RFC 9651), in quotes,
// which most clients leave away: both are the same key.
func keyIn(h http.Header) string {
	key := h.Get(headerKey)
	if len(key) < 2 || key[0] != '"' || key[len(key)-1] != '"' {
		return key
	}
	var plain []byte
	for in := key[1 : len(key)-1]; in != ""; in = in[1:] {
		if in[0] == '"' || in == `\` {
			return key // something else that begins and ends so
		}
		if in[0] == '\\' {
			in = in[1:]
		}
		plain = append(plain, in[0])
	}
	return string(plain)
}

// beginExchange makes an exchange ready for what belongs to its request.
func (s *Server) beginExchange(x *exchange, w http.ResponseWriter, r *http.Request, accept accepted) *exchange {
	x.server, x.w, x.ctx, x.accept = s, w, r.Context(), accept
	if x.id != nil {
		x.key = keyIn(r.Header)
	}
	if s.opts().Nodes != nil {
		x.repeated = repeats(r)
	}
	if accept.events {
		s.upgrader.watch(x)
	}
	return x
}

// Notify implements bridge.Back: on the request's own stream. A client that accepts only JSON gets
// nothing.
func (x *exchange) Notify(method string, params []byte) {
	if st := x.openStream(); st != nil {
		st.box.Notify(method, params)
	}
}

// Ask implements bridge.Back: on the request's own stream, if its client accepts one.
func (x *exchange) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	if x.session == nil {
		return nil, unavailable("the client did not offer this capability")
	}
	if st := x.openStream(); st != nil {
		return x.session.ask(ctx, st.box, method, params)
	}
	return x.session.back.Ask(ctx, method, params)
}

// abort ends a request whose client does not read what belongs to it. The other requests of a
// batch go on.
func (x *exchange) abort(reason error) {
	switch {
	case x.cancel != nil:
		x.cancel(reason)
	case x.id != nil:
		x.session.cancelRequest(string(x.id), reason)
	}
}

// openStream returns the exchange's stream, and begins it if that is still possible.
func (x *exchange) openStream() *stream {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil && x.accept.events && !x.ended {
		x.served = make(chan struct{})
		if x.session != nil {
			x.stream = x.session.journal.newStream()
			if forwarded(x.ctx) {
				x.w.Header().Set(headerStream, x.session.journal.eventID(x.stream.number, 0))
			}
		} else {
			x.stream = &stream{box: newOutbox(x.server.opts().QueueBytes, x.account), seq: new(atomic.Int64)}
		}
		go func() {
			defer close(x.served)
			if err := x.stream.serve(x.ctx, x.w, -1); errors.Is(err, errSlow) || errors.Is(err, errCrowded) {
				x.abort(err)
			}
		}()
	}
	return x.stream
}

// withdraw removes a header from the answer, unless that is being written already.
func (x *exchange) withdraw(header string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream == nil {
		x.w.Header().Del(header)
	}
}

// answer is what ends an exchange: a response, or the responses to a batch.
type answer interface {
	sendTo(*outbox)
	writeJSON(http.ResponseWriter, *account)
}

// finish ends the exchange with its answer; nil means that it has none.
func (x *exchange) finish(a answer) {
	x.server.upgrader.forget(x)
	if x.early.taken > 0 {
		x.finishEarly(a)
		return
	}
	if !x.accept.json && a != nil {
		x.openStream()
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
		a.writeJSON(x.w, x.account)
		return
	case a != nil:
		a.sendTo(st.box)
	}
	st.box.end(io.EOF)
	<-x.served
	st.saveRest()
}

// end ends the exchange with a response; ok is false when there is none.
func (x *exchange) end(resp *response, ok bool) {
	if ok {
		x.finish(resp)
	} else {
		x.finish(nil)
	}
}

const (
	// streamAfter is how long a request may take before its answer becomes a stream, which keeps
	// the connection alive and which the client can resume.
	streamAfter = 2 * time.Second
	upgradeTick = 500 * time.Millisecond
)

// streamUpgrader opens the streams of exchanges that take long. It ticks while there is traffic: a
// timer for each exchange would wake the network poller with most calls, which costs more than
// the rest of a small call's bookkeeping.
type streamUpgrader struct {
	mu      sync.Mutex              // guards the fields below
	waiting map[*exchange]time.Time // since when, without an answer
	ticking bool
	added   bool // since the last tick
}

func (u *streamUpgrader) watch(x *exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting[x], u.added = time.Now(), true
	if !u.ticking {
		u.ticking = true
		time.AfterFunc(upgradeTick, u.tick)
	}
}

func (u *streamUpgrader) forget(x *exchange) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.waiting, x)
}

func (u *streamUpgrader) tick() {
	var late []*exchange
	u.mu.Lock()
	for x, began := range u.waiting {
		if time.Since(began) >= streamAfter {
			late = append(late, x)
			delete(u.waiting, x)
		}
	}
	if u.ticking = u.added || len(u.waiting) > 0; u.ticking {
		time.AfterFunc(upgradeTick, u.tick)
	}
	u.added = false
	u.mu.Unlock()
	for _, x := range late {
		x.openStream()
	}
}
