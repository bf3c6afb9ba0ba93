package endpoint

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/providers"
)

// keepAliveTime is how long a stream is silent before Answer.KeepAlive: tools, and thinking that a client does
// not see, may take long. An error before that still has a status.
const keepAliveTime = 15 * time.Second

// An Answering is an Answer in progress, whose stream is kept alive. It may be used from many goroutines
// and must be closed.
type Answering struct {
	mu     sync.Mutex // guards what follows, and is held while the answer is written
	answer Answer
	writer *Writer
	closed bool
}

// Begin begins the response to a request. cancel is called when its client has disconnected.
func Begin(w http.ResponseWriter, r *Request, cancel func()) *Answering {
	a := &Answering{writer: &Writer{w: w, cancel: cancel}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = r.Answer(a.writer)
	if r.Stream {
		a.writer.keepAlive = time.AfterFunc(keepAliveTime, a.keepAlive)
	}
	return a
}

func (a *Answering) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.answer.KeepAlive()
	}
}

// Event is Answer.Event.
func (a *Answering) Event(e providers.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer.Event(e)
}

// Finish is Answer.Finish.
func (a *Answering) Finish(run *providers.Run, calls []*providers.Call, keep func(items map[string]json.RawMessage)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer.Finish(run, calls, keep)
}

// Fail is Answer.Fail.
func (a *Answering) Fail(e *Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer.Fail(e)
}

// Close ends the answering.
func (a *Answering) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.writer.stopKeepAlive()
}
