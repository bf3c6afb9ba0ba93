package mcpclient

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// errClosed ends a connection on purpose.
var errClosed = errors.New("the connection has been closed")

// errTimeout ends a call whose time is over.
var errTimeout = errors.New("timeout")

// errSessionGone means that the server no longer knows the session, so that a request sent in it
// has certainly not run.
var errSessionGone = errors.New("the server has ended the session")

// exitError is the end of a child process, or that of the wait for its answer. Its text leaves out what the process printed, in which one
// caller of a shared server could read of another's calls.
type exitError struct {
	error
	output string // the last lines on standard error, and on standard output if they were not messages
}

func (e *exitError) Unwrap() error { return e.error }

// outputOf returns the last lines of the process whose end has caused an error.
func outputOf(err error) string {
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		return exit.output
	}
	return ""
}

// detailed returns the text of an error with the last lines of the process, for the log and for the
// one caller of a link.
func detailed(err error) string {
	if output := outputOf(err); output != "" {
		return err.Error() + ": " + output
	}
	return err.Error()
}

// errorf makes an error for a caller that begins with the server's name.
func (cfg *Config) errorf(code toolformat.Code, format string, args ...any) *toolformat.Error {
	return toolformat.Errorf(code, "%s: %s", cfg.Name, cfg.hide(fmt.Sprintf(format, args...)))
}

// canceled returns the error of a request whose caller no longer waits.
func canceled(cause error) *toolformat.Error {
	return toolformat.Errorf(toolformat.Canceled, "canceled").Because(cause)
}

// tookLonger is the error of a request that a limit of the config has ended.
const tookLonger = "%s took longer than %s (%s in its config)"

// subject names a request in an error.
func subject(req *bridge.Request) string {
	if req.Target != "" {
		return req.Method + " " + req.Target
	}
	return req.Method
}

// recovered must be deferred where a caller's code runs in a goroutine of the client: it ends a
// panic, whose cause goes to the log, and sets err unless that is nil.
func (cfg *Config) recovered(err **toolformat.Error) {
	if p := recover(); p != nil {
		cfg.Log.Error("the code of a caller has panicked", "panic", p, "stack", string(debug.Stack()))
		if err != nil {
			*err = toolformat.Errorf(toolformat.Internal, "internal error")
		}
	}
}
