package providers

import (
	"encoding/json"
	"sync"

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
func (s *ToolSet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.tools)
}

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
