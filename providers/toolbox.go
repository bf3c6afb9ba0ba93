package providers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A Toolbox is a source of tools, for models. A list of tools is written for a provider
// once, whoever's run needs it. It may be used from many goroutines.
type Toolbox struct {
	source bridge.Source

	mu      sync.Mutex // guards what follows
	shelves []*shelf   // of the lists that were used last, the latest at the end
}

// NewToolbox makes a toolbox of a source, a Bridge or any other; nil has no tools.
func NewToolbox(source bridge.Source) *Toolbox { return &Toolbox{source: source} }

// Open opens the source for a caller: whose calls they are, what hidden values they get,
// how a source can ask it something. nil is nobody in particular, who cannot be asked.
func (b *Toolbox) Open(ctx context.Context, caller *bridge.Caller) (*Loop, error) {
	own := bridge.Caller{}
	if caller != nil {
		own = *caller
	}
	if own.ID == "" {
		own.ID = "model " + rand.Text()
	}
	s := &Loop{toolbox: b, caller: &own}
	if b.source == nil {
		return s, nil
	}
	source, err := b.source.Open(ctx, &own)
	if err != nil {
		return nil, err
	}
	s.source = source
	return s, nil
}

// A Loop is a toolbox that is open for one caller: the loop runs here. It may be used
// from many goroutines, each with a run of its own.
type Loop struct {
	toolbox *Toolbox
	caller  *bridge.Caller
	source  bridge.Session // nil: there are no tools
}

// Close ends the session; calls under way are cancelled.
func (s *Loop) Close() error {
	if s.source == nil {
		return nil
	}
	return s.source.Close()
}

// shelf is what the caller can see now.
func (s *Loop) shelf(ctx context.Context) (*shelf, error) {
	var list *bridge.List
	if s.source != nil {
		var err error
		if list, err = s.source.List(ctx, bridge.Tools); err != nil {
			return nil, fmt.Errorf("the list of tools: %w", err)
		}
	}
	return s.toolbox.shelf(list), nil
}

// maxShelves bounds the lists that a toolbox remembers: callers may see different ones.
const maxShelves = 8

// shelf is a list's; the same list has the same one.
func (b *Toolbox) shelf(list *bridge.List) *shelf {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, s := range b.shelves {
		if s.list == list {
			b.shelves = append(slices.Delete(b.shelves, i, i+1), s)
			return s
		}
	}
	s := &shelf{list: list, accepted: map[string]*ToolSet{}}
	if list != nil {
		tools := make([]toolformat.Tool, len(list.Items))
		for i := range list.Items {
			tools[i] = list.Items[i].Tool()
		}
		s.all = NewToolSet(tools)
	}
	if len(b.shelves) == maxShelves {
		b.shelves = slices.Delete(b.shelves, 0, 1)
	}
	b.shelves = append(b.shelves, s)
	return s
}

// A shelf is a list of tools, and what is left of it for models that refuse some.
type shelf struct {
	list *bridge.List
	all  *ToolSet // nil: there is none

	mu       sync.Mutex          // guards what follows
	accepted map[string]*ToolSet // by provider and model
}

// refuser is a model, to remember what it refuses.
func refuser(p Provider, model string) string { return p.Name() + "\x00" + model }

// set is what a model is offered.
func (s *shelf) set(refuser string) *ToolSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.accepted[refuser], s.all)
}

// refuse takes a tool away from a model for as long as the list lasts.
func (s *shelf) refuse(refuser, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := cmp.Or(s.accepted[refuser], s.all)
	left := slices.DeleteFunc(slices.Clone(set.Tools()), func(t toolformat.Tool) bool { return t.Name == name })
	s.accepted[refuser] = NewToolSet(left)
}

// merge is a set of the asker's own tools and those of a source, of which the own ones
// win where names clash.
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

// errNoProvider is a task without what it takes.
var errNoProvider = errors.New("the task has no Provider: there is no model to ask")
