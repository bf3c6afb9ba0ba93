package mcpserver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

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
