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

// OverlayOptions are the settings of an Overlay. The zero value works.
type OverlayOptions struct {
	Native       NativeOptions // what holds for the functions of each caller
	MaxFunctions int           // of one caller; further ones are not shown. 0: 256
}

// An Overlay is a source that shows each caller its own Functions beside the tools of the
// source below, whose view all callers without functions share. It belongs before
// everything else, once. It may be used from many goroutines.
//
// A function that the source below defines (Tool.Client) is the source's. Of another one
// whose name is taken there, the tool below is the one that is shown, and the log says so:
// no caller can put a function in the place of a tool.
type Overlay struct {
	source Source
	opts   OverlayOptions
}

// NewOverlay makes an overlay of a source, which stays its owner's to close.
func NewOverlay(source Source, opts OverlayOptions) *Overlay {
	opts.Native = opts.Native.withDefaults()
	opts.MaxFunctions = cmp.Or(opts.MaxFunctions, 256)
	return &Overlay{source: source, opts: opts}
}

// Open opens the source for the caller.
func (o *Overlay) Open(ctx context.Context, caller *Caller) (Session, error) {
	below, err := o.source.Open(ctx, caller)
	if err != nil || caller.Functions == nil {
		return below, err
	}
	s := &overlaySession{Session: below, overlay: o, caller: caller}
	alone := *caller
	alone.Notify = nil // whoever changes the functions tells the caller
	if s.native, err = NewNative(o.opts.Native); err == nil {
		s.own, err = s.native.Open(ctx, &alone)
	}
	if err != nil {
		below.Close()
		return nil, err
	}
	return s, nil
}

// overlaySession is the view of a caller with functions.
type overlaySession struct {
	Session // of the source below
	overlay *Overlay
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
	list.hidden, list.private = below.hidden, true
	s.view = overlayView{below: below, functions: functions, list: list}
	return list
}

// toolset are those of the functions that the list below leaves room for.
func (s *overlaySession) toolset(below *List, functions []toolformat.Tool) *toolset {
	taken, defined := map[string]bool{}, map[string]bool{}
	for _, items := range [][]Item{below.Items, below.hidden} {
		for _, it := range items {
			taken[it.Key], defined[it.Function] = true, true
		}
	}
	set := &toolset{byName: map[string]*nativeTool{}}
	say := func(f toolformat.Tool, reason any) {
		s.overlay.opts.Native.Log.Warn("a client function is not shown", "caller", s.caller.ID, "function", f.Name, "reason", reason)
	}
	for _, f := range functions {
		if len(set.tools) == s.overlay.opts.MaxFunctions {
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
	l, fault := toolsOf(ctx, s.Session)
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
