package wire

import (
	"fmt"
	"math"
)

// MessageType is what a message is to its receiver.
type MessageType uint8

// The types of a message.
const (
	Request MessageType = iota
	Notification
	Response
)

// Message is a JSON-RPC message whose parts are slices of the bytes given to [Split].
type Message struct {
	Raw    []byte // the message without the white space around it and without line breaks
	ID     []byte // a raw string or number; nil for a notification, and for an error without an id
	Method string // decoded; "" for a response
	Params Params // Params.Raw is nil when the message has no params
	Result []byte // raw; nil when absent
	Usual  bool   // Result has no isError but false, no resultType but "complete", no task and no taskId
	Error  []byte // the raw error object; nil when absent
}

// Kind returns the type of the message.
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

// Error is the reason why bytes are not a message. Code and Message may go into the response.
type Error struct {
	Code    int    // [ParseError] if the bytes are not JSON, else [InvalidRequest]
	Message string // what is wrong, with the key or the place
	ID      []byte // the id to answer with, a slice of the message; nil when it has no valid one
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func notJSON(fault string, offset int) *Error {
	message := fmt.Sprintf("not JSON: %s at byte %d", fault, offset)
	return &Error{Code: ParseError, Message: message}
}

func invalid(format string, args ...any) *Error {
	message := "invalid message: " + fmt.Sprintf(format, args...)
	return &Error{Code: InvalidRequest, Message: message}
}

// Split parses the envelope of raw and takes raw over: it overwrites line breaks between tokens
// with spaces, and raw must not change while the Message is used.
//
// Split refuses with an [*Error]:
//   - bytes that are not JSON (RFC 8259) with valid UTF-8 and nothing but white space around it
//   - nesting deeper than [MaxDepth]
//   - an id that is neither a string nor a number, params or an error that is not an object
//     (null params count as absent)
//   - more or less than one of method, result and error
//   - a response without an id, or with null, that is not an error
//   - a key that is routed on and occurs twice or in another letter case at its level, since
//     decoders disagree about which one counts
func Split(raw []byte) (m Message, err error) {
	s := splitter{b: raw}
	if len(raw) > math.MaxInt32 {
		return m, invalid("longer than 2 GiB")
	}
	start := space(raw, 0)
	if at(raw, start) != '{' {
		if err := Valid(raw); err != nil {
			return m, err
		}
		return m, invalid("an object expected")
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

// SplitBatch returns the elements of a JSON-RPC batch, each valid JSON and a slice of raw, for
// [Split]. ok reports whether raw begins like an array; if not, nothing else is read. The error is
// an [*Error], also for an empty batch and one of more than max elements.
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
			return nil, true, invalid("a batch of more than %d", max)
		}
		members = append(members, element)
	}
	if len(members) == 0 {
		return nil, true, invalid("an empty batch")
	}
	return members, true, nil
}

// ResultStart finds the result of a response of which raw is what has come so far. It returns the raw id
// and the place where the result begins; 0 unless raw begins with nothing but "jsonrpc" and "id" before
// a "result" that is an object. Whether all of it is a message only [Split] tells.
func ResultStart(raw []byte) (id []byte, start int) {
	next := space(raw, 0)
	for opens := byte('{'); at(raw, next) == opens; opens = ',' {
		key := skip(raw, next+1)
		if at(raw, key) != '"' {
			break
		}
		end, fault := str(raw, key)
		if fault != "" {
			break
		}
		value, fault := colon(raw, end)
		if fault != "" {
			break
		}
		name := string(raw[key+1 : end-1])
		if name == names[keyResult] && id != nil && at(raw, value) == '{' {
			return id, value
		}
		if name != names[keyVersion] && name != names[keyID] {
			break
		}
		if next, fault = scalar(raw, value); fault != "" {
			break
		}
		if name == names[keyID] {
			id = raw[value:next:next]
		}
		next = skip(raw, next)
	}
	return nil, 0
}
