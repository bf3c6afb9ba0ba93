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
// Callers with the same Functions share what is made of them; callers without any share the view of the
// source below. It belongs directly around the Bridge, once.
//
// A function that the source below defines (Tool.Client) is the source's. Of another one whose name
// is taken there, the tool below is shown, with a warning in the log: a caller cannot replace a
// tool by a function.
func NewOverlay(source Source, opts OverlayOptions) Source {
	opts.Native = opts.Native.withDefaults()
	opts.MaxFunctions = cmp.Or(opts.MaxFunctions, 256)
	o := &overlay{opts: opts, sets: map[Functions]*functionSet{}}
	return Wrap(source, func(below Session, caller *Caller) (Session, error) {
		if caller.Functions == nil {
			return below, nil
		}
		s := &overlaySession{Session: below, caller: caller}
		alone := *caller
		alone.Notify = nil // the owner of the functions notifies the caller
		var err error
		if s.set, err = o.use(caller.Functions); err == nil {
			s.own, err = s.set.native.Open(context.Background(), &alone)
		}
		return s, err
	})
}

type overlay struct {
	opts OverlayOptions

	mu   sync.Mutex // guards sets, and their users
	sets map[Functions]*functionSet
}

// functionSet is the Functions of some callers, ready for calls.
type functionSet struct {
	overlay   *overlay
	functions Functions
	native    *Native // of those that can be called, whether or not a caller sees them
	users     int

	mu    sync.Mutex        // guards what follows; one list is made at a time
	known []toolformat.Tool // those of which native has its tools
	lists map[*List]*List   // with them at the end, by the list below that each is made of
}

// maxLists bounds the lists that a set keeps: callers see a list below as it is now, and rarely several ones.
const maxLists = 16

// use returns the set of functions. release must be called for it.
func (o *overlay) use(functions Functions) (*functionSet, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shared := reflect.ValueOf(functions).Comparable()
	if shared && o.sets[functions] != nil {
		o.sets[functions].users++
		return o.sets[functions], nil
	}
	native, err := NewNative(o.opts.Native)
	if err != nil {
		return nil, err
	}
	set := &functionSet{overlay: o, functions: functions, native: native, users: 1}
	if shared {
		o.sets[functions] = set
	}
	return set, nil
}

// release closes the set after its last use, and waits for the functions, as Native.Close does.
func (f *functionSet) release() error {
	o := f.overlay
	o.mu.Lock()
	f.users--
	unused := f.users == 0
	if unused && reflect.ValueOf(f.functions).Comparable() {
		delete(o.sets, f.functions)
	}
	o.mu.Unlock()
	if unused {
		return f.native.Close()
	}
	return nil
}

// overlaid returns a list with the functions, as they are now, at its end. It is kept here and not by sessions,
// which would keep what others have long replaced.
func (f *functionSet) overlaid(below *List, caller *Caller) *List {
	f.mu.Lock()
	defer f.mu.Unlock()
	functions := f.functions.Tools()
	if !reflect.DeepEqual(f.known, functions) {
		f.native.swap(f.prepare(functions, caller))
		f.known, f.lists = functions, nil
	}
	l := f.lists[below]
	if l == nil {
		if f.lists == nil || len(f.lists) == maxLists {
			f.lists = map[*List]*List{}
		}
		l = f.merge(below, f.native.tools.Load(), caller)
		f.lists[below] = l
	}
	return l
}

// skip logs why a function is not shown.
func (f *functionSet) skip(caller *Caller, name string, reason any) {
	f.overlay.opts.Native.Log.Warn("a client function is not shown", "caller", caller.ID, "function", name, "reason", reason)
}

// prepare returns the functions that can be called.
func (f *functionSet) prepare(functions []toolformat.Tool, caller *Caller) *toolset {
	opts, set := &f.overlay.opts, &toolset{byName: map[string]*nativeTool{}}
	before := f.native.tools.Load()
	for _, own := range functions {
		var err error
		tool := before.byName[own.Name]
		if tool == nil || !reflect.DeepEqual(tool.Tool.Tool, own) { // else it is ready already
			tool, err = f.native.prepare(Tool{Tool: own, Client: true, Timeout: opts.Timeout})
		}
		switch {
		case err != nil:
			f.skip(caller, own.Name, err)
			continue
		case set.byName[own.Name] != nil:
			f.skip(caller, own.Name, "the client has another function of this name")
			continue
		case opts.Untrusted:
			tool.item.Untrusted, tool.item.Repeatable = true, false
		}
		set.addTool(tool)
	}
	return set.finish()
}

// merge returns the list below with the functions whose names it does not have.
func (f *functionSet) merge(below *List, set *toolset, caller *Caller) *List {
	taken, defined := map[string]bool{}, map[string]bool{}
	for _, items := range [][]Item{below.Items, below.unlisted} {
		for _, it := range items {
			taken[it.Key], defined[it.Function] = true, true
		}
	}
	opts := &f.overlay.opts
	var own []Item
	for _, it := range set.all.Items {
		if len(own) == opts.MaxFunctions {
			f.skip(caller, it.Key, "the client has too many: this function and those after it are left out")
			break
		}
		switch {
		case defined[it.Key]:
		case taken[it.Key]:
			f.skip(caller, it.Key, "a tool has this name and is shown instead")
		case opts.Reserved != nil && opts.Reserved(it.Key) != "":
			f.skip(caller, it.Key, "names with this prefix are those of "+opts.Reserved(it.Key))
		default:
			own = append(own, it)
		}
	}
	if len(own) == 0 {
		return below
	}
	l := NewList(Tools, slices.Concat(below.Items, own))
	l.unlisted, l.private = below.unlisted, true
	return l
}

// overlaySession is the view of a caller with functions.
type overlaySession struct {
	Session // of the source below
	caller  *Caller
	set     *functionSet
	own     Session // on the Native of the set
	ended   sync.Once
}

func (s *overlaySession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != Tools || l == nil {
		return l, err
	}
	return s.set.overlaid(l, s.caller), err
}

func (s *overlaySession) Do(ctx context.Context, req *Request) Reply {
	if req.Method != wire.MethodToolsCall || !s.caller.has(req.Target) {
		return s.Session.Do(ctx, req)
	}
	below, fault := listTools(ctx, s.Session)
	if fault != nil {
		return Failed(fault)
	}
	if i, ok := s.set.overlaid(below, s.caller).index[req.Target]; ok && i >= len(below.Items) {
		return s.own.Do(ctx, req)
	}
	return s.Session.Do(ctx, req)
}

// Close closes the session below and ends the calls of the caller's functions.
func (s *overlaySession) Close() error {
	err := s.Session.Close()
	s.ended.Do(func() { err = errors.Join(err, s.own.Close(), s.set.release()) })
	return err
}
