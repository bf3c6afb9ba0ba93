package wire

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"time"
)

// An Event is one of a stream of server-sent events.
type Event struct {
	Type  string        // "" for the default type, message
	ID    string        // the last event id that the event sets
	HasID bool          // the event sets an id, maybe ""
	Retry time.Duration // the wait before reconnecting; negative when not set
	Data  *Buffer       // lines joined with \n, the receiver's to free; nil without data
}

// An EventReader reads server-sent events by the grammar of the WHATWG HTML standard. It is for one
// goroutine.
type EventReader struct {
	limit int // of an event's data, in bytes
	begun bool
	err   error // final
	w     *window
}

// NewEventReader returns a reader of events with at most limit bytes of data.
func NewEventReader(r io.Reader, limit int) *EventReader {
	line := min(limit, math.MaxInt-64) + len("data: ")
	return &EventReader{limit: limit, w: newWindow(r, line, true)}
}

// Next returns the next event and skips comments. An event without data is returned when it sets an
// id or a retry time, since MCP opens streams with such an event. A [*TooLongError] is for an event
// over the limit, which was skipped: the next call returns the event after it. Any other error is
// final: the stream's, [io.EOF] at its end, where an event without its empty line is dropped, or
// one that is [bufio.ErrTooLong] after a TooLongError for an event of which more than 1 GiB was skipped.
func (e *EventReader) Next() (Event, error) {
	ev := Event{Retry: -1}
	for {
		line, err := e.line()
		if err == nil && len(line) > 0 {
			err = e.field(&ev, line)
		}
		switch {
		case err != nil:
			e.fail(err)
			ev.Data.Free()
			return Event{}, err
		case len(line) > 0:
		case ev.Data != nil || ev.HasID || ev.Retry >= 0:
			return ev, nil
		default:
			ev = Event{Retry: -1} // a type alone is not an event
		}
	}
}

// fail keeps a final error. After any other one it skips the rest of the event.
func (e *EventReader) fail(err error) {
	if _, long := err.(*TooLongError); !long {
		e.err = err
		return
	}
	for skipped := 0; skipped <= e.w.skip; {
		line, err := e.w.line()
		skipped += len(line)
		switch {
		case err == errUnended:
			skipped += e.w.skipLong(e.limit).Size
		case err != nil:
			e.err = err
			return
		case len(line) == 0:
			return
		}
	}
	e.err = endlessError{} // as for a line that does not end
}

func (e *EventReader) line() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
	}
	line, err := e.w.line()
	switch {
	case err == errUnended:
		long := e.w.skipLong(e.limit)
		long.Head = fieldValue(long.Head)
		return nil, long
	case err == nil && len(line) > e.w.limit:
		return nil, newTooLong(e.limit, fieldValue(line))
	}
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return line, err
}

// field adds the field of a line to the event.
func (e *EventReader) field(ev *Event, line []byte) error {
	name, _, _ := bytes.Cut(line, []byte(":"))
	value := fieldValue(line)
	switch string(name) {
	case "data":
		return e.data(ev, value)
	case "event":
		ev.Type = ""
		if string(value) != "message" {
			ev.Type = string(value)
		}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			ev.ID, ev.HasID = string(value), true
		}
	case "retry":
		ms, err := strconv.ParseUint(string(value), 10, 64)
		if err == nil && ms <= math.MaxInt64/uint64(time.Millisecond) {
			ev.Retry = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

// fieldValue returns what follows the name of a field.
func fieldValue(line []byte) []byte {
	_, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" "))
}

func (e *EventReader) data(ev *Event, value []byte) error {
	if ev.Data == nil {
		if len(value) > e.limit {
			return newTooLong(e.limit, value)
		}
		ev.Data = NewBuffer(len(value))
	} else {
		if size := len(ev.Data.B) + 1 + len(value); size > e.limit {
			long := newTooLong(e.limit, value)
			long.Size, long.Head = size, headOf(ev.Data.B)
			return long
		}
		ev.Data.B = append(ev.Data.B, '\n')
	}
	ev.Data.B = append(ev.Data.B, value...)
	return nil
}

// AppendEvent appends an event to dst. An empty typ or id is left out, data is not. They must not
// contain a line break; a message from [Split] does not.
func AppendEvent(dst []byte, typ, id string, data []byte) []byte {
	if typ != "" {
		dst = append(append(append(dst, "event: "...), typ...), '\n')
	}
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	return append(append(append(dst, "data: "...), data...), "\n\n"...)
}
