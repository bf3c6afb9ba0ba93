package bridge

import (
	"context"
	"encoding/json"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Source is anything that has tools: a remote MCP server, a set of Go functions, a
// Bridge. Open is cheap: it starts what the caller needs in the background and does
// not wait for it. It may be called from many goroutines.
type Source interface {
	Open(ctx context.Context, caller *Caller) (Session, error)
}

// A Session is one caller's view of one source. Its methods may be called from many
// goroutines at once.
type Session interface {
	// List returns what the caller can see of one kind. It returns at once what is
	// known, else waits for the source until ctx ends; the error then says why
	// nothing is known. A list is immutable; another one replaces it, and the
	// caller is notified.
	List(ctx context.Context, kind ListKind) (*List, error)

	// Do carries out one request and returns its reply, whatever happens. When ctx
	// ends, the request is cancelled where it runs and the reply is a Canceled
	// error. Do keeps nothing of req after it has returned.
	Do(ctx context.Context, req *Request) Reply

	// Close ends what only this caller used. Requests under way end as Canceled.
	Close() error
}

// A Request is one request on its way to the source that answers it.
type Request struct {
	Method string
	Params *wire.Params // as the caller sent them; nil means none
	Target string       // what Params names: the tool, the prompt or the resource; "" where a method names none
	Edits  []wire.Edit  // what the owner is to see instead of what stands in Params
	Back   Back         // takes what flows back along this request; nil: nobody listens
}

// Back takes what belongs to one request, before its reply: progress, logs, questions.
type Back interface {
	// Notify delivers a notification. It never blocks and copies what it keeps.
	// Calls are ordered, and all precede the return of Do.
	Notify(method string, params []byte)

	// Ask sends the caller a request of its source (sampling, elicitation, roots) and
	// waits for its result, raw JSON, until ctx ends. Only what the caller's
	// Capabilities offer may be asked.
	Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)
}

// A Reply is the answer to a Request: Result or Err, exactly one.
type Reply struct {
	Result []byte // raw JSON of the method's result
	Err    *toolformat.Error
	Modern bool // Result is of the modern era as it stands: it says whether it is complete

	buffer *wire.Buffer
}

// Result is a reply whose bytes live in buffer, which Free gives back; a nil buffer is
// fine.
func Result(result []byte, buffer *wire.Buffer) Reply {
	return Reply{Result: result, buffer: buffer}
}

// Failed is a reply that is an error.
func Failed(err *toolformat.Error) Reply { return Reply{Err: err} }

// Free gives the bytes of the reply back to their pool: Result must not be read after
// it. A reply that nobody frees is merely garbage.
func (r *Reply) Free() {
	r.buffer.Free()
	r.buffer, r.Result = nil, nil
}

// A Caller is the other end of a session: who it is, what it can do, how to reach it.
// It does not change while sessions are open under it.
type Caller struct {
	ID           string    // unique among the callers of this process
	Principal    Principal // who it is
	Capabilities []byte    // raw JSON of what it said it can do (MCP ClientCapabilities); nil: nothing
	Modern       bool      // it is of the era since 2026-07-28: an input_required is a result to it
	// Notify takes what belongs to the session and to no request: list changes. It
	// never blocks and copies what it keeps; nil: nobody listens.
	Notify func(method string, params []byte)
	// HiddenValue is a hidden value by its name, raw JSON: what a tool is given that no model
	// sees, such as whose data it may read. Names count in any letter case. ok is false
	// for one that is not known. nil: there is none.
	HiddenValue func(name string) (value []byte, ok bool)
	// Ask is Back.Ask for what belongs to no request that is known; nil: it cannot be
	// asked.
	Ask func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)
	// Functions are tools that the caller carries out itself; nil: it has none.
	Functions Functions
	// Operator says that it runs the bridge: it is also shown the tools that only other
	// callers can call.
	Operator bool
}

// Functions are tools that a caller carries out itself, such as those of a web page. A
// Tool with Client set is listed to it when it has one of its name, and its calls come
// here; those that nothing else defines are shown by an Overlay.
type Functions interface {
	// Tools are the functions that there are now. Where the bridge defines a tool of the
	// name the name is enough. The slice is not changed any more; when there are others,
	// whoever changes them tells the caller that its tools have changed.
	Tools() []toolformat.Tool

	// Call carries out one call, as Tool.Call does. The arguments are valid by the schema
	// of the tool.
	Call(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error)
}

// notify is Notify for callers with and without a listener.
func (c *Caller) notify(method string, params []byte) {
	if c.Notify != nil {
		c.Notify(method, params)
	}
}

// QuestionCapability is the client capability that a request of a source needs; ""
// for a method that is no question to a client.
func QuestionCapability(method string) string {
	switch method {
	case wire.MethodCreateMessage:
		return "sampling"
	case wire.MethodElicit:
		return "elicitation"
	case wire.MethodRootsList:
		return "roots"
	}
	return ""
}

// Offers is what of a client's capabilities lets a source ask it something, raw JSON;
// {} when that is nothing.
func Offers(capabilities []byte) []byte {
	offers := []byte("{}")
	for _, name := range []string{"sampling", "roots", "elicitation"} {
		if v := wire.Lookup(capabilities, name); v != nil {
			offers = wire.SetMember(offers, name, v)
		}
	}
	return offers
}

// A Principal is an identity, as the door that admitted the caller established it.
// Callers of one principal may share what is not shared with others.
type Principal struct {
	Name string // "" is nobody in particular
}
