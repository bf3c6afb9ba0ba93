package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

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
	l := &toolList{list: list, without: map[string]*ToolSet{}}
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

	mu      sync.Mutex          // guards without
	without map[string]*ToolSet // the tools that are not refused, by modelKey
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
