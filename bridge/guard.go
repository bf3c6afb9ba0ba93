package bridge

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// GuardOptions say what a Guard does. The zero value does nothing.
type GuardOptions struct {
	// Hidden names the arguments that no caller sees or sets, in any letter case: they are
	// taken out of the tools' schemas and out of the arguments that callers send, and filled
	// in, where a tool has such a property, from Caller.Hidden, typed by the schema. A call
	// without one of them is a failed result, and its source hears nothing of it.
	Hidden []string

	// SharedValue is what Caller.Context does not know: values that are the same for all
	// callers. nil: there are none.
	SharedValue func(name string) (value []byte, ok bool)

	// Validate has arguments checked against their tool's schema before the call. What
	// toolformat's Checker.Arguments puts right is sent as it is right then.
	Validate bool

	Log *slog.Logger // nil: nothing is logged
}

// A Guard is a source in front of whose tools something is done for each call: arguments
// that nobody but the caller's context may say are filled in, or the others are checked.
// Everything else passes it untouched. It may be used from many goroutines.
type Guard struct {
	Source // guarded
	opts   GuardOptions
	last   atomic.Pointer[guarded]
}

// NewGuard makes a guard of a source, which stays its owner's to close.
func NewGuard(source Source, opts GuardOptions) *Guard {
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	g := &Guard{opts: opts}
	g.Source = Wrap(source, func(below Session, caller *Caller) (Session, error) {
		return &guardSession{Session: below, guard: g, caller: caller}, nil
	})
	return g
}

// Problems are the tools of the last list that are left out, since their schema cannot be
// read, and the names in Context that none of its tools has.
func (g *Guard) Problems() []Problem {
	if v := g.last.Load(); v != nil {
		return v.notes
	}
	return nil
}

// guarded is what becomes of a list of tools.
type guarded struct {
	from, list *List
	tools      map[string]*guardedTool
	notes      []Problem
}

type guardedTool struct {
	check  *toolformat.Checker // of what callers see; nil: nobody asks
	names  []string            // of what they do not see
	hidden *toolformat.Binder  // of that alone; nil: there is nothing
}

// guarded is what a list becomes: the same as the last one did that said the same.
func (g *Guard) guarded(from *List) *guarded {
	last := g.last.Load()
	if last != nil && !from.private && last.from.Equal(from) {
		same := *last
		same.from = from
		return &same
	}
	v := &guarded{from: from, tools: make(map[string]*guardedTool, len(from.Items))}
	v.list = from.rewrite(func(it Item) (Item, bool) { return g.guardItem(v, it) })
	for _, name := range g.opts.Hidden {
		has := func(t *guardedTool) bool { return slices.Contains(t.names, name) }
		if len(v.tools) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(v.tools)), has) {
			v.notes = append(v.notes, Problem{Text: fmt.Sprintf("context: no tool has a property %s", name)})
		}
	}
	g.last.Store(v)
	if last == nil || !slices.Equal(last.notes, v.notes) {
		for _, n := range v.notes {
			g.opts.Log.Warn(n.Text)
		}
	}
	return v
}

// guardItem rewrites a tool and adds it to v. It leaves out a tool that cannot be guarded.
func (g *Guard) guardItem(v *guarded, it Item) (Item, bool) {
	own, tool, err := g.tool(it)
	if err != nil {
		v.notes = append(v.notes, Problem{Text: fmt.Sprintf("tool %s: %v", it.Key, err), LeftOut: true})
		return it, false
	}
	if v.tools[it.Key] == nil { // the first of two tools with one name counts
		v.tools[it.Key] = tool
	}
	return own, true
}

// tool makes of a tool one without what is hidden. The error says why that cannot be.
func (g *Guard) tool(it Item) (Item, *guardedTool, error) {
	schema := it.Tool().InputSchema
	if schema == nil {
		schema = json.RawMessage(anyArguments)
	}
	t := &guardedTool{names: g.fields(schema)}
	var err error
	if t.names != nil {
		if t.hidden, _, err = toolformat.NewBinder(onlyProperties(schema, t.names), t.names); err != nil {
			return it, nil, err
		}
		if schema, err = toolformat.HideProperties(schema, t.names); err != nil {
			return it, nil, err
		}
		own, err := NewItem(Tools, wire.SetMember(it.Raw, "inputSchema", schema))
		if err != nil {
			return it, nil, err
		}
		own.Function = it.Function
		it = own
	}
	if g.opts.Validate {
		t.check, _, err = toolformat.NewChecker(schema)
	}
	return it, t, err
}

// fields are those of the names that properties of a schema have.
func (g *Guard) fields(schema json.RawMessage) []string {
	var properties, names []string
	for property := range wire.Members(wire.Lookup(schema, "properties")) {
		properties = append(properties, property)
	}
	for _, name := range g.opts.Hidden {
		if called(name, properties) {
			names = append(names, name)
		}
	}
	return names
}

// called reports whether a name is one of some, in any letter case.
func called(name string, names []string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
}

// onlyProperties is the schema of an object with those properties of another schema's
// alone. The values of a context are typed by it, whatever else the schema asks for.
func onlyProperties(schema json.RawMessage, names []string) json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	comma := ""
	for property, raw := range wire.Members(wire.Lookup(schema, "properties")) {
		if called(property, names) {
			b = append(append(wire.AppendString(append(b, comma...), property), ':'), raw...)
			comma = ","
		}
	}
	b = append(b, '}')
	for _, key := range []string{"$schema", "$id", "$defs", "definitions"} { // what they may refer to
		if raw := wire.Lookup(schema, key); raw != nil {
			b = append(append(wire.AppendString(append(b, ','), key), ':'), raw...)
		}
	}
	return append(b, '}')
}
