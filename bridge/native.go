package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Tool is one tool of this program: how callers see it and what carries it out.
type Tool struct {
	toolformat.Tool

	// Timeout is how long one call may take, anew with each progress that it reports.
	// 0: 30 s.
	Timeout time.Duration

	// Concurrency is how many calls of the tool may be under way at once; further ones
	// wait, see NativeOptions.Queue. 0: the limit of all tools together is the only one.
	Concurrency int

	// Cancelable says that Call returns as soon as its ctx ends, whatever it waits for: nobody
	// has to wait beside it, and it is run where it is called from. Such a Call must not
	// end its goroutine.
	Cancelable bool

	// ReadOnly says that no call changes anything, Idempotent that a second call with the
	// same arguments changes nothing more than the first. What is true is listed as the
	// readOnlyHint or the idempotentHint of MCP's annotations (2025-03-26 and later,
	// schema.ts, ToolAnnotations); false is not known. The annotations of the definition
	// that the tool came in (Extra) count more, key by key; one that it calls destructive
	// is not called read-only.
	ReadOnly, Idempotent bool

	// Hidden names the arguments that no caller sees or sets, in any letter case: they
	// are taken out of the schema that callers get and out of the arguments that they
	// send, and filled in from Caller.Hidden. A call without one of them is a failed
	// result, and Call is not reached.
	Hidden []string

	// Client says that the caller carries the tool out and the bridge never does: its
	// calls go to the caller's Functions, and Call is nil. It is listed to callers that
	// have a function of its name, and to an Operator; a call of any other caller is an
	// Unavailable error. What Context names is taken out and not filled in: hidden values
	// are not for clients.
	Client bool

	// Call carries out one call. The arguments are valid by the tool's InputSchema, with
	// its defaults filled in, and Call's own. It may run in many goroutines at once.
	//
	// When ctx ends, nobody waits for the result any more; Call should return soon.
	// Progress and RequestOf take the same ctx.
	//
	// A result whose structured content does not fit the tool's OutputSchema becomes a
	// failed one that says so. An error that is or wraps a *toolformat.Error is the call's
	// error. Any other one is the tool's own failure: its text becomes a result for the
	// model. A panic is an internal error, whose cause stands in the log alone.
	Call func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error)
}

// NativeOptions are the settings of a Native. The zero value works.
type NativeOptions struct {
	ServerInfo []byte        // raw JSON of MCP's Implementation; nil: whoever stands before it says who it is
	MaxTimeout time.Duration // how long a call may take that reports progress; 0: 30 min
	Grace      time.Duration // how long Close waits for calls that do not heed their context; 0: 5 s
	Log        *slog.Logger  // nil: nothing is logged

	// Concurrency is how many calls may be under way at once, of all tools together. One
	// whose function has not returned counts, even when nobody waits for it any more. 0: 256.
	Concurrency int

	// Queue is how many calls may wait, each at most for its tool's Timeout, for a limit on
	// concurrency; a further one is an Unavailable error. It counts for each limit. 0: 1,000.
	Queue int

	// MaxResult is how many characters of text a result may have: see
	// toolformat.Result.Truncate. In bytes, with images and all else that is no text, it may
	// have eight times as many; a longer one becomes a failed result that says so, as does
	// one that would have to be cut although its tool has an OutputSchema. 0: 8 Mi.
	MaxResult int

	// SharedValue is what Caller.SharedValue does not know: values that are the same for all
	// callers. nil: there are none.
	SharedValue func(name string) (value []byte, ok bool)
}

// withDefaults are the options with what their zero values mean.
func (o NativeOptions) withDefaults() NativeOptions {
	o.MaxTimeout = cmp.Or(o.MaxTimeout, 30*time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.Concurrency = cmp.Or(o.Concurrency, 256)
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.MaxResult = cmp.Or(o.MaxResult, 8<<20)
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return o
}

// A Native is the source that tools of this program become. It may be used from many
// goroutines.
type Native struct {
	opts    NativeOptions
	none    [ListKinds]*List // what a Native has of each kind but Tools
	limiter *Limiter         // of all calls
	workers *workers
	tools   atomic.Pointer[toolset]

	mu       sync.Mutex // guards what follows
	closed   bool
	sessions map[*nativeSession]struct{}
	running  map[*nativeCall]struct{} // that wait, or whose functions have not returned
	drained  chan struct{}            // of Close: closed when none runs any more
}

// NewNative makes a source of tools, which are listed in that order. The error names the
// tool that cannot be one.
func NewNative(opts NativeOptions, tools ...Tool) (*Native, error) {
	n := &Native{opts: opts.withDefaults(), workers: newWorkers(), sessions: map[*nativeSession]struct{}{}, running: map[*nativeCall]struct{}{}}
	n.limiter = NewLimiter("the native tools are", n.opts.Concurrency, n.opts.Queue)
	for kind := range ListKinds {
		n.none[kind] = NewList(kind, nil)
	}
	set, err := n.newToolset(tools)
	if err != nil {
		return nil, err
	}
	n.tools.Store(set)
	return n, nil
}

// Replace puts other tools in the place of all that there are, and tells the callers
// when they see a difference. Calls under way go on. On an error nothing has changed.
func (n *Native) Replace(tools ...Tool) error {
	set, err := n.newToolset(tools)
	if err != nil {
		return err
	}
	n.swap(set)
	return nil
}

// swap is Replace for a set that is made.
func (n *Native) swap(set *toolset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.tools.Swap(set)
	plain, all := old.plain.Equal(set.plain), old.all.Equal(set.all)
	for s := range n.sessions {
		if !plain || !all && (s.caller.Operator || s.caller.Functions != nil) {
			s.caller.notify(Tools.Changed(), nil)
		}
	}
}

// Open begins a session. It fails after Close.
func (n *Native) Open(_ context.Context, caller *Caller) (Session, error) {
	s := &nativeSession{native: n, caller: caller}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, toolformat.Errorf(toolformat.Unavailable, "these tools have been closed")
	}
	n.sessions[s] = struct{}{}
	return s, nil
}

// Close ends every session and call, and waits until the functions have returned. The
// error names those that have not within the grace: they go on, and nobody hears of
// them.
func (n *Native) Close() error {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.workers.ended)
	}
	clear(n.sessions)
	for c := range n.running {
		c.cancel(nil)
	}
	if n.drained == nil && len(n.running) > 0 {
		n.drained = make(chan struct{})
	}
	drained := n.drained
	n.mu.Unlock()
	if drained == nil {
		return nil
	}
	patience := time.NewTimer(n.opts.Grace)
	defer patience.Stop()
	select {
	case <-drained:
		return nil
	case <-patience.C:
		return fmt.Errorf("bridge: %s did not return within %s after being cancelled: a tool must heed its context", n.names(), n.opts.Grace)
	}
}

// forget is for a call whose function has returned, or never ran.
func (n *Native) forget(c *nativeCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.running, c)
	c.session.calls--
	if n.drained != nil && len(n.running) == 0 {
		close(n.drained)
		n.drained = nil
	}
}

// names are those of the tools that run.
func (n *Native) names() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var names []string
	for c := range n.running {
		names = append(names, c.tool.Name)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// nativeSession is a caller's view of a Native.
type nativeSession struct {
	native *Native
	caller *Caller
	calls  int                     // of it in native.running; native.mu guards it
	own    atomic.Pointer[ownList] // of a caller with Functions
}

func (s *nativeSession) List(_ context.Context, kind ListKind) (*List, error) {
	if kind != Tools {
		return s.native.none[kind], nil
	}
	return s.listed(), nil
}

func (s *nativeSession) Close() error {
	n := s.native
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, s)
	if s.calls == 0 { // as most often; there may be many of others
		return nil
	}
	for c := range n.running {
		if c.session == s {
			c.cancel(nil)
		}
	}
	return nil
}

func (s *nativeSession) Do(ctx context.Context, req *Request) Reply {
	switch req.Method {
	case wire.MethodToolsCall:
		return s.call(ctx, req)
	case wire.MethodDiscover:
		result := []byte(`{"capabilities":{"tools":{"listChanged":true}}}`)
		if info := s.native.opts.ServerInfo; info != nil {
			result = wire.SetMember(result, "serverInfo", info)
		}
		return Result(result, nil)
	}
	return Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
}
