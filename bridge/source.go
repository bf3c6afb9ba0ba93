package bridge

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Source is anything that has tools: a remote MCP server, a set of Go functions, a Bridge. Open
// is cheap: it starts what the caller needs in the background and does not wait for it. It may be
// called from many goroutines.
type Source interface {
	Open(ctx context.Context, caller *Caller) (Session, error)
}

// A Session is one caller's view of one source. Its methods may be called from many goroutines at
// once.
type Session interface {
	// List returns the items of one kind that the caller can see. If no list is known yet, it waits
	// for the source, at most until ctx ends; without a list, the error says why. A list beside an
	// error is the last one known of a source that is not connected. A list is immutable: when
	// another one replaces it, the caller is notified.
	List(ctx context.Context, kind ListKind) (*List, error)

	// Do carries out one request and always returns its reply. When ctx ends, the request is
	// canceled where it runs and the reply is a Canceled error. Do keeps nothing of req after it
	// has returned.
	Do(ctx context.Context, req *Request) Reply

	// Close releases what only this caller used. Requests in flight end as Canceled.
	Close() error
}

// A Request is one request on its way to the source that answers it.
type Request struct {
	Method string
	Params *wire.Params // as the caller sent them; nil means none
	Target string       // the tool, prompt or resource that Params names, or that Reach looks for; "" without one
	Edits  []wire.Edit  // changes to Params on the way; the source applies them
	Back   Back         // receives what precedes the reply; nil drops it
	Take   Taker        // takes a long result while it arrives; nil waits for all of it
	Model  string       // that has made the call for the caller, as "provider/model"; "" without one
	Key    string       // an idempotency key that came beside Params; "" without one

	// Approved is the word of a person who was asked about the call on its way here, so that no policy
	// asks again; nil if nobody was. It never comes from a client.
	Approved *Decision

	// Secrets are hidden values that the arguments of this call or another one of the caller have,
	// which nothing but results may show; nil means none. They may be kept after Do has returned.
	Secrets *Secrets
}

// params returns the params of a request with its edits applied.
func (r *Request) params() (*wire.Params, error) {
	params := r.Params
	if params == nil {
		params = &wire.Params{}
	}
	if len(r.Edits) == 0 {
		return params, nil
	}
	edited, err := wire.SplitParams(params.Append(nil, r.Edits...))
	return &edited, err
}

// Back receives what belongs to one request and precedes its reply: progress, logs, questions.
type Back interface {
	// Notify delivers a notification. It never blocks and copies what it keeps. Calls are ordered,
	// and all precede the return of Do.
	Notify(method string, params []byte)

	// Ask sends the caller a request of the source (sampling, elicitation, roots) and waits for its
	// result, raw JSON, until ctx ends. The caller's Capabilities must offer it.
	Ask(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)
}

// A Taker takes a long result while it arrives. Whoever may change the result of a request, or gives the
// request to several sources, sets its Take to nil.
type Taker interface {
	// Take takes the next bytes of the result, from its first one on, which only the Reply shows to be
	// valid: one that is an error, or has another result, means that the answer broke off. The capacity of
	// part is the memory that the rest of the result has. false means that the Taker has not taken part
	// and takes no more. It may take as long as a slow client needs, and keeps nothing of part. Calls
	// are ordered, and all precede the return of Do.
	Take(part []byte) bool
}

// A Reply is the answer to a Request: Result or Err, exactly one.
type Reply struct {
	Result []byte // raw JSON of the method's result
	Err    *toolformat.Error
	Modern bool // Result is already of the modern era: it has a resultType
	Loose  bool // Result may have structured content that is no object, which clients of the legacy era refuse
	Usual  bool // Result is known to be complete, no failed one and no task; false may mean that nobody has looked

	// Withheld means that the request has not come to Member, as it was refused on its way there.
	Withheld bool

	// Member is the name of the member of a Bridge that the request went to, or would have gone to if it had not been
	// refused; "" if that is none, or several. Of nested Bridges the outermost sets it.
	Member string

	// Decision is how the policy has decided about the call; nil without a policy, or if it decides nothing here.
	Decision *Decision

	Queued         time.Duration // for which the request has waited for its turn, or until its server was up
	Sent, Received int           // bytes of the request and of its response as they went to and from an MCP server; 0 without one

	memory interface{ Free() } // of Result; nil means that it is garbage-collected
}

// A Decision says how a policy has decided about a call. It is not changed after it was made.
type Decision struct {
	Verdict string // "allow", "deny", or "ask" for a call that nobody has decided about in time; "" if no policy has decided
	Rule    string // that decided, as the config's owner knows it; "" if no rule matched
	By      string // who approved or refused it, where the rule asked; "" if nobody was asked

	Found []string // in arguments and results by scanning, and what became of it
}

// Result returns a reply whose bytes live in buffer, which Free releases; buffer may be nil.
func Result(result []byte, buffer *wire.Buffer) Reply {
	if buffer == nil {
		return Reply{Result: result}
	}
	return Reply{Result: result, memory: buffer}
}

// Failed returns a reply that is an error.
func Failed(err *toolformat.Error) Reply { return Reply{Err: err} }

// RemoteError returns the JSON-RPC error object of a server as it is, with its code: another bridge
// spells that in data.code. The object must have been validated, and is kept. A code or message that
// it lacks is added: clients drop an error without one, and their request never ends.
func RemoteError(raw json.RawMessage) *toolformat.Error {
	if _, err := strconv.Atoi(string(wire.Lookup(raw, "code"))); err != nil {
		raw = wire.SetMember(raw, "code", strconv.AppendInt(nil, wire.InternalError, 10))
	}
	message, ok := wire.Text(wire.Lookup(raw, "message"))
	if !ok {
		message = "the server has failed, and does not say why"
		raw = wire.SetMember(raw, "message", wire.AppendString(nil, message))
	}
	e := &toolformat.Error{Code: toolformat.Internal, Message: message, Raw: raw, NotRun: string(wire.Lookup(raw, "data", "notRun")) == "true"}
	word, _ := wire.Text(wire.Lookup(raw, "data", "code"))
	if code, ok := toolformat.ParseCode(word); ok {
		e.Code = code
		return e
	}
	switch number, _ := strconv.Atoi(string(wire.Lookup(raw, "code"))); number {
	case wire.InvalidParams, wire.InvalidRequest:
		e.Code = toolformat.Invalid
	case wire.MethodNotFound:
		e.Code = toolformat.Unsupported
	case wire.ResourceNotFound:
		e.Code = toolformat.NotFound
	}
	return e
}

// Free returns the bytes of the reply to their pool: Result must not be read afterwards. A reply
// that is not freed is garbage-collected.
func (r *Reply) Free() {
	if r.memory != nil {
		r.memory.Free()
	}
	r.memory, r.Result = nil, nil
}

// A Caller is the other end of a session. It does not change while sessions are open for it.
type Caller struct {
	ID           string    // unique among the callers of this process
	Principal    Principal // the identity of the caller
	Info         []byte    // MCP's Implementation that names the client, raw JSON; may be nil
	Capabilities []byte    // MCP's ClientCapabilities, raw JSON; nil means none
	Carrier      string    // by which it is connected, for records: stdio, http, sse or websocket; "" if that is not known
	Revision     string    // of MCP that it speaks, for records; "" if that is not known
	Modern       bool      // the era since 2026-07-28: input_required is a result to the caller

	// Notify receives what belongs to the session but to no request: list changes. It never blocks
	// and copies what it keeps; nil drops them.
	Notify func(method string, params []byte)

	// HiddenValue looks up a hidden value, raw JSON: a tool's argument that no model sees, such as
	// the id of the user whose data it reads. Letter case is ignored. nil means that no value is
	// known.
	HiddenValue func(name string) (value []byte, ok bool)

	// Ask is Back.Ask for a question that belongs to no known request; nil if the caller cannot be
	// asked.
	Ask func(ctx context.Context, method string, params []byte) ([]byte, *toolformat.Error)

	// Only means that the caller sees no other source, which may then send it requests that are not
	// MCP's, through Ask.
	Only bool

	// Functions are tools that the caller carries out itself; may be nil.
	Functions Functions

	// Memory makes what a Bridge remembers of the caller outlive a session; nil means that it does not.
	Memory *Memory

	// Operator marks the caller that runs the bridge: it also sees tools that only other callers
	// can call.
	Operator bool

	// Claims are what the authentication of the caller says of it, a raw JSON object; nil means nothing.
	Claims []byte

	// Token returns the bearer token with which the caller's latest request was let in, for a source
	// that passes it on; nil means that it has none, or that no source does.
	Token func() string

	// Profiles are the only ones that the caller may have, whomever they are for; nil means those that
	// are for it.
	Profiles []string

	// Profile names the profile that the caller asks for, and below the wrapper that applies profiles
	// the one that it has; "" means none.
	Profile string

	// Members reports whether the caller may use a member of a Bridge, by its name: others do not exist
	// for it. nil means that it may use all, and sees all that they have.
	Members func(name string) bool
}

// Functions are tools that a caller carries out itself, such as those of a web page. A Tool with
// Client set is listed to a caller that has a function of its name, which gets the calls;
// NewOverlay shows functions that no other source defines.
type Functions interface {
	// Tools returns the current functions. For a tool that the bridge defines the name is enough.
	// The slice must not change afterwards; the owner notifies the caller when Tools returns other
	// functions.
	Tools() []toolformat.Tool

	// Call carries out one call, as Tool.Call does. The arguments are valid by the tool's schema.
	Call(ctx context.Context, name string, arguments json.RawMessage) (*toolformat.Result, error)
}

// notify calls Notify unless it is nil.
func (c *Caller) notify(method string, params []byte) {
	if c.Notify != nil {
		c.Notify(method, params)
	}
}

// Offers returns the part of a client's capabilities that lets a source ask it questions, raw JSON.
func Offers(capabilities []byte) []byte {
	offers := []byte("{}")
	for _, name := range []string{"sampling", "roots", "elicitation"} {
		if v := wire.Lookup(capabilities, name); v != nil {
			offers = wire.SetMember(offers, name, v)
		}
	}
	return offers
}

// A Principal is the identity with which a caller was admitted. Callers of one principal may share
// what they do not share with others.
type Principal struct {
	Name string // "" for an anonymous caller
}
