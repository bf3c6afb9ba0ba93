// Package wire is the bridge's view of bytes: a JSON-RPC message split without decoding it, the framings it travels in
// (a line, an SSE event, a WebSocket frame), and what differs between the revisions of MCP.
//
// A message is scanned once. The scan proves that it is JSON to the last byte, finds the spans that a bridge routes on,
// and refuses what two readers could understand in two ways; everything else is carried as the bytes it came in. Line
// breaks between tokens become spaces, so that a message is one line on whatever carrier comes next.
package wire

import (
	"fmt"
	"math"
)

// MessageType is what a message is to its receiver.
type MessageType uint8

// The kinds of a message.
const (
	Request MessageType = iota
	Notification
	Response
)

// Message is a JSON-RPC message whose parts are slices of the bytes given to [Split]. The zero value is no message.
type Message struct {
	Raw    []byte // the whole message, without the white space around it and without line breaks
	ID     []byte // the id as it came, a string or a number; nil for a notification, and for an error that names none
	Method string // decoded; "" for a response
	Params Params // Params.Raw is nil when there are none
	Result []byte // raw; nil when absent
	Error  []byte // the raw error object; nil when absent
}

// Kind tells requests, notifications and responses apart.
func (m *Message) Kind() MessageType {
	switch {
	case m.Method == "":
		return Response
	case m.ID == nil:
		return Notification
	default:
		return Request
	}
}

// Error says why bytes are no message. Code and Message are fit to be sent to who sent them.
type Error struct {
	Code    int    // [ParseError]: not JSON; [InvalidRequest]: JSON, but no message
	Message string // what is wrong, with the key or the place named
	Offset  int    // where, in bytes from the start
	ID      []byte // the id of an invalid message, when it has one that is valid, for the answer; a slice of the message
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func notJSON(fault string, offset int) *Error {
	return &Error{Code: ParseError, Message: fmt.Sprintf("not JSON: %s at byte %d", fault, offset), Offset: offset}
}

func invalid(offset int, format string, args ...any) *Error {
	return &Error{Code: InvalidRequest, Message: "invalid message: " + fmt.Sprintf(format, args...), Offset: offset}
}

// Split takes raw over and finds the parts of the message that it is. It overwrites the line breaks between tokens with
// spaces; beyond that raw stays as it is and must stay so while the Message is used.
//
// Refused is, with an [*Error]: what is not JSON by RFC 8259, ends in anything but white space, holds invalid UTF-8 or
// is nested deeper than [MaxDepth]; an id that is neither string nor number, params that are no object (null counts as
// absent), an error that is no object; more or less than one of method, result and error; and a key that is
// routed on, on its own level, when it comes twice or in another letter case: decoders disagree about which one counts.
// A response without an id, or with null, must be an error.
func Split(raw []byte) (m Message, err error) {
	s := splitter{b: raw}
	if len(raw) > math.MaxInt32 {
		return m, invalid(math.MaxInt32, "longer than 2 GiB")
	}
	start := space(raw, 0)
	if at(raw, start) != '{' {
		if err := Valid(raw); err != nil {
			return m, err
		}
		return m, invalid(start, "an object expected")
	}
	end, fault := s.object(start, envelopeLevel, 0)
	if err := verdict(raw, end, fault); err != nil {
		return Message{}, err
	}
	m.Raw = raw[start:end:end]
	if e := s.fill(&m); e != nil {
		if s.oneID {
			e.ID = m.ID
		}
		return Message{}, e
	}
	return m, nil
}

// SplitBatch returns the elements of a JSON-RPC batch, each of them valid JSON and a slice of raw, to be given to [Split].
// ok is false, and nothing else is looked at, when raw does not begin like an array. The error is an [*Error], also for a
// batch with no element or with more than max.
func SplitBatch(raw []byte, max int) (members [][]byte, ok bool, err error) {
	start := space(raw, 0)
	if at(raw, start) != '[' {
		return nil, false, nil
	}
	if err := Valid(raw); err != nil {
		return nil, true, err
	}
	for element := range Elements(raw) {
		if len(members) == max {
			return nil, true, invalid(start, "a batch of more than %d", max)
		}
		members = append(members, element)
	}
	if len(members) == 0 {
		return nil, true, invalid(start, "an empty batch")
	}
	return members, true, nil
}
