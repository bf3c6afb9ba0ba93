package mcpserver

import (
	"net/http"
	"time"
)

// earlyTime is how long the server may wait for the client while a result arrives: meanwhile the result's
// own server is not read from, and cannot serve others. After that the rest of the result is awaited first.
const earlyTime = time.Second

// soonWriter is an http.ResponseWriter that waits for a slow client no longer than it is told, and keeps a
// copy of what that has not taken.
type soonWriter interface {
	WriteSoon(d time.Duration, parts ...[]byte) (left time.Duration, err error)
}

// earlyAnswer is the JSON answer to a POST that begins before its result has come as a whole.
type earlyAnswer struct {
	taken int           // bytes of the result that have been written
	held  int           // bytes counted for it
	left  time.Duration // of earlyTime, once it has begun
}

// Take implements bridge.Taker.
func (x *exchange) Take(part []byte) bool {
	e := &x.early
	w, can := x.w.(soonWriter)
	begins, size := e.taken == 0, e.taken+cap(part)+len(part) // with the copy
	if !can || !begins && e.left <= 0 || begins && !x.claim() || !x.holdEarly(size) {
		return false
	}
	var head []byte
	if begins {
		x.w.Header()["Content-Type"] = jsonType
		head, e.left = appendHead(make([]byte, 0, len(x.id)+64), x.id), earlyTime
	}
	e.left, _ = w.WriteSoon(e.left, head, part)
	e.taken += len(part)
	return true
}

// claim makes sure that the answer becomes no stream; false means that it is one, or must be.
func (x *exchange) claim() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.stream != nil || x.ended || !x.accept.json || x.id == nil {
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
	x.server.opts().Log.Warn("an answer broke off", "reason", reason)
	panic(http.ErrAbortHandler)
}
