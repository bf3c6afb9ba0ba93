package mcpserver

import (
	"net/http"
	"time"
)

// slowPart is how long a client may need for a part of a result that arrives. With one that needs longer
// the rest is awaited first: a server may not wait that long for its answer to be read.
const slowPart = time.Second

// earlyAnswer is the JSON answer to a POST that begins before its result has come as a whole.
type earlyAnswer struct {
	taken int  // bytes of the result that have been written
	held  int  // bytes counted for it
	slow  bool // its client has needed longer than slowPart
	never bool // its client would not see that it broke off
}

// Take implements bridge.Taker.
func (x *exchange) Take(part []byte) bool {
	e := &x.early
	if e.slow || e.taken == 0 && !x.claim() || !x.holdEarly(e.taken+cap(part)) {
		return false
	}
	if e.taken == 0 {
		x.w.Header()["Content-Type"] = jsonType
		x.w.Write(appendHead(make([]byte, 0, len(x.id)+64), x.id))
	}
	began := time.Now()
	writeParts(x.w, part)
	e.taken += len(part)
	e.slow = time.Since(began) > slowPart
	return true
}

// claim makes sure that the answer becomes no stream; false means that it is one, or must be.
func (x *exchange) claim() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream != nil || x.ended || !x.accept.json || x.id == nil || x.early.never {
		return false
	}
	x.ended = true
	return true
}

// holdEarly makes the bytes counted size, if there is room for them.
func (x *exchange) holdEarly(size int) bool {
	more := size - x.early.held
	if more > 0 && !x.account.take(heldBytes, more) {
		return false
	}
	x.early.held += max(more, 0)
	return true
}

// finishEarly writes the rest of an answer that has begun. If that is not its rest, the connection breaks
// off, which is how HTTP shows that an answer is not whole.
func (x *exchange) finishEarly(a answer) {
	r, _ := a.(*response)
	defer func() { x.account.give(heldBytes, x.early.held) }()
	if r == nil {
		panic(http.ErrAbortHandler) // the client has canceled the request
	}
	defer r.reply.Free()
	result, reason := r.reply.Result, ""
	switch e := r.reply.Err; {
	case e != nil:
		reason = e.Message
	case len(result) < x.early.taken:
		reason = "the result is not the one that has begun"
	case !x.holdEarly(cap(result)):
		reason = errCrowded.Error()
	default:
		writeAround(x.w, nil, result[x.early.taken:], "}")
		return
	}
	x.server.opts.Log.Warn("an answer broke off", "reason", reason)
	panic(http.ErrAbortHandler)
}
