package toolformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Code is the reason why a call has no result. The set is closed; each front maps it in one switch.
type Code uint8

// The codes.
const (
	Internal    Code = iota // a fault of the bridge; the cause is for the log only
	Invalid                 // malformed request: a parameter is missing or of the wrong type
	NotFound                // no such tool, prompt or resource
	Unsupported             // no such method
	Denied                  // not allowed for the caller
	Unavailable             // the source is unreachable or too busy
	Timeout                 // deadline exceeded
	Canceled                // canceled by the caller; nothing more is sent to it
)

var codeNames = []string{"internal", "invalid", "not_found", "unsupported", "denied", "unavailable", "timeout", "canceled"}

// String returns the word for data.code of a JSON-RPC error.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return codeNames[Internal]
}

// ParseCode is the inverse of String; ok is false for an unknown word.
func ParseCode(word string) (c Code, ok bool) {
	i := slices.Index(codeNames, word)
	return Code(max(i, 0)), i >= 0
}

// An Error says why a call has no result. A tool that ran and failed has a Result.
type Error struct {
	Code    Code
	Message string          // for anybody to read: lower case, names the thing and the next step
	Raw     json.RawMessage // JSON-RPC error object of a remote server, passed on unchanged; nil for an error of the bridge
	Cause   error           // for the log, never shown
	After   time.Duration   // after which to try again; 0 means that it is not known
	NotRun  bool            // the call surely has had no effect: it has not reached what carries it out
}

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an Error for the caller: the Error that it is or wraps, or else an internal
// error with err as its cause.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(Internal, "internal error").Because(err)
}

// Because sets the cause and returns e.
func (e *Error) Because(cause error) *Error {
	e.Cause = cause
	return e
}

// Error returns the message, or the raw error of a remote server without one.
func (e *Error) Error() string {
	if e.Message == "" && e.Raw != nil {
		return string(e.Raw)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }
