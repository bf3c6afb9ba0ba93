package endpoint

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// WriteTimeout bounds a write to a client.
const WriteTimeout = 30 * time.Second

// A Writer writes a response: one JSON value, or a stream of events.
type Writer struct {
	w         http.ResponseWriter
	cancel    func()
	begun     bool        // the head of a stream was sent
	keepAlive *time.Timer // nil without a stream
}

// Begun reports whether a stream has begun: an error can have no status any more.
func (w *Writer) Begun() bool { return w.begun }

// Send sends an event of a stream with the JSON of v as its data. kind may be "".
func (w *Writer) Send(kind string, v any) {
	var b bytes.Buffer
	if kind != "" {
		b.WriteString("event: " + kind + "\n")
	}
	b.WriteString("data: ")
	encode(&b, v)
	b.WriteString("\n")
	w.Raw(b.Bytes())
}

// Raw sends bytes of a stream. If that fails, the client has disconnected.
func (w *Writer) Raw(b []byte) {
	if w.keepAlive != nil {
		w.keepAlive.Stop()
		defer w.keepAlive.Reset(keepAliveTime)
	}
	if !w.begun {
		w.begun = true
		w.w.Header().Set("Content-Type", "text/event-stream")
		w.w.Header().Set("Cache-Control", "no-store")
		w.w.WriteHeader(http.StatusOK)
	}
	control := http.NewResponseController(w.w)
	_ = control.SetWriteDeadline(time.Now().Add(WriteTimeout)) // not every writer has one
	if _, err := w.w.Write(b); err != nil || control.Flush() != nil {
		w.cancel()
	}
}

// JSON sends the whole response of a request that is answered.
func (w *Writer) JSON(v any) { WriteJSON(w.w, http.StatusOK, v) }

// Fail sends the whole response of an error, whose body in its API's form is v.
func (w *Writer) Fail(e *Error, v any) { Refuse(w.w, e, v) }

func (w *Writer) stopKeepAlive() {
	if w.keepAlive != nil {
		w.keepAlive.Stop()
	}
}

// Refuse answers with an error, whose body in its API's form is v.
func Refuse(w http.ResponseWriter, e *Error, v any) {
	if e.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.After.Seconds()))))
	}
	WriteJSON(w, e.Status, v)
}

// WriteJSON answers with a JSON value, which the client has as a whole before the handler returns.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	encode(&b, v)
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(WriteTimeout)) // not every writer has one
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // fails if the client has disconnected
	_ = control.Flush()
}

// encode writes JSON on one line.
func encode(b *bytes.Buffer, v any) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // what the APIs send can be encoded
}
