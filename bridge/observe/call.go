package observe

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/internal/member"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Call is a request of a caller that has ended. It is not changed after it was made.
type Call struct {
	Number int64         // of those of its Stream that a reader got, from 1 on
	Time   time.Time     // when it began
	Took   time.Duration // until it ended
	Asked  time.Duration // the part of Took for which an answer of the caller was awaited
	Queued time.Duration // the part of Took for which the call waited for its turn, or until its server was up
	First  time.Duration // after Time, of the first progress that the caller was told of; 0 means none
	Caller *Caller

	Profile string // of the caller; "" without one
	Model   string // that has made the call for the caller, as "provider/model"; "" without one

	Method string
	Target string // the tool, prompt, resource or task, as the caller named it; may be ""
	Server string // the member of the Bridge that it went to, or would have if it had not been refused; "" without one, or of several

	In, Out  int // bytes of the params, and of the result or of a server's error
	Sent     int // bytes of the message to an MCP server, and of its response: the other side of In and Out
	Received int
	Outcome  Outcome
	Reason   string           // why there is no result, with the cause; "" with a result
	Decision *bridge.Decision // of the policy about the call; nil without one

	Arguments json.RawMessage // as the caller sent them; nil unless Reading.Arguments asks for them
	Result    json.RawMessage // as the caller got it; nil unless Reading.Results asks for it
	Lost      int             // Calls before this one that the reader did not get, as it was too slow

	withheld bool // it did not go to Server
}

// A Caller is the other end of a session, as far as a record may name it.
type Caller struct {
	Session   int64  // the caller's number, from 1 on; unlike bridge.Caller.ID it opens nothing
	Principal string // "" for an anonymous caller
	Client    string // the program's name and version, by its own account; may be ""
	Version   string
	Carrier   string    // bridge.Caller.Carrier
	Revision  string    // bridge.Caller.Revision
	Since     time.Time // when its session began

	operator bool // it runs the bridge, and is not counted
	used     used
}

// newCaller returns the caller of a session.
func newCaller(session int64, c *bridge.Caller) *Caller {
	name, _ := wire.Text(wire.Lookup(c.Info, "name"))
	version, _ := wire.Text(wire.Lookup(c.Info, "version"))
	return &Caller{
		Session: session, Principal: c.Principal.Name, Client: cut(name, maxName), Version: cut(version, maxName),
		Carrier: c.Carrier, Revision: c.Revision, Since: time.Now(), operator: c.Operator,
	}
}

// An Outcome says how a call ended: OK, ToolError, InputRequired, ServerError, or the word of a
// toolformat.Code.
type Outcome string

// The outcomes that are not a toolformat.Code.
const (
	OK            Outcome = "ok"
	ToolError     Outcome = "tool_error"     // the tool ran and failed: the result has isError
	InputRequired Outcome = "input_required" // the result asks the caller, which calls again (2026-07-28)
	ServerError   Outcome = "server_error"   // the server answered with an error that has no code of ours
)

// Failed reports whether the caller got no usable result, other than by giving up the call.
func (o Outcome) Failed() bool {
	return o != OK && o != InputRequired && o != Outcome(toolformat.Canceled.String())
}

// The longest texts of a Call, in bytes, and the longest arguments and results, which are left out beyond it.
const (
	maxName      = 100
	maxTarget    = 300
	maxReason    = 500
	maxArguments = 64 << 10
	maxResult    = 64 << 10
)

// outcomeOf returns how a call ended, and why if it has no result. The zero Reply is that of a panic.
func outcomeOf(reply *bridge.Reply) (Outcome, string) {
	e := reply.Err
	switch {
	case e == nil && reply.Result == nil:
		return Outcome(toolformat.Internal.String()), "panic"
	case e == nil && member.Is(reply, `"isError"`, "true"):
		return ToolError, ""
	case e == nil && reply.Modern && member.Is(reply, `"resultType"`, `"input_required"`):
		return InputRequired, ""
	case e == nil:
		return OK, ""
	case e.Raw != nil && e.Code == toolformat.Internal:
		return ServerError, cut(e.Message, maxReason)
	case e.Cause != nil && e.Cause != context.Canceled: // which says nothing more
		return Outcome(e.Code.String()), cut(e.Message+": "+e.Cause.Error(), maxReason)
	}
	return Outcome(e.Code.String()), cut(e.Message, maxReason)
}

// subject returns what a request is for: its target, else the task or the item that its params name.
func subject(req *bridge.Request) string {
	text := req.Target
	switch {
	case text != "" || req.Params == nil:
	case req.Method == wire.MethodComplete:
		ref := req.Params.Get(wire.Ref)
		if text, _ = wire.Text(wire.Lookup(ref, "name")); text == "" {
			text, _ = wire.Text(wire.Lookup(ref, "uri"))
		}
	default:
		text, _ = req.Params.Text(wire.TaskID)
	}
	return cut(text, maxTarget)
}

// cut returns the beginning of a text that is longer than most bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:most], "")) + "…"
}
