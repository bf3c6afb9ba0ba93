package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
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

	// Context names the arguments that no caller sees or sets, in any letter case: they
	// are taken out of the schema that callers get and out of the arguments that they
	// send, and filled in from Caller.Context. A call without one of them is a failed
	// result, and Call is not reached.
	Context []string

	// Call carries out one call. The arguments are valid by the tool's InputSchema, with
	// its defaults filled in, and Call's own. It may run in many goroutines at once.
	//
	// When ctx ends, nobody waits for the result any more; Call should return soon.
	// Progress and RequestOf take the same ctx.
	//
	// An error that is or wraps a *toolformat.Error is the call's error. Any other one
	// is the tool's own failure: its text becomes a result for the model. A panic is an
	// internal error, whose cause stands in the log alone.
	Call func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error)
}

// NativeOptions are the settings of a Native. The zero value works.
type NativeOptions struct {
	ServerInfo []byte        // raw JSON of MCP's Implementation; nil: whoever stands before it says who it is
	MaxTimeout time.Duration // how long a call may take that reports progress; 0: 30 min
	Grace      time.Duration // how long Close waits for calls that do not heed their context; 0: 5 s
	Log        *slog.Logger  // nil: nothing is logged

	// Context is what Caller.Context does not know: values that are the same for all
	// callers. nil: there are none.
	Context func(name string) (value []byte, ok bool)
}

// A Native is the source that tools of this program become. It may be used from many
// goroutines.
type Native struct {
	opts  NativeOptions
	none  [Kinds]*List // what a Native has of each kind but Tools
	tools atomic.Pointer[toolset]

	mu       sync.Mutex // guards what follows
	closed   bool
	sessions map[*nativeSession]struct{}
	running  map[*nativeCall]struct{} // their functions have not returned
}

// toolset is an immutable set of tools.
type toolset struct {
	list   *List
	byName map[string]*nativeTool
}

type nativeTool struct {
	Tool
	check  *toolformat.Checker // what callers send
	hidden *hiddenContext      // nil: the tool has none
	free   bool                // its schema takes every object: arguments pass byte for byte
}

// NewNative makes a source of tools, which are listed in that order. The error names the
// tool that cannot be one.
func NewNative(opts NativeOptions, tools ...Tool) (*Native, error) {
	opts.MaxTimeout = cmp.Or(opts.MaxTimeout, 30*time.Minute)
	opts.Grace = cmp.Or(opts.Grace, 5*time.Second)
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	n := &Native{opts: opts, sessions: map[*nativeSession]struct{}{}, running: map[*nativeCall]struct{}{}}
	for kind := range Kinds {
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
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.tools.Swap(set); old.list.Equal(set.list) {
		return nil
	}
	for s := range n.sessions {
		s.caller.notify(Tools.Changed(), nil)
	}
	return nil
}

func (n *Native) newToolset(tools []Tool) (*toolset, error) {
	set := &toolset{byName: make(map[string]*nativeTool, len(tools))}
	items := make([]Item, 0, len(tools))
	for _, t := range tools {
		hidden, err := hide(&t)
		if err != nil {
			return nil, err
		}
		it, err := t.item()
		switch {
		case err != nil:
			return nil, err
		case t.Call == nil:
			return nil, fmt.Errorf("bridge: tool %s: Call is nil: there is nothing to carry it out", t.Name)
		case set.byName[t.Name] != nil:
			return nil, fmt.Errorf("bridge: tool %s: there is another tool of this name", t.Name)
		}
		t.Timeout = cmp.Or(t.Timeout, 30*time.Second)
		own := &nativeTool{Tool: t, hidden: hidden, free: hidden == nil && takesAll(t.inputSchema())}
		var notes []toolformat.Note
		if own.check, notes, err = toolformat.NewChecker(t.inputSchema()); err != nil {
			return nil, fmt.Errorf("bridge: tool %s: input schema: %w", t.Name, err)
		}
		for _, note := range notes {
			n.opts.Log.Warn("a part of the input schema is not checked", "tool", t.Name, "path", note.Path, "reason", note.Text)
		}
		set.byName[t.Name] = own
		items = append(items, it)
	}
	set.list = NewList(Tools, items)
	return set, nil
}

// anyArguments is the schema of a tool that has none.
const anyArguments = `{"type":"object"}`

func (t *Tool) inputSchema() json.RawMessage {
	if t.InputSchema == nil {
		return json.RawMessage(anyArguments)
	}
	return t.InputSchema
}

// takesAll reports whether a schema is that of any object, with nothing said about it.
func takesAll(schema json.RawMessage) bool {
	n := 0
	for range wire.Members(schema) {
		n++
	}
	kind, _ := wire.Text(wire.Lookup(schema, "type"))
	return n == 1 && kind == "object"
}

// item is the tool's definition as MCP has it: as it came, or made of what is known.
func (t *Tool) item() (Item, error) {
	raw := []byte(t.Extra)
	if raw == nil || t.Format != "" && t.Format != toolformat.FormatMCP {
		raw = wire.AppendString([]byte(`{"name":`), t.Name)
		if t.Description != "" {
			raw = wire.AppendString(append(raw, `,"description":`...), t.Description)
		}
		raw = append(append(raw, `,"inputSchema":`...), t.inputSchema()...)
		if t.OutputSchema != nil {
			raw = append(append(raw, `,"outputSchema":`...), t.OutputSchema...)
		}
		raw = append(raw, '}')
		var lean bytes.Buffer // a schema of a file is indented
		if err := json.Compact(&lean, raw); err == nil {
			raw = lean.Bytes()
		}
	}
	if t.Name == "" {
		return Item{}, fmt.Errorf("bridge: a tool has no name (its description is %.60q)", t.Description)
	}
	if err := wire.Valid(raw); err != nil {
		return Item{}, fmt.Errorf("bridge: tool %s: its definition is not JSON: %w", t.Name, err)
	}
	it, err := NewItem(Tools, raw)
	if err != nil || it.Key != t.Name {
		return Item{}, fmt.Errorf("bridge: tool %s: its definition has another name: %.80s", t.Name, raw)
	}
	return it, nil
}

// Open begins a session. It fails after Close.
func (n *Native) Open(_ context.Context, caller *Caller) (Session, error) {
	s := &nativeSession{native: n, caller: caller}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, toolformat.Errorf(toolformat.Unavailable, "these tools have been closed")
	}
	s.ctx, s.end = context.WithCancel(context.Background())
	n.sessions[s] = struct{}{}
	return s, nil
}

// Close ends every session and call, and waits until the functions have returned. The
// error names those that have not within the grace: they go on, and nobody hears of
// them.
func (n *Native) Close() error {
	n.mu.Lock()
	n.closed = true
	sessions, running := slices.Collect(maps.Keys(n.sessions)), slices.Collect(maps.Keys(n.running))
	n.mu.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	patience := time.NewTimer(n.opts.Grace)
	defer patience.Stop()
	for _, c := range running {
		select {
		case <-c.returned:
		case <-patience.C:
			return fmt.Errorf("bridge: %s did not return within %s after being cancelled: a tool must heed its context", n.names(), n.opts.Grace)
		}
	}
	return nil
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
	ctx    context.Context // ends with the session
	end    context.CancelFunc
}

func (s *nativeSession) List(_ context.Context, kind Kind) (*List, error) {
	if kind == Tools {
		return s.native.tools.Load().list, nil
	}
	return s.native.none[kind], nil
}

func (s *nativeSession) Close() error {
	s.native.mu.Lock()
	delete(s.native.sessions, s)
	s.native.mu.Unlock()
	s.end()
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
