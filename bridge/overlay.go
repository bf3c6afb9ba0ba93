package bridge

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// OverlayOptions are the settings of NewOverlay. The zero value works.
type OverlayOptions struct {
	Native       NativeOptions // for the functions of each caller
	MaxFunctions int           // bounds the functions shown of one caller; 0 means 256
	Timeout      time.Duration // Tool.Timeout of the functions
	Untrusted    bool          // what their annotations say decides nothing

	// Reserved returns whose a name is although the source below may not list it, "" if nobody's. A
	// function of such a name is not shown. nil means that no name is reserved.
	Reserved func(name string) (owner string)
}

// NewOverlay wraps a source so that each caller sees its own Functions beside the source's tools.
// Callers without functions share the view of the source below. It belongs directly around the
// Bridge, once.
//
// A function that the source below defines (Tool.Client) is the source's. Of another one whose name
// is taken there, the tool below is shown, with a warning in the log: a caller cannot replace a
// tool by a function.
func NewOverlay(source Source, opts OverlayOptions) Source {
	opts.Native = opts.Native.withDefaults()
	opts.MaxFunctions = cmp.Or(opts.MaxFunctions, 256)
	return Wrap(source, func(below Session, caller *Caller) (Session, error) {
		if caller.Functions == nil {
			return below, nil
		}
		s := &overlaySession{Session: below, opts: opts, caller: caller}
		alone := *caller
		alone.Notify = nil // the owner of the functions notifies the caller
		var err error
		if s.native, err = NewNative(opts.Native); err == nil {
			s.own, err = s.native.Open(context.Background(), &alone)
		}
		return s, err
	})
}

// overlaySession is the view of a caller with functions.
type overlaySession struct {
	Session // of the source below
	opts    OverlayOptions
	caller  *Caller
	native  *Native // of its functions
	own     Session // on native

	mu        sync.Mutex // guards what follows; one list is made at a time
	list      *List      // the last one, made of below and functions
	below     *List
	functions []toolformat.Tool
}

func (s *overlaySession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != Tools || l == nil {
		return l, err
	}
	return s.overlaid(l), err
}

// overlaid returns a list with the caller's functions at its end.
func (s *overlaySession) overlaid(below *List) *List {
	functions := s.caller.Functions.Tools()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.below == below && reflect.DeepEqual(s.functions, functions) {
		return s.list
	}
	set := s.toolset(below, functions)
	s.native.swap(set)
	s.below, s.functions = below, functions
	if s.list = below; len(set.tools) == 0 {
		return s.list
	}
	s.list = NewList(Tools, slices.Concat(below.Items, set.all.Items))
	s.list.unlisted, s.list.private = below.unlisted, true
	return s.list
}

// toolset returns the functions whose names the list below does not have.
func (s *overlaySession) toolset(below *List, functions []toolformat.Tool) *toolset {
	taken, defined := map[string]bool{}, map[string]bool{}
	for _, items := range [][]Item{below.Items, below.unlisted} {
		for _, it := range items {
			taken[it.Key], defined[it.Function] = true, true
		}
	}
	set := &toolset{byName: map[string]*nativeTool{}}
	skip := func(f toolformat.Tool, reason any) {
		s.opts.Native.Log.Warn("a client function is not shown", "caller", s.caller.ID, "function", f.Name, "reason", reason)
	}
	for _, f := range functions {
		if len(set.tools) == s.opts.MaxFunctions {
			skip(f, "the client has too many: this function and those after it are left out")
			break
		}
		switch {
		case f.Name != "" && defined[f.Name]:
		case taken[f.Name]:
			skip(f, "a tool has this name and is shown instead")
		case set.byName[f.Name] != nil:
			skip(f, "the client has another function of this name")
		default:
			if s.opts.Reserved != nil && s.opts.Reserved(f.Name) != "" {
				skip(f, "names with this prefix are those of "+s.opts.Reserved(f.Name))
				continue
			}
			tool, err := s.native.prepare(Tool{Tool: f, Client: true, Timeout: s.opts.Timeout})
			if err != nil {
				skip(f, err)
				continue
			}
			if s.opts.Untrusted {
				tool.item.Untrusted, tool.item.Repeatable = true, false
			}
			set.addTool(tool)
		}
	}
	return set.finish()
}

func (s *overlaySession) Do(ctx context.Context, req *Request) Reply {
	if req.Method != wire.MethodToolsCall || !s.caller.has(req.Target) {
		return s.Session.Do(ctx, req)
	}
	l, fault := listTools(ctx, s.Session)
	if fault != nil {
		return Failed(fault)
	}
	s.overlaid(l)
	if s.native.tools.Load().byName[req.Target] != nil {
		return s.own.Do(ctx, req)
	}
	return s.Session.Do(ctx, req)
}

// Close closes the session below and waits for the caller's functions, as Native.Close does.
func (s *overlaySession) Close() error {
	return errors.Join(s.Session.Close(), s.native.Close())
}
