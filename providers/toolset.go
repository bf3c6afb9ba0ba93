package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A ToolSet is the tools that a model is offered. Each format of them is made once, when it
// is first needed. It is immutable and may be used from many goroutines.
type ToolSet struct {
	tools   []toolformat.Tool
	byName  map[string]int
	mu      sync.Mutex // guards what follows
	encoded map[toolformat.Format]*encodedSet
}

// encodedSet is a tool set in one format.
type encodedSet struct {
	set  *toolformat.Set
	wire map[string]string // the format's name of a tool, by its own name
}

// NewToolSet makes a set of tools. Of two tools with one name the first counts.
func NewToolSet(tools []toolformat.Tool) *ToolSet {
	s := &ToolSet{tools: tools, byName: make(map[string]int, len(tools)), encoded: map[toolformat.Format]*encodedSet{}}
	for i := range tools {
		if _, taken := s.byName[tools[i].Name]; !taken {
			s.byName[tools[i].Name] = i
		}
	}
	return s
}

// Len returns the number of tools; a nil set has none.
func (s *ToolSet) Len() int { return len(s.Tools()) }

// Tools returns the tools in order. They must not be changed.
func (s *ToolSet) Tools() []toolformat.Tool {
	if s == nil {
		return nil
	}
	return s.tools
}

// Find returns the tool with this name of its own, or nil.
func (s *ToolSet) Find(name string) *toolformat.Tool {
	if s == nil {
		return nil
	}
	if i, ok := s.byName[name]; ok {
		return &s.tools[i]
	}
	return nil
}

// Encoded returns the set in a format. A nil set is empty.
func (s *ToolSet) Encoded(f toolformat.Format) *toolformat.Set { return s.in(f).set }

func (s *ToolSet) in(f toolformat.Format) *encodedSet {
	if s == nil {
		return &encodedSet{set: &toolformat.Set{Format: f}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.encoded[f]; e != nil {
		return e
	}
	set, err := toolformat.Encode(s.tools, f, toolformat.Options{})
	if err != nil { // a Provider has a format that toolformat lacks
		panic("providers: " + err.Error())
	}
	e := &encodedSet{set: set, wire: make(map[string]string, len(set.Tools))}
	for i := range set.Tools {
		e.wire[set.Tools[i].Tool.Name] = set.Tools[i].Name
	}
	s.encoded[f] = e
	return e
}

// OwnName returns a tool's own name for the name that a model wrote, in a format; the model's
// word if that was not offered.
func (s *ToolSet) OwnName(f toolformat.Format, wire string) string {
	if c, ok := s.in(f).set.Find(wire); ok {
		return c.Tool.Name
	}
	return wire
}

// WireName returns a format's spelling of a tool's own name. The name of a tool that is no
// longer in the set, which a history can have, is made valid for the format.
func (s *ToolSet) WireName(f toolformat.Format, own string) string {
	if wire, ok := s.in(f).wire[own]; ok {
		return wire
	}
	set, err := toolformat.Encode([]toolformat.Tool{{Name: own}}, f, toolformat.Options{})
	if err != nil || len(set.Tools) == 0 {
		return own
	}
	return set.Tools[0].Name
}

// Arguments converts the arguments that a model wrote, in a format, to those of the tool, and
// validates them. The error is a *toolformat.CheckError if the model can correct it.
func (s *ToolSet) Arguments(f toolformat.Format, call *Call) (json.RawMessage, error) {
	e := s.in(f)
	c, ok := e.set.Find(e.wire[call.Name])
	if !ok {
		return nil, toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", call.Name)
	}
	return c.Arguments(call.Arguments)
}

// A Toolbox is a source of tools for models. What a provider is sent of a list of tools is
// made once, for the runs of all callers. It may be used from many goroutines.
type Toolbox struct {
	source bridge.Source

	mu    sync.Mutex  // guards cache
	cache []*toolList // the lists used last, the latest at the end
}

// NewToolbox makes a toolbox of a source, such as a Bridge; nil means no tools.
func NewToolbox(source bridge.Source) *Toolbox { return &Toolbox{source: source} }

// Open opens the source for a caller, who owns the calls, has the hidden values and answers
// the source's questions. nil means an anonymous caller, who cannot be asked.
func (b *Toolbox) Open(ctx context.Context, caller *bridge.Caller) (*Loop, error) {
	own := bridge.Caller{}
	if caller != nil {
		own = *caller
	}
	if own.ID == "" {
		own.ID = "model " + rand.Text()
	}
	l := &Loop{toolbox: b, caller: &own}
	if b.source == nil {
		return l, nil
	}
	source, err := b.source.Open(ctx, &own)
	if err != nil {
		return nil, err
	}
	l.source = source
	return l, nil
}

// A Loop is a toolbox opened for one caller: it runs a model and the tools that the model
// calls. It may be used from many goroutines, each with a run of its own.
type Loop struct {
	toolbox *Toolbox
	caller  *bridge.Caller
	source  bridge.Session // nil means no tools
}

// Close closes the source; its calls are canceled.
func (l *Loop) Close() error {
	if l.source == nil {
		return nil
	}
	return l.source.Close()
}

// list returns the tools that the caller sees now.
func (l *Loop) list(ctx context.Context) (*toolList, error) {
	var list *bridge.List
	if l.source != nil {
		var err error
		if list, err = l.source.List(ctx, bridge.Tools); err != nil {
			return nil, fmt.Errorf("listing tools: %w", err)
		}
	}
	return l.toolbox.cached(list), nil
}

// Names returns the names of the tools, by the members of a Bridge that have them and the names there. The map must
// not be changed. It is nil if the tools cannot be listed.
func (l *Loop) Names(ctx context.Context) map[[2]string]string {
	listed, err := l.list(ctx)
	if err != nil || listed.list == nil {
		return nil
	}
	return listed.names()
}

// maxCached bounds the lists that a toolbox keeps: callers can see different ones.
const maxCached = 8

// cached returns the toolList of a list.
func (b *Toolbox) cached(list *bridge.List) *toolList {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, l := range b.cache {
		if l.list == list {
			b.cache = append(slices.Delete(b.cache, i, i+1), l)
			return l
		}
	}
	l := &toolList{list: list, without: map[string]*ToolSet{}, picked: map[string]*ToolSet{}}
	if list != nil {
		tools := make([]toolformat.Tool, len(list.Items))
		for i := range list.Items {
			tools[i] = list.Items[i].Tool()
		}
		l.all = NewToolSet(tools)
	}
	if len(b.cache) == maxCached {
		b.cache = slices.Delete(b.cache, 0, 1)
	}
	b.cache = append(b.cache, l)
	return l
}

// A toolList is a list of tools, and what is left of it for models whose provider refuses
// some.
type toolList struct {
	list *bridge.List
	all  *ToolSet // nil for a nil list

	mu      sync.Mutex           // guards what follows
	without map[string]*ToolSet  // the tools that are not refused, by modelKey
	picked  map[string]*ToolSet  // those that tasks select
	owned   map[[2]string]string // their names, by their members and the names there; nil until somebody asks
}

// names returns the names of the tools, by their members and the names there.
func (l *toolList) names() map[[2]string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owned == nil {
		l.owned = make(map[[2]string]string, len(l.list.Items))
		for i := range l.list.Items {
			it := &l.list.Items[i]
			l.owned[[2]string{it.Member, cmp.Or(it.Own, it.Key)}] = it.Key
		}
	}
	return l.owned
}

// modelKey identifies a model of a provider.
func modelKey(p Provider, model string) string { return p.Name() + "\x00" + model }

// accepted returns the tools to offer to a model.
func (l *toolList) accepted(model string) *ToolSet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.without[model], l.all)
}

// exclude removes a tool from those that a model is offered.
func (l *toolList) exclude(model, tool string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	set := cmp.Or(l.without[model], l.all)
	left := slices.DeleteFunc(slices.Clone(set.Tools()), func(t toolformat.Tool) bool { return t.Name == tool })
	l.without[model] = NewToolSet(left)
	clear(l.picked)
}

// only returns the tools with these names; nil means all.
func (s *ToolSet) only(names []string) *ToolSet {
	if names == nil {
		return s
	}
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	var tools []toolformat.Tool
	for _, t := range s.Tools() {
		if wanted[t.Name] {
			tools = append(tools, t)
		}
	}
	return NewToolSet(tools)
}

// merge returns the tools of both sets. Where names clash, those of own win.
func merge(own, others *ToolSet) *ToolSet {
	if own.Len() == 0 {
		return others
	}
	tools := slices.Clone(own.Tools())
	for _, t := range others.Tools() {
		if own.Find(t.Name) == nil {
			tools = append(tools, t)
		}
	}
	return NewToolSet(tools)
}
