package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Tool is a tool that this program carries out, or asks the caller to.
type Tool struct {
	toolformat.Tool

	// Timeout bounds a call; progress starts it anew. 0 means 30 s.
	Timeout time.Duration

	// Concurrency bounds the calls of the tool that run at once; more calls wait, see
	// NativeOptions.Queue. 0 means that only NativeOptions.Concurrency bounds them.
	Concurrency int

	// Cancelable says that Call returns promptly when ctx ends, so it runs on the caller's
	// goroutine, which it must not end.
	Cancelable bool

	// ReadOnly says that calls change nothing, Idempotent that a repeated call changes nothing
	// more. They set readOnlyHint and idempotentHint (2025-03-26, ToolAnnotations) where the
	// annotations in Extra do not; a tool annotated as destructive gets no readOnlyHint.
	ReadOnly, Idempotent bool

	// Hidden names the properties that callers neither see nor set, in any letter case and at any
	// depth: they are removed from the schemas shown and from the arguments sent. They are set from
	// Caller.HiddenValue wherever InputSchema or Placeholders name them. A call for which a value is
	// missing is a failed result and does not reach Call. No error and no log shows a value.
	Hidden []string

	// Placeholders are the arguments that Call uses by name, such as {id} of a path, whether or not
	// InputSchema has them. Those that are hidden are set; others mean nothing.
	Placeholders []string

	// Client says that callers carry the tool out, by their Functions; Call is nil. The tool is
	// listed to callers with a function of its name and to an Operator; a call by any other caller
	// is an Unavailable error. Hidden arguments are removed and not set.
	Client bool

	// Call carries out a call. The arguments are valid by InputSchema, with its defaults, and Call
	// may keep them. It may run in many goroutines at once. When ctx, which Progress and RequestOf
	// take, ends, the result is dropped and Call should return soon.
	//
	// A result that has Memory is the bridge's alone, which frees it.
	//
	// A result whose structured content does not fit OutputSchema becomes a failed result. An error
	// that is or wraps a *toolformat.Error is the call's error. Any other error is the tool's
	// failure: its text becomes a result for the model. A panic is an Internal error, whose cause
	// goes to the log only.
	Call func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error)
}

// NativeOptions are the settings of a Native. The zero value works.
type NativeOptions struct {
	ServerInfo []byte        // MCP's Implementation, raw JSON; nil leaves it to the source in front
	MaxTimeout time.Duration // bounds a call that reports progress, unless its Timeout is longer; 0 means 30 min
	Log        *slog.Logger  // nil discards

	// Concurrency bounds the calls of all tools that run at once, until their function returns,
	// even if its result is no longer awaited. 0 means 256.
	Concurrency int

	// Principals is how many principals the callers can have. Of several each may run half of the
	// calls that a limit on concurrency admits, rounded up.
	Principals int

	// Queue bounds the calls that wait for each limit on concurrency, each for at most its tool's
	// Timeout; a further call is an Unavailable error. 0 means 1,000.
	Queue int

	// MaxResult bounds the text of a result, in characters: see toolformat.Result.Truncate. The
	// whole result, with images, may have eight times as many bytes. A longer result fails, and so
	// does one that would be truncated although its tool has an OutputSchema. 0 means 8 Mi.
	MaxResult int

	// SharedValue looks up values that Caller.HiddenValue does not know, the same for all callers;
	// may be nil.
	SharedValue func(name string) (value []byte, ok bool)
}

// withDefaults replaces zero fields.
func (o NativeOptions) withDefaults() NativeOptions {
	o.MaxTimeout = cmp.Or(o.MaxTimeout, 30*time.Minute)
	o.Concurrency = cmp.Or(o.Concurrency, 256)
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.MaxResult = cmp.Or(o.MaxResult, 8<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// A Native is a source of native tools. It may be used from many goroutines.
type Native struct {
	opts    NativeOptions
	none    [ListKinds]*List // the empty lists of the other kinds
	limiter *Limiter         // of all calls
	workers *workers
	tools   atomic.Pointer[toolset]

	mu       sync.Mutex // guards what follows
	closed   bool
	sessions map[*nativeSession]struct{}
	running  map[*nativeCall]struct{} // waiting calls, and those whose function has not returned
	drained  chan struct{}            // closed for Close when running is empty
}

// NewNative returns a source of tools, listed in this order. The error names the tool at fault.
func NewNative(opts NativeOptions, tools ...Tool) (*Native, error) {
	n := &Native{opts: opts.withDefaults(), workers: newWorkers(), sessions: map[*nativeSession]struct{}{}, running: map[*nativeCall]struct{}{}}
	n.limiter = NewLimiter("the native tools are", n.opts.Concurrency, n.opts.Queue).Among(n.opts.Principals)
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

// Replace replaces all tools, and notifies callers whose list changes. Calls in flight go on, and
// count towards the Concurrency of the tool of the same name. After an error nothing has changed.
func (n *Native) Replace(tools ...Tool) error {
	set, err := n.newToolset(tools)
	if err != nil {
		return err
	}
	n.swap(set)
	return nil
}

// swap is Replace for a prepared set.
func (n *Native) swap(set *toolset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.tools.Load()
	for name, t := range set.byName {
		before := old.byName[name]
		if before != nil && before != t && before.limiter != nil && t.limiter != nil {
			before.limiter.resize(t.Concurrency)
			t.limiter = before.limiter
		}
	}
	n.tools.Store(set)
	plain, all := old.plain.Equal(set.plain), old.all.Equal(set.all)
	for s := range n.sessions {
		if !plain || !all && (s.caller.Operator || s.caller.Functions != nil) {
			s.caller.notify(Tools.Changed(), nil)
		}
	}
}

// Open opens a session. It fails after Close.
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

// closeGrace bounds the wait of Close for running calls.
const closeGrace = 5 * time.Second

// Close ends all sessions and calls and waits until the functions have returned, up to 5 s. The
// error names the tools whose functions have not: they go on, and their results are dropped.
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
	patience := time.NewTimer(closeGrace)
	defer patience.Stop()
	select {
	case <-drained:
		return nil
	case <-patience.C:
		return fmt.Errorf("bridge: %s did not return within %s after being canceled: a tool must return when its context ends", n.names(), closeGrace)
	}
}

// removeCall removes a call whose function has returned or never ran.
func (n *Native) removeCall(c *nativeCall) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.running, c)
	c.session.calls--
	if n.drained != nil && len(n.running) == 0 {
		close(n.drained)
		n.drained = nil
	}
}

// names returns the tools with running calls, for errors.
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
	calls  int                     // in native.running; guarded by native.mu
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
	if s.calls == 0 { // mostly so, while other sessions may have many
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
