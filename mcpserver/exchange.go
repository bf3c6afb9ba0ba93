package mcpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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

// Ask sends the question on the stream of the request that caused it, where the client
// takes one.
func (x *exchange) Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error) {
	if x.session == nil {
		return nil, toolformat.Errorf(toolformat.Unavailable, "the client offered nothing of the kind")
	}
	if st := x.open(); st != nil {
		return x.session.ask(ctx, st.box, method, params)
	}
	return voice{x.session}.Ask(ctx, method, params)
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

// accepted is what a client takes as an answer.
type accepted struct{ json, events bool }

// accepts reads the Accept header. A client that sends none takes anything.
func accepts(r *http.Request) (a accepted, ok bool) {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "application/json, text/event-stream" || header == "" {
		return accepted{true, true}, true
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
	return a, a.json || a.events
}
