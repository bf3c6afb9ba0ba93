package bridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// GuardOptions are the settings of a Guard. The zero value does nothing.
type GuardOptions struct {
	// Hidden names the arguments that callers neither see nor set, in any letter case. They are
	// removed from the tools' schemas and from the arguments sent, and set, where a tool has such a
	// property, from Caller.HiddenValue, typed by the schema. A call for which a value is missing
	// is a failed result and does not reach the source.
	Hidden []string

	// SharedValue looks up values that Caller.HiddenValue does not know, the same for all callers;
	// may be nil.
	SharedValue func(name string) (value []byte, ok bool)

	// Validate checks arguments against their tool's schema before the call, and sends them as
	// toolformat's Checker.Arguments has corrected them.
	Validate bool

	Log *slog.Logger // nil discards
}

// A Guard wraps a source: for each call it fills in hidden arguments, validates the others, or
// both. It may be used from many goroutines.
type Guard struct {
	Source // made by Wrap
	opts   GuardOptions
	last   atomic.Pointer[guardedList]
}

// NewGuard returns a guard of a source, which stays its owner's to close.
func NewGuard(source Source, opts GuardOptions) *Guard {
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	g := &Guard{opts: opts}
	g.Source = Wrap(source, func(below Session, caller *Caller) (Session, error) {
		return &guardSession{Session: below, guard: g, caller: caller}, nil
	})
	return g
}

// Problems names the tools of the last list that are left out, since their schema cannot be read,
// and the hidden arguments that no tool has.
func (g *Guard) Problems() []Problem {
	if v := g.last.Load(); v != nil {
		return v.problems
	}
	return nil
}

// guardedList is a rewritten tool list.
type guardedList struct {
	from, list *List
	tools      map[string]*guardedTool
	problems   []Problem
}

type guardedTool struct {
	check  *toolformat.Checker // of the visible arguments; nil without Validate
	names  []string            // of the hidden arguments
	hidden *toolformat.Binder  // of the hidden arguments alone; nil without any
}

// guarded rewrites a tool list; equal lists share a result.
func (g *Guard) guarded(from *List) *guardedList {
	last := g.last.Load()
	if last != nil && !from.private && last.from.Equal(from) {
		same := *last
		same.from = from
		return &same
	}
	v := &guardedList{from: from, tools: make(map[string]*guardedTool, len(from.Items))}
	v.list = from.rewrite(func(it Item) (Item, bool) {
		own, tool, err := g.tool(it)
		if err != nil {
			v.problems = append(v.problems, Problem{Text: fmt.Sprintf("tool %s: %v", it.Key, err), LeftOut: true})
			return it, false
		}
		if v.tools[it.Key] == nil { // the first of two tools with one name counts
			v.tools[it.Key] = tool
		}
		return own, true
	})
	for _, name := range g.opts.Hidden {
		has := func(t *guardedTool) bool { return slices.Contains(t.names, name) }
		if len(v.tools) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(v.tools)), has) {
			v.problems = append(v.problems, Problem{Text: fmt.Sprintf("context: no tool has a property %s", name)})
		}
	}
	g.last.Store(v)
	if last == nil || !slices.Equal(last.problems, v.problems) {
		for _, p := range v.problems {
			g.opts.Log.Warn(p.Text)
		}
	}
	return v
}

// tool returns a tool without its hidden arguments. The error says why they cannot be removed.
func (g *Guard) tool(it Item) (Item, *guardedTool, error) {
	schema := it.Tool().InputSchema
	if schema == nil {
		schema = json.RawMessage(anyArguments)
	}
	t := &guardedTool{names: g.hiddenIn(schema)}
	var err error
	if t.names != nil {
		if t.hidden, _, err = toolformat.NewBinder(onlyProperties(schema, t.names), t.names); err != nil {
			return it, nil, err
		}
		if schema, err = toolformat.HideProperties(schema, t.names); err != nil {
			return it, nil, err
		}
		it.Raw = wire.SetMember(it.Raw, "inputSchema", schema)
	}
	if g.opts.Validate {
		t.check, _, err = toolformat.NewChecker(schema)
	}
	return it, t, err
}

// hiddenIn returns the names in Hidden that are properties of a schema.
func (g *Guard) hiddenIn(schema json.RawMessage) []string {
	var properties, names []string
	for property := range wire.Members(wire.Lookup(schema, "properties")) {
		properties = append(properties, property)
	}
	for _, name := range g.opts.Hidden {
		if containsFold(properties, name) {
			names = append(names, name)
		}
	}
	return names
}

// containsFold reports whether names contains a name, in any letter case.
func containsFold(names []string, name string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
}

// onlyProperties returns a schema with some properties of another schema alone. It types hidden
// values, whatever else the schema requires.
func onlyProperties(schema json.RawMessage, names []string) json.RawMessage {
	references := []string{"$schema", "$id", "$defs", "definitions"}
	only := filterMembers(schema, func(key string) bool { return slices.Contains(references, key) })
	properties := filterMembers(wire.Lookup(schema, "properties"), func(name string) bool { return containsFold(names, name) })
	return wire.SetMember(wire.SetMember(only, "properties", properties), "type", []byte(`"object"`))
}

// filterMembers returns an object with the members that keep admits.
func filterMembers(object json.RawMessage, keep func(key string) bool) json.RawMessage {
	b := append(make([]byte, 0, len(object)), '{')
	for key, value := range wire.Members(object) {
		if !keep(key) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, key), ':'), value...)
	}
	return append(b, '}')
}

// guardSession is a caller's view of a Guard.
type guardSession struct {
	Session
	guard  *Guard
	caller *Caller
	seen   atomic.Pointer[guardedList] // of the last list
}

func (s *guardSession) List(ctx context.Context, kind ListKind) (*List, error) {
	l, err := s.Session.List(ctx, kind)
	if kind != Tools || l == nil {
		return l, err
	}
	return s.guarded(l).list, err
}

func (s *guardSession) guarded(l *List) *guardedList {
	v := s.seen.Load()
	if v == nil || v.from != l {
		v = s.guard.guarded(l)
		s.seen.Store(v)
	}
	return v
}

func (s *guardSession) Do(ctx context.Context, req *Request) Reply {
	if req.Method != wire.MethodToolsCall {
		return s.Session.Do(ctx, req)
	}
	l, fault := listTools(ctx, s.Session)
	if fault != nil {
		return Failed(fault)
	}
	tool := s.guarded(l).tools[req.Target]
	if tool == nil {
		return Failed(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", req.Target))
	}
	params, err := req.params()
	if err != nil {
		return Failed(toolformat.AsError(err))
	}
	sent := params.Get(wire.Arguments)
	if len(sent) == 0 || string(sent) == "null" {
		sent = []byte("{}")
	}
	arguments, err := s.arguments(ctx, tool, req.Target, sent)
	if err != nil {
		return Result(toolformat.TextResult(err.Error(), true).JSON, nil)
	}
	if bytes.Equal(arguments, sent) {
		return s.Session.Do(ctx, req)
	}
	// New params instead of an edit: a source derives headers and more from Params.
	own, err := wire.SplitParams(params.Append(nil, wire.Edit{Key: wire.Arguments, Value: arguments}))
	if err != nil {
		return Failed(toolformat.AsError(err))
	}
	below := *req
	below.Params, below.Edits = &own, nil
	return s.Session.Do(ctx, &below)
}

// arguments returns the arguments that the tool gets. The error is for the model.
func (s *guardSession) arguments(ctx context.Context, t *guardedTool, tool string, sent json.RawMessage) (json.RawMessage, error) {
	arguments, err := s.guard.setHidden(tool, sent, nil)
	if err == nil && t.check != nil {
		arguments, err = t.check.Arguments(tool, arguments)
	}
	if err != nil || t.hidden == nil {
		return arguments, err
	}
	hidden, err := t.hidden.Bind(tool, json.RawMessage("{}"), func(name string) (json.RawMessage, bool) {
		return s.caller.hidden(ctx, s.guard.opts.SharedValue, name)
	})
	if err != nil {
		return nil, err
	}
	return s.guard.setHidden(tool, arguments, hidden)
}

// setHidden removes all hidden arguments that a caller sent and adds the members of hidden.
func (g *Guard) setHidden(tool string, arguments, hidden json.RawMessage) (json.RawMessage, error) {
	if len(g.opts.Hidden) == 0 {
		return arguments, nil
	}
	if arguments[0] != '{' { // hidden arguments in a string could not be removed
		return nil, fmt.Errorf("invalid arguments for tool %s: expected an object", tool)
	}
	for name := range wire.Members(arguments) {
		if containsFold(g.opts.Hidden, name) { // else the arguments keep their bytes
			arguments = filterMembers(arguments, func(key string) bool { return !containsFold(g.opts.Hidden, key) })
			break
		}
	}
	for name, value := range wire.Members(hidden) {
		arguments = wire.SetMember(arguments, name, value)
	}
	return arguments, nil
}
