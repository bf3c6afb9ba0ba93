package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// OverlayOptions are the settings of NewOverlay. The zero value works.
type OverlayOptions struct {
	Native       NativeOptions // what holds for the functions of each caller
	MaxFunctions int           // of one caller; further ones are not shown. 0: 256
}

// NewOverlay wraps a source so that each caller sees its own Functions beside the source's
// tools. Callers without functions share the view of the source below. It belongs directly
// around the Bridge, once.
//
// A function that the source below defines (Tool.Client) is the source's. Of another one
// whose name is taken there, the tool below is shown and the log says so: a caller cannot
// replace a tool by a function.
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

	mu   sync.Mutex // guards what follows; one view is made at a time
	view overlayView
}

// overlayView is what the caller sees, made of a list and its functions.
type overlayView struct {
	below     *List
	functions []toolformat.Tool
	list      *List
}

func (s *overlaySession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != Tools || l == nil {
		return l, err
	}
	return s.over(l), err
}

// over is a list with the caller's functions at its end.
func (s *overlaySession) over(below *List) *List {
	functions := s.caller.Functions.Tools()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.below == below && slices.EqualFunc(s.view.functions, functions, sameTool) {
		return s.view.list
	}
	set := s.toolset(below, functions)
	s.native.swap(set)
	list := NewList(Tools, slices.Concat(below.Items, set.all.Items))
	list.unlisted, list.private = below.unlisted, true
	s.view = overlayView{below: below, functions: functions, list: list}
	return list
}

// toolset are those of the functions that the list below leaves room for.
func (s *overlaySession) toolset(below *List, functions []toolformat.Tool) *toolset {
	taken, defined := map[string]bool{}, map[string]bool{}
	for _, items := range [][]Item{below.Items, below.unlisted} {
		for _, it := range items {
			taken[it.Key], defined[it.Function] = true, true
		}
	}
	set := &toolset{byName: map[string]*nativeTool{}}
	say := func(f toolformat.Tool, reason any) {
		s.opts.Native.Log.Warn("a client function is not shown", "caller", s.caller.ID, "function", f.Name, "reason", reason)
	}
	for _, f := range functions {
		if len(set.tools) == s.opts.MaxFunctions {
			say(f, "the client has too many, and neither are those behind this one")
			break
		}
		switch {
		case f.Name != "" && defined[f.Name]:
		case taken[f.Name]:
			say(f, "there is a tool of this name, which is the one that is shown")
		case set.byName[f.Name] != nil:
			say(f, "the client has another one of this name")
		default:
			tool, err := s.native.prepare(Tool{Tool: f, Client: true})
			if err != nil {
				say(f, err)
				continue
			}
			set.add(tool)
		}
	}
	return set.done()
}

func sameTool(a, b toolformat.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Format == b.Format &&
		string(a.InputSchema) == string(b.InputSchema) && string(a.OutputSchema) == string(b.OutputSchema) && string(a.Extra) == string(b.Extra)
}

func (s *overlaySession) Do(ctx context.Context, req *Request) Reply {
	if req.Method != wire.MethodToolsCall || !s.caller.has(req.Target) {
		return s.Session.Do(ctx, req)
	}
	l, fault := listTools(ctx, s.Session)
	if fault != nil {
		return Failed(fault)
	}
	s.over(l)
	if s.native.tools.Load().byName[req.Target] != nil {
		return s.own.Do(ctx, req)
	}
	return s.Session.Do(ctx, req)
}

// Close ends the session below, and waits until the caller's functions have returned, as
// Native.Close does.
func (s *overlaySession) Close() error {
	return errors.Join(s.Session.Close(), s.native.Close())
}
