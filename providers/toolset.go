package providers

import (
	"encoding/json"
	"sync"

	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A ToolSet is the tools that a model is offered, written for each provider when it first
// needs them. It is immutable and may be used from many goroutines.
type ToolSet struct {
	tools   []toolformat.Tool
	byName  map[string]int
	mu      sync.Mutex // guards what follows
	encoded map[toolformat.Format]*encodedSet
}

// encodedSet is a tool set in one format.
type encodedSet struct {
	set  *toolformat.Set
	wire map[string]string // a tool's own name to the format's
}

// NewToolSet makes a set of tools. Of two of one name the first counts.
func NewToolSet(tools []toolformat.Tool) *ToolSet {
	s := &ToolSet{tools: tools, byName: make(map[string]int, len(tools)), encoded: map[toolformat.Format]*encodedSet{}}
	for i := range tools {
		if _, taken := s.byName[tools[i].Name]; !taken {
			s.byName[tools[i].Name] = i
		}
	}
	return s
}

// Len is how many there are; a nil set has none.
func (s *ToolSet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}

// Tools are the tools in their order, not to be changed.
func (s *ToolSet) Tools() []toolformat.Tool {
	if s == nil {
		return nil
	}
	return s.tools
}

// Find is the tool of a name, its own; nil when there is none.
func (s *ToolSet) Find(name string) *toolformat.Tool {
	if s == nil {
		return nil
	}
	if i, ok := s.byName[name]; ok {
		return &s.tools[i]
	}
	return nil
}

// Encoded is the set in a format: for the request, and for the way back. A nil set is an
// empty one.
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
	if err != nil { // the format is one of a provider of ours
		panic("providers: " + err.Error())
	}
	e := &encodedSet{set: set, wire: make(map[string]string, len(set.Tools))}
	for i := range set.Tools {
		e.wire[set.Tools[i].Tool.Name] = set.Tools[i].Name
	}
	s.encoded[f] = e
	return e
}

// OwnName is a tool's own name for the one that a model wrote in a format; the model's
// word when it names no tool that it was offered.
func (s *ToolSet) OwnName(f toolformat.Format, wire string) string {
	if c, ok := s.in(f).set.Find(wire); ok {
		return c.Tool.Name
	}
	return wire
}

// WireName is how a format spells a tool's own name. The name of a tool that is not in the
// set any more, which a history can hold, is made one that the format takes.
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

// Arguments are those that a tool takes, made of the ones that a model wrote in a format
// and held against the tool's schema. What the model can put right is a
// *toolformat.CheckError. The call must name a tool of the set.
func (s *ToolSet) Arguments(f toolformat.Format, call *Call) (json.RawMessage, error) {
	e := s.in(f)
	c, ok := e.set.Find(e.wire[call.Name])
	if !ok {
		return nil, toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", call.Name)
	}
	return c.Arguments(call.Arguments)
}
