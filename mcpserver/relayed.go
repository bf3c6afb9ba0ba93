package mcpserver

import (
	"bytes"
	"maps"
	"net/http"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// relayed is the answer of another node on its way to a client. Where a stream of events breaks off, another answer to the
// same request may go on with it.
type relayed struct {
	http.ResponseWriter
	begun  bool        // the client has got the status
	events bool        // it is a stream of events
	event  []byte      // the beginning of the last event
	whole  bool        // the last event has ended
	line   bool        // the last byte has ended a line
	id     string      // of the last event of the node's that has one and is whole, or before the first; "" if nothing is known of it
	later  http.Header // of an answer after the first, which the client gets only if nothing has begun; nil before

	patient bool // an answer after the first that is a refusal is dropped
	refused int  // its status then; 0 means none
}

// eventHead is how many bytes of an event are kept: what is before a message, and its beginning.
const eventHead = 1 << 10

// Header implements http.ResponseWriter.
func (a *relayed) Header() http.Header {
	if a.later != nil {
		return a.later
	}
	return a.ResponseWriter.Header()
}

// WriteHeader implements http.ResponseWriter. Only events can go on with a stream.
func (a *relayed) WriteHeader(status int) {
	isEvents := strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream")
	if id := a.Header().Get(headerStream); id != "" {
		a.id = id
		a.Header().Del(headerStream)
	}
	switch {
	case a.patient && status/100 != 2:
		a.refused = status
	case !a.begun:
		maps.Copy(a.ResponseWriter.Header(), a.later)
		a.begun, a.events = true, isEvents
		a.ResponseWriter.WriteHeader(status)
	case status != http.StatusOK || !isEvents:
		panic(http.ErrAbortHandler)
	}
}

// Write implements http.ResponseWriter.
func (a *relayed) Write(p []byte) (int, error) {
	if a.patient && a.refused != 0 {
		return len(p), nil
	}
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if a.events {
		a.note(p)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *relayed) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// note takes note of a part of a stream of events: an empty line ends one.
func (a *relayed) note(p []byte) {
	for len(p) > 0 {
		if a.whole {
			a.event, a.whole, a.line = a.event[:0], false, false
		}
		part := p
		if a.line && p[0] == '\n' {
			part, a.whole = p[:1], true
		} else if i := bytes.Index(p, []byte("\n\n")); i >= 0 {
			part, a.whole = p[:i+2], true
		}
		a.line = part[len(part)-1] == '\n'
		a.event = append(a.event, part[:min(len(part), eventHead-len(a.event))]...)
		p = p[len(part):]
		if a.whole {
			a.noteID()
		}
	}
}

// noteID takes note of the id of a whole event, which is before its data.
func (a *relayed) noteID() {
	rest := bytes.TrimPrefix(a.event, []byte("event: message\n"))
	if rest, is := bytes.CutPrefix(rest, []byte("id: ")); is {
		id, _, _ := bytes.Cut(rest, []byte("\n"))
		a.id = string(id)
	}
}

// goOn makes the answer, which has broken off, one that another goes on with, and reports whether that is possible.
func (a *relayed) goOn() bool {
	if !a.events || len(a.event) > 0 && !a.whole {
		return false
	}
	a.later = http.Header{}
	return true
}

// answers reports whether the last event is the response to a request: a node's other messages have a method.
func (a *relayed) answers(m *wire.Message) bool {
	_, data, _ := bytes.Cut(a.event, []byte("data: "))
	if !bytes.HasPrefix(data, []byte("{")) {
		return false
	}
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), ',')
	if rest, ok := bytes.CutPrefix(data, head); ok {
		return !bytes.HasPrefix(rest, []byte(`"method":`))
	}
	return !bytes.Contains(data, []byte(`"method":`))
}
