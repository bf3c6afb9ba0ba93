package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Code says what kind of thing kept a call from having a result. The set is closed;
// each front maps it in one switch.
type Code uint8

const (
	Internal    Code = iota // our own fault; the cause is for the log only
	Invalid                 // the request itself is malformed: a parameter is missing or of the wrong type
	NotFound                // no such tool, prompt or resource
	Unsupported             // no such method here
	Denied                  // the caller may not
	Unavailable             // its source is away, or too busy
	Timeout                 // it took too long
	Canceled                // the caller gave up; nothing is sent to it any more
)

var codeNames = [...]string{"internal", "invalid", "not_found", "unsupported", "denied", "unavailable", "timeout", "canceled"}

// String is the word that stands in data.code of a JSON-RPC error.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return codeNames[Internal]
}

// ParseCode is the reverse of String; ok is false for a word that is not a code.
func ParseCode(word string) (c Code, ok bool) {
	for i, name := range codeNames {
		if name == word {
			return Code(i), true
		}
	}
	return Internal, false
}

// An Error says why there is no result. A tool that ran and failed has a Result.
type Error struct {
	Code    Code
	Message string          // may be shown to anybody: lower case, names the thing, says what to do next
	Raw     json.RawMessage // the JSON-RPC error object of a remote server, which passes unchanged; nil for an error of ours
	Cause   error           // for the log, never shown
}

// Errorf is an Error whose message is formatted.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError is any error as one for the caller: itself when it is one, else an internal
// error that keeps it as its cause.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(Internal, "internal error").Because(err)
}

// Because adds the cause, which goes to the log and not to the caller.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	if e.Message == "" && e.Raw != nil {
		return string(e.Raw)
	}
	return e.Message
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }
